"""Sources, a history in memory, and what passes are made of, for tests without a cluster."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from correlator.attribution.link import Link
from correlator.episodes.sqlite import SqliteHistory
from correlator.finding import Cause, Class, Finding, Incomplete, Response, Result, Verdict
from correlator.inspection.inspect import Pass, SourceFailed
from correlator.service.model import Settings, Tools
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.policy.policy import DEFAULT

if TYPE_CHECKING:
    from glasswarden.cluster.client import ApiServer

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
VERDICT = Verdict(Class.DESIRED_CONFIGURATION, Cause.PERSON, Response.AUTO_HEAL, "why", "check")


def a_finding(
    field_: str = "/spec/replicas", live: object = 5, link: Link | None = None
) -> Finding:
    ref = Ref("apps", "v1", "Deployment", "prod", "web", "u-1")
    found = Finding(ref, parse_path(field_), 3, live, None, "git", verdict=VERDICT)
    return replace(found, link=link)


@dataclass
class Told:
    """A source that returns the configured findings; only its failure while it is broken."""

    name: str = "shop"
    team: str = ""
    findings: tuple[Finding, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()
    broken: str = ""
    reads: int = 0
    crash: Exception | None = None
    closed: bool = field(default=False)
    is_log: bool = False

    def read(self, inspection: Pass) -> Result:  # noqa: ARG002 - as sources are read
        self.reads += 1
        if self.crash:
            raise self.crash
        if self.broken:
            raise SourceFailed(self.broken)
        return Result(self.findings, self.incomplete)

    def close(self) -> None:
        self.closed = True


def tools_in(folder: Path) -> Tools:
    """Return tools on a real database, and no cluster."""
    path = folder / "ledger.db"
    return Tools(
        Settings(f"sqlite://{path}"),
        cast("ApiServer", None),
        open_sqlite(path),
        SqliteHistory(path),
        lambda: DEFAULT,
    )
