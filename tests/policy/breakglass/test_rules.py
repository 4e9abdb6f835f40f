"""Which rule decides for whom, where and when."""

from datetime import UTC, datetime

import pytest

from glasswarden.kube.objects import Ref
from glasswarden.policy.requests import rule_of
from glasswarden.policy.types import Actor
from tests.policy.breakglass.builders import LEAD, OUTSIDER, RESPONDER
from tests.policy.builders import ARGOCD, NOW, a_case, a_policy, a_write

NIGHTS = """
breakGlass:
  rules:
    - name: by-day
      groups: [responders]
      hours: {from: "09:00", to: "17:00", timezone: Europe/Berlin}
      approval: {groups: [leads]}
    - name: by-night
      groups: [responders]
"""


def chosen(rules: str, actor: Actor = RESPONDER, now: datetime = NOW, **differing: object) -> str:
    policy = a_policy(f"breakGlass: {{rules: [{rules}]}}" if "breakGlass" not in rules else rules)
    rule = rule_of(a_case(a_write(actor=actor, **differing), policy, now))
    return rule.name if rule else "none"


def test_first_matching_rule_is_chosen() -> None:
    assert (
        chosen("{name: a, users: [x]}, {name: b, groups: [resp*]}, {name: c, users: ['*']}") == "b"
    )


@pytest.mark.parametrize(
    ("who", "actor", "name"),
    [
        ("users: [responder]", RESPONDER, "a"),
        ("groups: [leads]", LEAD, "a"),
        ("groups: [leads]", OUTSIDER, "none"),
        ("users: [leads]", LEAD, "none"),
    ],
)
def test_rule_is_chosen_by_user_or_group(who: str, actor: Actor, name: str) -> None:
    assert chosen(f"{{name: a, {who}}}", actor) == name


@pytest.mark.parametrize(
    "where", ["namespaces: [pay]", "kinds: [Secret]", "applications: [other]", "names: [api]",
              "engines: [argocd]", "labels: {tier: prod}"],
)  # fmt: skip
def test_rule_is_chosen_by_the_selectors_of_the_object(where: str) -> None:
    assert chosen(f"{{name: a, users: ['*'], {where}}}") == "none"
    assert chosen("{name: a, users: ['*'], engines: [argocd]}", owner=ARGOCD) == "a"


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        pytest.param("2026-03-02 08:00", "by-day", id="Monday at nine in Berlin"),
        pytest.param("2026-03-02 07:59", "by-night", id="a minute before"),
        pytest.param("2026-03-02 15:59", "by-day", id="a minute before five"),
        pytest.param("2026-03-02 16:00", "by-night", id="at five"),
        pytest.param("2026-07-06 07:00", "by-day", id="nine in summer"),
        pytest.param("2026-03-01 12:00", "by-night", id="Sunday"),
    ],
)
def test_rule_is_chosen_by_its_hours(moment: str, name: str) -> None:
    now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert chosen(NIGHTS, now=now) == name
    outside = NIGHTS.replace("timezone:", "outside: true, timezone:")
    assert chosen(outside, now=now) == ("by-night" if name == "by-day" else "by-day")


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("namespaces: [shop]", "a"),
        ("namespaces: [pay]", "none"),
        ("kinds: [Deployment]", "none"),
        ("kinds: [Deployment, Namespace]", "a"),
        ("namespaceWide: false", "none"),
    ],
)
def test_rule_for_a_namespace_covers_the_namespace_object(more: str, name: str) -> None:
    shop = Ref("", "v1", "Namespace", "", "shop", "ns-1")
    assert chosen(f"{{name: a, users: ['*'], {more}}}", target=shop, owner=None) == name
