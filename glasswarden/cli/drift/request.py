"""What `glasswarden drift` was asked for, and how it ends where it cannot be done."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from correlator.classify import Scene
from correlator.declared import Address, DeclaredUnreadable, Manifests, Release, read_declared
from correlator.filters import Filter
from correlator.live.source import Scope
from correlator.sources.argocd_api import ArgoCDUnreachable
from glasswarden.cli.times import now
from glasswarden.cluster.apiserver import ApiServerError, NoAccess
from glasswarden.ledger.errors import LedgerError
from glasswarden.policy.policy import Policy


class CannotLook(click.ClickException):
    """Nothing could be compared: that is neither drift nor the lack of it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    address: Address
    path: str
    release: Release
    scope: Scope
    only: Filter
    policy: Policy
    confirm: bool

    def manifests(self) -> Manifests:
        """Return what Git declares."""
        return read_declared(self.address, self.path, self.release)

    def scene(self) -> Scene:
        """Return what findings are judged by at this moment."""
        return Scene(self.policy, now())


@contextmanager
def explained() -> Iterator[None]:
    """End with a sentence where nothing can be compared."""
    try:
        yield
    except (DeclaredUnreadable, NoAccess, ApiServerError, ArgoCDUnreachable, LedgerError) as error:
        raise CannotLook(str(error)) from error
    except click.UsageError:
        raise
    except click.ClickException as error:  # a policy, or a file to import, that cannot be read
        raise CannotLook(error.message) from error
