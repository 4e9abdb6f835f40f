"""The webhook configuration asks about guarded objects and nothing else.

What the conditions mean is tried on the real API server, in tests/cluster/test_registration.py.
"""

import base64
from typing import Any

import pytest

from glasswarden.kube.engines.registry import SWITCHES
from glasswarden.policy.breakglass.names import ACTIVE
from glasswarden.policy.policy import DEFAULT, Policy
from tests.policy.builders import a_policy
from webhook.registration.configurations import (
    GUARD,
    HOLD,
    HOLD_WITHIN,
    SCALE,
    STAMP,
    STAMP_WITHIN,
    STATUS,
    Endpoint,
    PolicyTooLarge,
    Service,
    configurations,
    mutating_configuration,
    validating_configuration,
)

ENDPOINT = Endpoint("https://webhook.example:8443/", b"PEM", "c0ffee")
WITH_GLASS = a_policy("breakGlass: {rules: [{name: all, users: [developer]}]}")


def hooks(policy: Policy = DEFAULT) -> dict[str, dict[str, Any]]:
    configuration = validating_configuration(policy, ENDPOINT)
    return {hook["name"]: hook for hook in configuration["webhooks"]}


def mutating(policy: Policy = WITH_GLASS) -> dict[str, dict[str, Any]]:
    configuration = mutating_configuration(policy, ENDPOINT)
    return {hook["name"]: hook for hook in configuration["webhooks"]}


def conditions(hook: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["expression"] for each in hook["matchConditions"]}


def test_guard_fails_closed_within_ten_seconds_without_side_effects_on_dry_run() -> None:
    hook = hooks()[GUARD]
    assert hook["clientConfig"] == {
        "url": "https://webhook.example:8443/validate/c0ffee",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }
    assert (hook["failurePolicy"], hook["sideEffects"]) == ("Fail", "NoneOnDryRun")
    assert hook["timeoutSeconds"] <= 10


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mode: enforce", "Fail"),
        ("mode: audit\nreconcilers: audit", "Ignore"),
        ("mode: audit\nreconcilers: warn", "Ignore"),
        ("mode: audit\nreconcilers: enforce", "Fail"),
        ("mode: warn\nmodes: [{mode: enforce, namespaces: [shop]}]", "Fail"),
        ("mode: enforce\noutage: {away: allow}", "Ignore"),
        ("mode: audit\noutage: {away: refuse}", "Fail"),
    ],
)
def test_failure_policy_follows_the_modes_and_the_outage_setting(text: str, wanted: str) -> None:
    found = hooks(a_policy(text))
    assert {found[name]["failurePolicy"] for name in (GUARD, STATUS)} == {wanted}
    assert {found[name]["failurePolicy"] for name in (SCALE, HOLD)} == {"Ignore"}


def test_scale_has_a_separate_entry_that_fails_open() -> None:
    hook = hooks()[SCALE]
    assert (hook["failurePolicy"], hook["rules"][0]["resources"]) == ("Ignore", ["*/scale"])


def test_status_subresources_are_guarded_for_marks_and_stamps() -> None:
    hook = hooks(a_policy("markers: [{name: own, label: example.com/by}]"))[STATUS]
    for resource in ("deployments/status", "pods/status", "namespaces/finalize"):
        assert resource in hook["rules"][0]["resources"]
    touched = conditions(hook)["touches-marks"]
    for key in ("breakglass.glasswarden.io/grant", "argocd.argoproj.io/tracking-id", ACTIVE):
        assert f"'{key}'" in touched
    assert "'example.com/by'" in touched
    assert hook["failurePolicy"] == "Fail"


def test_status_condition_covers_every_key_that_decides_ownership() -> None:
    """A mark that is no sign releases an object as well, and so does a controller's reference."""
    policy = a_policy("markers: [{name: own, label: example.com/by, application: example.com/app}]")
    touched = conditions(hooks(policy)[STATUS])["touches-marks"]
    for _, key in policy.mark_keys:
        assert f"'{key}'" in touched
    for key in SWITCHES:
        assert touched.count(f"'{key}'") == 2  # as an annotation and as a label
    assert "object.metadata.ownerReferences != oldObject.metadata.ownerReferences" in touched


def test_kinds_of_disabled_engines_are_not_guarded() -> None:
    """No controller of theirs is trusted: each of its own writes would reach us."""
    guarded = conditions(hooks(a_policy("engines: {flux: {enabled: false}}"))[GUARD])["guarded"]
    assert "'Application'" in guarded
    assert "'Kustomization'" not in guarded
    assert "'Stack'" not in guarded
    optional = a_policy("engines: {pulumi: {enabled: true}}")
    assert "'Stack'" in conditions(hooks(optional)[GUARD])["guarded"]


def test_namespace_of_the_webhook_is_exempt() -> None:
    endpoint = Endpoint(Service("platform-security", "guard"), b"PEM", "c0ffee")
    for configuration in configurations(WITH_GLASS, endpoint):
        for hook in configuration["webhooks"]:
            exempt = hook["namespaceSelector"]["matchExpressions"][0]["values"]
            assert {"platform-security", "kube-system"} <= set(exempt)
            assert len(exempt) == len(set(exempt))


def test_condition_excludes_reconcilers_in_reserved_namespaces() -> None:
    found = conditions(hooks(a_policy("reservedNamespaces: [shop]"))[GUARD])["not-its-controller"]
    assert "(request.namespace in ['shop'])" in found
    assert "request.namespace" not in conditions(hooks()[GUARD])["not-its-controller"]


def test_cluster_components_are_exempt() -> None:
    for hook in hooks().values():
        assert "kube-system" in hook["namespaceSelector"]["matchExpressions"][0]["values"]
        assert "garbage" in conditions(hook)["not-kubernetes"]


def test_names_of_the_policy_are_in_the_conditions() -> None:
    policy = a_policy(
        "emergencyGroup: it's urgent\n"
        "reservedNamespaces: ['team-*', shop]\n"
        "markers: [{name: own, label: example.com/by, value: own, controllers: [own-robot]}]\n"
        "engines: {sveltos: {enabled: false}}\n"
    )
    found = conditions(hooks(policy)[GUARD])
    assert r"'it\'s urgent' in request.userInfo.groups" in found["not-emergency"]
    assert "request.namespace in ['shop']" in found["guarded"]
    assert r"request.namespace.matches('^team\\-.*$')" in found["guarded"]
    assert "o.metadata.labels['example.com/by'] == 'own'" in found["guarded"]
    assert "projectsveltos.io/owner" not in found["guarded"]
    assert "'own-robot'" in found["not-its-controller"]


def test_policy_too_large_for_the_api_server_is_rejected() -> None:
    users = ", ".join(f"robot-{number}-of-a-very-long-name" for number in range(1000))
    policy = a_policy(f"engines: {{flux: {{controllers: [{users}]}}}}")
    with pytest.raises(PolicyTooLarge, match="not-its-controller"):
        hooks(policy)


def test_configuration_is_annotated_with_the_digest_of_its_policy() -> None:
    configuration = validating_configuration(DEFAULT, ENDPOINT)
    assert configuration["metadata"]["annotations"] == {"glasswarden.io/policy": DEFAULT.digest}


def test_delegation_named_kubernetes_is_not_exempt() -> None:
    """Its actors own some fields; the webhook is called about all others."""
    policy = a_policy("delegations: [{name: kubernetes, actors: [robot], fields: [/spec/a]}]")
    assert "robot" not in conditions(hooks(policy)[GUARD])["not-kubernetes"]


class TestMutatingConfiguration:
    def test_mutating_configuration_follows_the_validating_one(self) -> None:
        kinds = [each["kind"] for each in configurations(DEFAULT, ENDPOINT)]
        assert kinds == ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]

    def test_mutating_webhooks_fail_open_without_side_effects_and_can_be_reinvoked(self) -> None:
        for name, hook in mutating().items():
            assert hook["clientConfig"]["url"] == "https://webhook.example:8443/mutate/c0ffee"
            assert hook["failurePolicy"] == "Ignore"
            assert hook["sideEffects"] == "None"
            # Asked again, a hold would take what it put back itself for what Git wants.
            again = "Never" if name in {HOLD, HOLD_WITHIN} else "IfNeeded"
            assert hook["reinvocationPolicy"] == again
            assert hook["rules"][0]["operations"] == ["UPDATE"]
            assert "kube-system" in hook["namespaceSelector"]["matchExpressions"][0]["values"]

    def test_mutating_webhooks_are_called_only_for_break_glass(self) -> None:
        breaks = conditions(mutating()[STAMP])["breaks-glass"]
        assert "breakglass.glasswarden.io/reason" in breaks
        within = mutating()[STAMP_WITHIN]
        active = within["namespaceSelector"]["matchExpressions"][1]
        assert active["key"] == "breakglass.glasswarden.io/active"
        assert conditions(within)["guarded"] == conditions(self.guard())["guarded"]
        assert conditions(within)["not-asked-already"] == f"!({breaks})"

    def test_mutating_configuration_is_empty_without_breakglass_rules(self) -> None:
        assert mutating(DEFAULT) == {}

    def guard(self) -> dict[str, Any]:
        return hooks()[GUARD]

    def test_guard_is_called_for_every_written_stamp(self) -> None:
        assert "breakglass.glasswarden.io/grant" in conditions(self.guard())["guarded"]


def test_hold_webhooks_fail_open() -> None:
    asked = [
        hooks()[HOLD],
        hooks(WITH_GLASS)[HOLD_WITHIN],
        mutating()[HOLD],
        mutating()[HOLD_WITHIN],
    ]
    for hook in asked:
        assert hook["failurePolicy"] == "Ignore"
        assert "kustomize-controller" in conditions(hook)["its-controller"]


def test_hold_webhooks_are_called_only_for_objects_with_break_glass_annotations() -> None:
    assert "breakglass.glasswarden.io/grant" in conditions(mutating()[HOLD])["breaks-glass"]
    assert "oldObject.metadata.annotations" in conditions(hooks()[HOLD])["granted"]
    assert hooks()[HOLD]["rules"][0]["operations"] == ["DELETE"]
    within = hooks(WITH_GLASS)[HOLD_WITHIN]
    assert within["rules"][0]["operations"] == ["DELETE"]
    assert within["namespaceSelector"]["matchExpressions"][-1]["key"].endswith("/active")
    assert HOLD_WITHIN not in hooks()
    selector = mutating()[HOLD_WITHIN]["namespaceSelector"]["matchExpressions"]
    assert selector[-1]["key"] == "breakglass.glasswarden.io/active"
