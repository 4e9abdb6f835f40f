"""A webhook that may not write Events, or is not to, denies as ever."""

from pathlib import Path

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import guarding
from tests.cluster.kubectl import Caller
from tests.cluster.retries import eventually


@pytest.mark.parametrize(
    ("role", "options"),
    [(None, ()), ("cluster-admin", ("--no-events",))],
    ids=["without the right", "switched off"],
)
def test_webhook_without_events_denies_and_publishes_nothing(
    cluster: ControlPlane,
    flux_account: Caller,
    namespace: str,
    tmp_path: Path,
    role: str | None,
    options: tuple[str, ...],
) -> None:
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    edit = ("set", "image", "deployment/web", "app=registry.example/web:2", "-n", namespace)
    with guarding(cluster, tmp_path, role=role, options=options):
        eventually(
            lambda: "is managed by Flux" in refusal(cluster.as_("developer"), *edit),
            "the guard to refuse",
        )
    # At its end it has written what waited.
    events = cluster.get("events.v1.events.k8s.io", "-n", namespace)["items"]
    assert [each for each in events if each["reason"] == "WriteRefused"] == []


def refusal(person: Caller, *arguments: str) -> str:
    return person.kubectl(*arguments, check=False).stderr
