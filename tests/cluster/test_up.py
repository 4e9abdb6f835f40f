"""`glasswarden up`, as somebody at a terminal uses it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from certs.configurations import OURS
from correlator.episodes.episode import Episode
from glasswarden.cluster.client import Unreachable
from glasswarden.setup.local import ask_no_more
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.correlating import episodes
from tests.cluster.guard import GLASSWARDEN
from tests.cluster.kubectl import Caller
from tests.cluster.processes import free_ports
from tests.cluster.retries import eventually


@contextmanager
def up(cluster: ControlPlane, folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    [port] = free_ports(1)
    # Whoever runs the tests may have told them to ignore what closing a terminal sends.
    as_from_a_terminal = ("env", "--default-signal=HUP")
    command = [*as_from_a_terminal, *GLASSWARDEN, "up"]
    command += ["--kubeconfig", str(cluster.kubeconfig("admin"))]
    command += ["--dir", str(folder / "up"), "--port", str(port), *options]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        process_group=0,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def is_registered(cluster: ControlPlane) -> bool:
    found = cluster.as_("admin").kubectl("get", f"{OURS[0].resource}/{OURS[0].name}", check=False)
    return found.returncode == 0


@pytest.mark.parametrize(
    "ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda sign: sign.name
)
def test_up_guards_a_local_cluster_until_it_is_stopped(
    cluster: ControlPlane,
    flux_account: Caller,
    namespace: str,
    tmp_path: Path,
    ending: signal.Signals,
) -> None:
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    edit = ("set", "image", "deployment/web", "app=x", "-n", namespace)
    with up(cluster, tmp_path) as process:
        assert "the API server asked, and the webhook answered" in line_of(process)
        denied = cluster.as_("developer").kubectl(*edit, check=False)
        process.send_signal(ending)
        assert process.wait(30) == 0
    assert "is managed by Flux" in denied.stderr
    assert not is_registered(cluster)
    cluster.as_("developer").kubectl(*edit)
    assert (tmp_path / "up" / "ledger.db").exists()


def test_repeated_signals_leave_no_registration(cluster: ControlPlane, tmp_path: Path) -> None:
    """Ctrl-C repeatedly, and the terminal closed, while the first is being handled."""
    with up(cluster, tmp_path) as process:
        line_of(process)
        while process.poll() is None:
            for sign in (signal.SIGINT, signal.SIGHUP):
                process.send_signal(sign)
            time.sleep(0.01)
    assert process.returncode == 0
    assert not is_registered(cluster)


def test_stop_retries_while_the_api_server_is_unavailable() -> None:
    objects = AwayFor(3)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.sleep", lambda _: None)
        ask_no_more(objects)  # type: ignore[arg-type]  # what is used of it
    assert objects.deleted == {each.path for each in OURS}


class AwayFor:
    """A cluster that cannot be reached so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.deleted: set[str] = set()

    def delete(self, path: str) -> bool:
        self.times -= 1
        if self.times >= 0:
            raise Unreachable("away")
        self.deleted.add(path)
        return True


def test_up_with_git_opens_findings_for_drift(
    cluster: ControlPlane, flux_account: Caller, namespace: str, tmp_path: Path
) -> None:
    web = deployment("web", namespace)
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "web.json").write_text(json.dumps(web))
    apply = ("apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-")
    flux_account.kubectl(*apply, stdin=by_flux(web, "shop"))
    scale = ("scale", "deployment/web", "--replicas=9", "-n", namespace)
    cluster.as_("developer").kubectl(*scale)
    with up(cluster, tmp_path, "--git", str(tmp_path / "git")) as process:
        line_of(process)
        ledger = f"sqlite://{tmp_path}/up/ledger.db"
        found = eventually(lambda: of(namespace, episodes(ledger)), "the edit to be found")
    assert found == [("/spec/replicas", "9", "unexplained")]


def of(namespace: str, found: list[Episode]) -> list[tuple[str, str, str]]:
    here = [each.last for each in found if each.last.namespace == namespace]
    return [(each.field, each.live, each.state) for each in here]


def test_address_that_the_api_server_cannot_reach_leaves_no_registration(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    with up(cluster, tmp_path, "--host", "unreachable.invalid") as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Name it with --host." in output
    assert not is_registered(cluster)


def test_registration_is_removed_when_the_webhook_dies(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    with up(cluster, tmp_path) as process:
        line_of(process)
        eventually(lambda: children(process.pid), "the webhook's process")
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        output, _ = process.communicate(timeout=30)
    assert "the webhook ended" in output
    assert not is_registered(cluster)


def children(pid: int) -> list[int]:
    """Return the processes that *pid* started."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in found.split()]


def test_second_up_does_not_change_a_guarded_cluster(cluster: ControlPlane, tmp_path: Path) -> None:
    with up(cluster, tmp_path / "one") as first:
        line_of(first)
        with up(cluster, tmp_path / "two") as second:
            output, _ = second.communicate(timeout=30)
        assert "guarded already" in output
        assert is_registered(cluster)
