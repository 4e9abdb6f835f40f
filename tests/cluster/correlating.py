"""The correlator as a program of its own, as tests start it and ask it."""

import http.client
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from correlator.episodes.episode import Episode
from correlator.episodes.open import open_history
from tests.cluster.guard import GLASSWARDEN
from tests.cluster.processes import LOOPBACK, Process, Processes, free_ports, with_free_ports

QUICK = ("--interval", "2s", "--lease-duration", "5s")
BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Correlator:
    """One replica that runs."""

    process: Process
    port: int

    def asks(self, path: str) -> tuple[int, str]:
        """Return the answer to a GET of *path*; nothing answers with 0."""
        with closing(http.client.HTTPConnection(LOOPBACK, self.port, timeout=5)) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except OSError:
                return 0, ""

    def metric(self, name: str, **labels: str) -> float | None:
        """Return what a metric shows, none where it shows nothing."""
        asked = "".join(f'(?=[^}}]*{key}="{value}")' for key, value in labels.items())
        pattern = rf"^{name}(?:{{{asked}[^}}]*}})? (\S+)$"
        found = re.search(pattern, self.asks("/metrics")[1], re.MULTILINE)
        return None if found is None else float(found[1])

    @property
    def is_ready(self) -> bool:
        return self.asks("/readyz")[0] == http.HTTPStatus.OK

    @property
    def leads(self) -> bool:
        return self.metric("glasswarden_correlator_leader") == 1


def start_correlator(
    processes: Processes, name: str, kubeconfig: Path, ledger: str, *options: str
) -> Correlator:
    """Start a replica and wait until it is ready."""

    def start() -> Correlator:
        [port] = free_ports(1)
        command = [*GLASSWARDEN, "correlator", "--ledger", ledger, "--identity", name]
        command += ["--kubeconfig", str(kubeconfig), "--listen", f"{LOOPBACK}:{port}"]
        started = Correlator(
            processes.start(f"correlator-{name}", [*command, *QUICK, *options]), port
        )
        started.process.wait_until(lambda: started.is_ready)
        return started

    return with_free_ports(start)


def episodes(ledger: str) -> list[Episode]:
    """Return all that was ever found."""
    with closing(open_history(ledger)) as history:
        return history.episodes(BEGINNING)
