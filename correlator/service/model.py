"""The settings of the service, the file of sources, and the result of one pass.

The file of sources names the repositories that a cluster is compared with. Each has, besides its
address, the path inside, its application and namespace, and the team to notify.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from correlator.declared.git import parse_address
from correlator.declared.read import FollowedGit
from correlator.declared.render import Release
from correlator.episodes.episode import Changes, Episode, History, Term
from correlator.finding import Finding, Incomplete
from glasswarden.cluster.client import ApiServer
from glasswarden.cluster.kubeconfig import CURRENT, Choice
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.policy.policy import Policy
from glasswarden.typed_yaml import TextInvalid, parse_typed

MOST: Final = 100
"""More would be as many labels in the metrics, and as many watches of each kind."""


class SourcesUnreadable(Exception):
    """The file cannot be read, or does not name sources; correct it."""


class Declares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One repository, and what it is for."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    """How findings and metrics call it."""
    git: Annotated[str, Meta(min_length=1)]
    """DIR or URL, with @REV if need be."""
    path: str = ""
    """The folder inside: all of an application, or the rest of it is found as orphaned."""
    app: str = ""
    """The application; also the name of a Helm release."""
    namespace: str = ""
    """The only namespace that is inspected; all of them without it."""
    values: tuple[str, ...] = ()
    """Files with values for a Helm chart."""
    team: str = ""
    """Who is notified of findings."""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file."""

    apiVersion: Literal["glasswarden.io/v1"]  # noqa: N815 - as Kubernetes spells it
    kind: Literal["Sources"]
    sources: Annotated[tuple[Declares, ...], Meta(max_length=MOST)] = ()


def read_sources(file: Path) -> tuple[Declares, ...]:
    """Return the sources that *file* names; raises `SourcesUnreadable`."""
    try:
        return parse_sources(file.read_text())
    except TextInvalid as error:
        at = error.mistake
        raise SourcesUnreadable(f"{file}:{at.line}:{at.column}: {at.message}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourcesUnreadable(f"{file}: {error}") from error


def parse_sources(text: str) -> tuple[Declares, ...]:
    """Return the sources that *text* names; raises `TextInvalid`."""
    typed = parse_typed(text, Document, "file of sources")
    known: set[str] = set()
    for number, each in enumerate(typed.value.sources):
        if each.name in known:
            place = f".sources[{number}].name"
            raise TextInvalid(typed.mistake_at(place, f"two sources are called {each.name}"))
        known.add(each.name)
    return typed.value.sources


REST: Final = timedelta(seconds=2)
"""Between two passes at the least, however much changes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the correlator, from outside."""

    ledger: str
    """Address of the ledger: records are read from it, findings kept in it."""

    sources: tuple[Declares, ...] = ()
    """The repositories that the cluster is compared with."""

    policy: Path | None = None
    """File with the rules; read again when it changes. Without it the built-in rules serve."""

    keys: Path | None = None
    """Folder with the masking keys, to compare hidden values. Without it they cannot be."""

    notifications: Path | None = None
    """The file of notifications; read again when it changes. Without it nobody is notified."""

    kubeconfig: Path | None = None
    """How to reach the API server from outside the cluster; inside, the service account serves."""

    choice: Choice = CURRENT
    """What to take from the kubeconfig, and whom to impersonate."""

    audit: Path | None = None
    """Folder with the API server's audit log, or with what it delivers to us."""

    argocd: bool = False
    """Whether what Argo CD's Applications in the cluster call out of sync is gone by, too."""

    interval: timedelta = timedelta(seconds=60)
    """After so long there is a pass though nothing is known to have changed; Git is asked no more
    often than that."""

    retention: timedelta = timedelta(days=400)
    """Resolved findings are deleted after so long."""

    lease: str = ""
    """NAMESPACE/NAME of the Lease by which one of several replicas leads; none where there is only
    one."""

    lease_duration: timedelta = timedelta(seconds=30)
    """How long a leader that fell silent is waited for."""

    identity: str = ""
    """Who we are among replicas; no two may have the same."""


class PolicyUnusable(Exception):
    """The policy file cannot be read now; the rules from before go on serving."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The world, as far as the correlator touches it."""

    settings: Settings
    server: ApiServer
    ledger: Ledger
    history: History
    read_policy: Callable[[], Policy]
    """Returns the rules as the file has them now; raises `PolicyUnusable`."""
    masks: Masks | None = None
    """What hidden values are compared with; none where there are no keys."""
    repositories: dict[str, FollowedGit] = field(default_factory=dict)
    """By the name of the source; use `repository_of`."""

    def repository_of(self, declares: Declares) -> FollowedGit:
        """Return what follows the repository: one for all, so that it is rendered once."""
        if declares.name not in self.repositories:
            values = tuple(map(Path, declares.values))
            release = Release(declares.app, declares.namespace, values)
            address = parse_address(declares.git)
            self.repositories[declares.name] = FollowedGit(
                address, declares.path, release, declares.namespace
            )
        return self.repositories[declares.name]


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of this pass, with its cause, and who found it."""

    source: str
    team: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Passed:
    """One pass, after it was stored."""

    now: datetime
    term: Term
    policy: Policy
    found: tuple[Found, ...]
    changes: Changes
    """What began, changed and ended."""
    open: tuple[Episode, ...]
    """All that is open, also what was not seen because a source could not be read."""
    incomplete: tuple[Incomplete, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)
    """The sources that could not be read, and why."""

    @property
    def cluster(self) -> str:
        """The cluster's name, as in records."""
        return self.term.cluster
