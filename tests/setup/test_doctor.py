"""What the doctor reports about what it finds; on a real cluster in tests/cluster/test_setup.py."""

from datetime import timedelta
from typing import Any

import pytest

from certs.rotation import State
from glasswarden.policy.policy import DEFAULT
from glasswarden.setup.doctor import (
    Health,
    certificate,
    clock,
    conditions,
    correlator,
    made_from,
    trust,
)
from tests.certs.builders import HOSTS, NOW, publishing, steady
from tests.policy.builders import a_policy
from webhook.registration.configurations import Endpoint, validating_configuration


def registered(state: State, policy: str = "") -> dict[str, Any]:
    """Return a configuration as the API server gives it back, with defaults of its own."""
    endpoint = Endpoint("https://webhook.example", state.bundle, "token")
    configuration = validating_configuration(a_policy(policy), endpoint)
    for entry in configuration["webhooks"]:
        entry["objectSelector"] = {}
    return configuration


def wanted(policy: str = "") -> dict[str, Any]:
    return validating_configuration(a_policy(policy), Endpoint("", b"", ""))


@pytest.mark.parametrize(
    ("seconds", "health"),
    [(0, Health.OK), (-4, Health.OK), (60, Health.WARN), (-400, Health.FAIL)],
)
def test_clock_difference_is_judged_by_its_size(seconds: int, health: Health) -> None:
    assert clock(NOW, NOW + timedelta(seconds=seconds)).health is health


@pytest.mark.parametrize(
    ("after", "hosts", "health", "message"),
    [
        pytest.param(timedelta(), {*HOSTS}, Health.OK, "valid for 90 days", id="young"),
        pytest.param(timedelta(days=61), {*HOSTS}, Health.WARN, "due", id="due"),
        pytest.param(timedelta(days=91), {*HOSTS}, Health.FAIL, "expired", id="expired"),
        pytest.param(timedelta(), {"other.example"}, Health.FAIL, "not for other", id="other"),
    ],
)
def test_certificate_is_judged_by_its_validity_and_its_hosts(
    after: timedelta, hosts: set[str], health: Health, message: str
) -> None:
    finding = certificate(steady(), hosts, NOW + after)
    assert finding.health is health
    assert message in finding.message


def test_missing_certificate_fails_the_check() -> None:
    assert certificate(None, {*HOSTS}, NOW).health is Health.FAIL


def test_defaults_of_the_api_server_are_no_difference_to_the_configuration() -> None:
    assert conditions(registered(steady()), wanted()).health is Health.OK


def test_match_condition_of_another_policy_is_reported() -> None:
    finding = conditions(registered(steady(), "emergencyGroup: others"), wanted())
    assert finding.health is Health.FAIL
    assert "guard.glasswarden.io: matchConditions" in finding.message


def test_weakened_failure_policy_is_reported() -> None:
    live = registered(steady())
    live["webhooks"][0]["failurePolicy"] = "Ignore"
    assert "guard.glasswarden.io: failurePolicy" in conditions(live, wanted()).message


def test_missing_and_extra_webhook_entries_are_reported() -> None:
    live = registered(steady())
    live["webhooks"][1]["name"] = "other.glasswarden.io"
    message = conditions(live, wanted()).message
    assert "scale.glasswarden.io" in message
    assert "other.glasswarden.io: not of this policy" in message


def test_configuration_made_from_another_policy_fails_the_check() -> None:
    assert made_from(registered(steady()), DEFAULT).health is Health.OK
    assert made_from(registered(steady(), "mode: warn"), DEFAULT).health is Health.FAIL


def test_bundle_without_the_next_authority_fails_the_check() -> None:
    """A rotation that got stuck between the Secret and the configuration."""
    state = publishing()
    assert trust(registered(state), state).health is Health.OK
    old = State(state.authorities[:1], state.serving, NOW)
    finding = trust(registered(old), state)
    assert finding.health is Health.FAIL


@pytest.mark.parametrize(
    ("deployments", "health"),
    [
        ([], Health.WARN),
        ([{}], Health.FAIL),
        ([{"status": {"readyReplicas": 0}}], Health.FAIL),
        ([{"status": {"readyReplicas": 2}}], Health.OK),
    ],
)
def test_correlator_is_judged_by_its_ready_replicas(
    deployments: list[dict[str, Any]], health: Health
) -> None:
    assert correlator(deployments).health is health
