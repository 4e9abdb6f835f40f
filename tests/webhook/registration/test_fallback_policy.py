"""The fallback policy follows from the policy; tested in tests/cluster/test_fallback_policy.py."""

import pytest

from glasswarden.policy.policy import DEFAULT, Policy
from tests.policy.builders import a_policy
from webhook.registration.configurations import PolicyTooLarge
from webhook.registration.fallback_policy import NAME, new_fallback_policy


def variables(policy: Policy) -> dict[str, str]:
    [rules, _] = new_fallback_policy(policy)
    return {each["name"]: each["expression"] for each in rules["spec"]["variables"]}


def test_fallback_policy_is_annotated_with_the_digest_of_its_policy() -> None:
    [rules, binding] = new_fallback_policy(DEFAULT)
    assert rules["metadata"]["annotations"] == {"glasswarden.io/policy": DEFAULT.digest}
    assert binding["spec"] == {"policyName": NAME, "validationActions": ["Deny"]}


def test_failing_expression_allows_the_write() -> None:
    [rules, _] = new_fallback_policy(DEFAULT)
    assert rules["spec"]["failurePolicy"] == "Ignore"


def test_fallback_policy_of_audit_mode_denies_nothing() -> None:
    found = variables(a_policy("mode: audit\nreconcilers: audit\n"))
    assert found["enforced"] == "false"
    assert "variables.steers && false" in found["guarded"]


def test_mode_rules_with_the_same_result_are_merged() -> None:
    rules = ", ".join(f"{{mode: warn, names: [a{number}]}}" for number in range(200))
    found = variables(a_policy(f"modes: [{rules}, {{mode: enforce, names: [b]}}]\nmode: audit"))
    assert found["enforced"].count("?") == 2
    turning = ", ".join(f"{{mode: {mode}, names: [x]}}" for mode in ("warn", "enforce") * 16)
    with pytest.raises(PolicyTooLarge, match="back more than 30 times"):
        new_fallback_policy(a_policy(f"modes: [{turning}]"))


def test_fallback_policy_too_large_for_the_api_server_is_rejected() -> None:
    rules = ", ".join(f"{{mode: warn, names: [{'x' * 60}{number}]}}" for number in range(1000))
    with pytest.raises(PolicyTooLarge, match="'enforced' has"):
        new_fallback_policy(a_policy(f"modes: [{rules}]"))


def test_first_matching_rule_sets_the_mode() -> None:
    found = variables(a_policy("modes: [{mode: enforce, names: [a]}, {mode: audit, names: [b]}]"))
    a, b = ("(variables.name in ['a'])", "(variables.name in ['b'])")
    assert found["enforced"] == f"(({a})) ? true : ((({b})) ? false : (true))"


def test_label_with_a_wildcard_value_must_exist() -> None:
    found = variables(a_policy('modes: [{mode: audit, labels: {canary: "*"}}]'))
    assert "'canary' in variables.subject.metadata.labels) && " in found["enforced"]


def test_namespace_of_the_webhook_is_exempt() -> None:
    [rules, _] = new_fallback_policy(DEFAULT, "platform-security")
    [expression] = rules["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert {"kube-system", "glasswarden", "platform-security"} == set(expression["values"]) - {
        "kube-node-lease",
        "kube-public",
    }


def test_manager_of_a_delegation_is_left_to_the_webhook() -> None:
    policy = a_policy("delegations: [{name: x, managers: [robot], fields: [/spec/a]}]")
    [rules, _] = new_fallback_policy(policy)
    conditions = {each["name"] for each in rules["spec"]["matchConditions"]}
    assert "not-a-delegates-manager" in conditions


def test_objects_of_engines_without_a_cel_expression_are_left_to_the_webhook() -> None:
    found = variables(DEFAULT)
    assert "kapp.k14s.io/app" in found["owned"]
    assert "'kapp'" not in found["engine"]
