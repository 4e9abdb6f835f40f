"""What was asked for and could not be had: it costs itself, and is said beside the rest."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from correlator.declared import DeclaredUnreadable
from correlator.finding import Incomplete
from correlator.sources.argocd_api import ArgoCDUnreachable
from glasswarden.cli.drift.request import CannotLook
from glasswarden.cluster.apiserver import ApiServerError
from glasswarden.ledger.errors import LedgerError

_FAILURES: Final = (
    ApiServerError,
    ArgoCDUnreachable,
    DeclaredUnreadable,
    LedgerError,
    click.ClickException,
)


class Losses:
    """Counts what was had, and keeps what was not."""

    def __init__(self) -> None:
        self.incomplete: list[Incomplete] = []
        self._had = 0

    @contextmanager
    def part(self, what: str, *, is_source: bool = True) -> Iterator[None]:
        """Let the block fail, and say so; *is_source* where its success tells something."""
        try:
            yield
        except click.UsageError:
            raise
        except _FAILURES as error:
            why = error.message if isinstance(error, click.ClickException) else str(error)
            self.incomplete.append(Incomplete(what, why))
        else:
            self._had += is_source

    def check(self) -> None:
        """End where nothing was had at all: that is neither drift nor the lack of it."""
        if self.incomplete and not self._had:
            raise CannotLook("; ".join(dict.fromkeys(each.why for each in self.incomplete)))
