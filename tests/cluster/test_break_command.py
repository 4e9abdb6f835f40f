"""`kubectl glasswarden break …` as people type it: real kubectl, which finds us as its plugin."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller

POLICY = """
breakGlass:
  rules:
    - name: deletions
      groups: [oncall]
      names: ["guarded-*"]
      ticket: INC-[0-9]+
      approval: {groups: [leads], within: 5m}
    - name: responders
      groups: [oncall]
      ticket: INC-[0-9]+
      ttl: {default: 30m, longest: 2h}
"""
ASKED = ("--ticket", "INC-42", "--reason", "checkout is down")


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("break"), POLICY) as running:
        yield running


@pytest.fixture
def web(guard: Guard, flux_account: Caller, namespace: str) -> str:
    """Return the namespace in which Flux owns deploy/web and deploy/guarded-web."""
    assert guard.url
    for name in ("web", "guarded-web"):
        manifest = by_flux(deployment(name, namespace), "shop")
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    return namespace


def typed(caller: Caller, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `kubectl glasswarden WORDS` as *caller*."""
    environment = caller.environment()
    plugins = Path(sys.executable).parent
    environment |= {
        "PATH": f"{plugins}{os.pathsep}{environment['PATH']}",
        "KUBECTL": str(caller.program),
        "TZ": "UTC",
    }
    return subprocess.run(
        [caller.program, "glasswarden", *words],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


def replicas(guard: Guard, namespace: str) -> int:
    found: int = guard.cluster.get("deployment/web", "-n", namespace)["spec"]["replicas"]
    return found


def test_break_with_a_command_grants_and_runs_it(guard: Guard, web: str) -> None:
    responder = guard.cluster.as_("responder")
    done = typed(
        responder, "break", "deploy/web", "-n", web, *ASKED, "--ttl", "45m",
        "--", "scale", "deploy/web", "--replicas=8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"Deployment {web}/web: open until" in done.stdout
    assert "45 min left" in done.stdout
    assert replicas(guard, web) == 8
    issued, used = guard.records_in(web)
    assert (issued.grant_act, used.grant_act) == ("issued", "used")
    assert {issued.grant, used.grant} == {issued.grant}
    assert (used.ticket, used.actor, used.inferred_verb) == ("INC-42", "responder", "scale")


def test_status_extend_and_close_follow_a_grant(guard: Guard, web: str) -> None:
    responder = guard.cluster.as_("responder")
    assert "no grant is in force" in typed(responder, "status", "deploy/web", "-n", web).stdout
    assert typed(responder, "extend", "deploy/web", "-n", web, "--ttl", "1h").returncode == 1
    typed(responder, "break", "deploy/web", "-n", web, *ASKED)
    again = typed(responder, "break", "deploy/web", "-n", web, *ASKED)
    assert again.returncode == 1
    assert "it is open already" in again.stderr
    for ttl, left in (("1h", "1 h left"), ("50m", "50 min left")):  # from now on, each time
        extended = typed(responder, "extend", "deploy/web", "-n", web, "--ttl", ttl)
        assert left in extended.stdout, extended.stderr
    closed = typed(responder, "close", "deploy/web", "-n", web, "--outcome", "reverted")
    assert "no grant is in force" in closed.stdout, closed.stderr
    acts = [record.grant_act for record in guard.records_in(web)]
    assert acts == ["issued", "extended", "extended", "closed"]
    assert guard.records_in(web)[-1].outcome == "reverted"
    too_long = typed(responder, "extend", "deploy/web", "-n", web, "--ttl", "3 weeks")
    assert too_long.returncode != 0
    denied = responder.kubectl("set", "image", "deploy/web", "app=x", "-n", web, check=False)
    assert denied.returncode != 0


def test_close_sets_the_outcome_of_an_expired_grant(guard: Guard, web: str) -> None:
    responder, target = guard.cluster.as_("responder"), ("deploy/web", "-n", web)
    typed(responder, "break", *target, *ASKED, "--ttl", "3s",
          "--", "scale", "deploy/web", "--replicas=8")  # fmt: skip
    [issued, _] = guard.records_in(web)
    time.sleep(3.1)
    settled = typed(responder, "close", *target, "--outcome", "delegated")
    assert settled.returncode == 0, settled.stderr
    assert f"The grant {issued.grant} on Deployment {web}/web is recorded as delegated" in (
        settled.stderr
    )
    again = typed(responder, "close", *target, "--outcome", "reverted", "--grant", issued.grant)
    assert again.returncode == 0, again.stderr
    found = guard.records_in(web)[2:]
    assert [(each.grant, each.grant_act, each.outcome) for each in found] == [
        (issued.grant, "settled", "delegated"),
        (issued.grant, "settled", "reverted"),
    ]


def test_break_reports_the_open_grant_of_another_person(guard: Guard, web: str) -> None:
    responder, target = guard.cluster.as_("responder"), ("deploy/web", "-n", web)
    typed(responder, "break", *target, *ASKED)
    lead = guard.cluster.as_("lead")
    refused = typed(lead, "break", *target, "--ticket", "INC-43", "--reason", "I take this over")
    assert "it is open already, for responder" in refused.stderr


def test_namespace_grant_covers_a_deployment_and_is_shown_by_status(guard: Guard, web: str) -> None:
    responder, target = guard.cluster.as_("responder"), ("deploy/web", "-n", web)
    typed(responder, "break", f"namespace/{web}", *ASKED, "--", "-n", web, "scale", "deploy/web",
          "--replicas=8")  # fmt: skip
    assert replicas(guard, web) == 8
    shown = typed(responder, "status", *target).stdout
    assert f"by the grant on Namespace {web}." in shown
    typed(responder, "close", f"namespace/{web}")
    shown = typed(responder, "status", *target).stdout
    assert "open until" not in shown


def test_break_without_a_rule_is_denied_with_the_reason(guard: Guard, web: str) -> None:
    refused = typed(guard.cluster.as_("outsider"), "break", "deploy/web", "-n", web, *ASKED)
    assert refused.returncode == 1
    assert "denied the request" in refused.stderr


def test_break_waits_for_the_approval_of_a_second_person(guard: Guard, web: str) -> None:
    responder, lead = guard.cluster.as_("responder"), guard.cluster.as_("lead")
    target = ("deploy/guarded-web", "-n", web)
    asked = typed(responder, "break", *target, *ASKED)
    assert asked.returncode == 0, asked.stderr
    assert "waits for approval until" in asked.stdout
    assert f"kubectl glasswarden approve deploy/guarded-web --namespace={web}" in asked.stdout
    assert typed(responder, "approve", *target).returncode == 1
    approved = typed(lead, "approve", *target)
    assert "open until" in approved.stdout, approved.stderr
    assert "responder, INC-42" in approved.stdout


def test_argument_that_names_no_object_is_a_usage_error(guard: Guard) -> None:
    failed = typed(guard.cluster.as_("responder"), "status", "web")
    assert failed.returncode == 2
    assert "such as deploy/web" in failed.stderr
