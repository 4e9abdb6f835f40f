"""Which configurations have to be there; on the real API server in tests/cluster/test_certs.py."""

from typing import Any

import pytest

from certs.configurations import BREAK_GLASS_ANNOTATION, OURS, Condition, publish_bundle
from tests.policy.builders import a_policy
from webhook.registration.configurations import Endpoint, configurations

VALIDATING, MUTATING = OURS
GLASS = "breakGlass: {rules: [{name: all, users: [responder]}]}"
BUNDLE = b"authority"


class Cluster:
    """Holds configurations by their path."""

    def __init__(self, **held: dict[str, Any]) -> None:
        self._held = held

    def get_or_none(self, path: str) -> dict[str, Any] | None:
        return self._held.get(path.split("/")[-2])


def made(policy: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return configurations(a_policy(policy), Endpoint("https://webhook.example", BUNDLE, "token"))


@pytest.mark.parametrize(
    ("policy", "condition"),
    [("", Condition.NOT_NEEDED), (GLASS, Condition.MISSING)],
    ids=["without rules", "with rules"],
)
def test_mutating_configuration_is_needed_only_with_breakglass_rules(
    policy: str, condition: Condition
) -> None:
    validating, _ = made(policy)
    held = Cluster(validatingwebhookconfigurations=validating)
    seen = publish_bundle(held, BUNDLE)  # type: ignore[arg-type]  # only reads
    assert seen == {VALIDATING: Condition.CURRENT, MUTATING: condition}


def test_validating_configuration_is_always_needed() -> None:
    held = Cluster(mutatingwebhookconfigurations=made("")[1])
    seen = publish_bundle(held, BUNDLE)  # type: ignore[arg-type]  # only reads
    assert seen[VALIDATING] is Condition.MISSING


def test_configurations_are_annotated_only_when_the_policy_has_breakglass_rules() -> None:
    for configuration in made(GLASS):
        assert configuration["metadata"]["annotations"][BREAK_GLASS_ANNOTATION] == "true"
    for configuration in made(""):
        assert BREAK_GLASS_ANNOTATION not in configuration["metadata"]["annotations"]
