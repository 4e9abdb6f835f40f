"""`holding`: the result of a reconciler's own write while a grant is in force."""

from dataclasses import replace
from typing import Any

import pytest

from glasswarden.kube.compare import value_at
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import parse_path
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import Glass, Notes
from glasswarden.policy.breakglass.tokens import Stamp
from glasswarden.policy.decision import Clause, Verdict
from glasswarden.policy.holds import Holding, apply_hold
from glasswarden.policy.policy import DEFAULT
from glasswarden.policy.types import GrantOperation, Operation
from glasswarden.policy.write import Write
from tests.kube.builders import a_deployment, an_entry, managed_by
from tests.policy.breakglass.builders import HOUR, a_stamp
from tests.policy.builders import FLUX_CONTROLLER, NOW, WEB, a_case, a_policy, a_write, decided

IMAGE = "/spec/template/spec/containers[name=app]/image"
REPLICAS = "/spec/replicas"
NAMESPACE_UID = "9d1c"

RULES = "breakGlass: {rules: [{name: responders, groups: [responders]}]}\n"
POLICY = a_policy(RULES)

LIVE = a_deployment({"name": "app", "image": "hotfix"}, replicas=3, minReadySeconds=1)
GIT = a_deployment({"name": "app", "image": "1"}, replicas=3, minReadySeconds=2)


def notes(stamp: Stamp | None) -> Notes:
    texts = {} if stamp is None or stamp.namespace else {names.REASON: "checkout is down"}
    return Notes(texts, stamp)


def a_reconcile(
    on_object: Stamp | None = None,
    on_namespace: Stamp | None = None,
    **differing: Any,  # noqa: ANN401
) -> Write:
    """Return a write of Flux's to an object with these stamps on it and around it."""
    before = notes(on_object)
    uid = on_namespace.uid if on_namespace else ""
    glass = Glass(before, before, "41", notes(on_namespace), uid)
    manager = "kustomize-controller"
    return a_write(**{"actor": FLUX_CONTROLLER, "manager": manager, "glass": glass} | differing)


def on_hold(write: Write, live: Object = LIVE, proposed: Object = GIT) -> Holding | None:
    return apply_hold(a_case(write, POLICY), live, proposed)


def held_of(write: Write, live: Object = LIVE, proposed: Object = GIT) -> Holding:
    holding = on_hold(write, live, proposed)
    assert holding is not None
    return holding


def at(obj: Object, path: str) -> Any:  # noqa: ANN401 - any JSON value
    return value_at(obj, parse_path(path))


def test_held_field_stays_and_other_fields_come_from_git() -> None:
    holding = held_of(a_reconcile(a_stamp(held=(IMAGE,))))
    assert at(holding.object, IMAGE) == "hotfix"
    assert at(holding.object, "/spec/minReadySeconds") == 2
    assert holding.stamp is None


@pytest.mark.parametrize(
    "stamp",
    [
        None,
        a_stamp(held=(IMAGE,), expires=NOW),
        a_stamp(held=(IMAGE,), hold=False),
        a_stamp(held=(IMAGE,), uid="another"),
        a_stamp(held=(IMAGE,), trial=True),
    ],
    ids=["no grant", "expired", "a rule that does not hold", "another object's", "a dry run's"],
)
def test_no_field_is_held_without_a_valid_holding_grant(stamp: Stamp | None) -> None:
    assert on_hold(a_reconcile(stamp)) is None


def test_removed_rule_ends_its_holds() -> None:
    write = a_reconcile(a_stamp(held=(IMAGE,)))
    assert apply_hold(a_case(write, DEFAULT), LIVE, GIT) is None


def test_field_that_git_set_to_the_live_value_is_removed_from_the_stamp() -> None:
    live = managed_by(LIVE, an_entry("kustomize-controller", IMAGE, operation="Apply"))
    holding = held_of(a_reconcile(a_stamp(held=(IMAGE, REPLICAS))), live, live)
    assert holding.stamp == a_stamp(held=(REPLICAS,), version="41")


def test_stamp_of_a_dry_run_is_marked_as_trial() -> None:
    live = managed_by(LIVE, an_entry("kustomize-controller", IMAGE, operation="Apply"))
    holding = held_of(a_reconcile(a_stamp(held=(IMAGE,)), dry_run=True), live, live)
    assert holding.stamp == a_stamp(held=(), version="41", trial=True)


def scaled(obj: Object) -> Object:
    return managed_by(
        {**obj, "spec": obj["spec"] | {"replicas": 9}},
        an_entry("kubectl", REPLICAS, subresource="scale", time=""),
    )


def test_scale_by_hand_is_held_and_added_to_the_stamp() -> None:
    holding = held_of(a_reconcile(a_stamp(held=(IMAGE,))), scaled(LIVE))
    assert at(holding.object, REPLICAS) == 9
    assert holding.stamp == a_stamp(held=(REPLICAS, IMAGE), version="41")


def test_scale_that_the_owner_applied_is_not_held() -> None:
    """The trace of the scale is still there, beside the owner's own entry."""
    live = scaled(LIVE)
    owned = an_entry("kustomize-controller", REPLICAS, operation="Apply")
    live["metadata"]["managedFields"].append(owned)
    holding = held_of(a_reconcile(a_stamp()), live)
    assert at(holding.object, REPLICAS) == 3
    assert holding.stamp is None


def test_a_scale_that_the_grant_does_not_cover_is_not_held() -> None:
    stamp = a_stamp(operations=(GrantOperation.UPDATE,))
    assert at(held_of(a_reconcile(stamp), scaled(LIVE)).object, REPLICAS) == 3


def a_namespace_stamp(**differing: Any) -> Stamp:  # noqa: ANN401 - any field of a stamp
    return a_stamp(**{"uid": NAMESPACE_UID} | differing)


def a_follower(**differing: Any) -> Stamp:  # noqa: ANN401 - any field of a stamp
    """Return the stamp that a write under the Namespace's grant left on the object."""
    return a_stamp(**{"namespace": NAMESPACE_UID, "held": (IMAGE,)} | differing)


def test_scale_under_a_namespace_grant_adds_a_stamp_to_the_object() -> None:
    holding = held_of(a_reconcile(None, a_namespace_stamp()), scaled(LIVE))
    assert at(holding.object, REPLICAS) == 9
    assert holding.stamp == a_follower(held=(REPLICAS,), version="41")


def test_untouched_object_under_a_namespace_grant_is_not_held() -> None:
    assert on_hold(a_reconcile(None, a_namespace_stamp())) is None


def test_hold_of_a_namespace_grant_ends_with_the_grant() -> None:
    follower = a_follower()
    assert at(held_of(a_reconcile(follower, a_namespace_stamp())).object, IMAGE) == "hotfix"
    assert on_hold(a_reconcile(follower)) is None
    assert on_hold(a_reconcile(follower, a_namespace_stamp(expires=NOW))) is None
    assert on_hold(a_reconcile(follower, a_namespace_stamp(id="another"))) is None


def test_hold_of_a_namespace_grant_is_extended_with_the_grant() -> None:
    follower = a_follower(expires=NOW)
    longer = a_namespace_stamp(expires=NOW + HOUR)
    holding = held_of(a_reconcile(follower, longer))
    assert at(holding.object, IMAGE) == "hotfix"
    assert holding.stamp == a_follower(expires=NOW + HOUR, version="41")


def test_hold_continues_while_the_namespace_is_unknown() -> None:
    write = a_reconcile(a_follower())
    write = replace(write, glass=replace(write.glass, namespace_unknown=True))
    assert at(held_of(write).object, IMAGE) == "hotfix"


def a_prune(stamp: Stamp | None, **differing: Any) -> Write:  # noqa: ANN401 - any field of a write
    fields = {"operation": Operation.DELETE, "changes": ()}
    return a_reconcile(stamp, **fields | differing)


def test_prune_is_denied_with_end_and_reason_of_the_hold() -> None:
    decision = decided(a_prune(a_stamp()), POLICY)
    assert (decision.verdict, decision.clause) == (Verdict.DENY, Clause.HELD)
    assert decision.recorded
    first, second = decision.message.splitlines()
    assert first == (
        "Deployment shop/web is held until 2026-03-01 13:00:00 UTC: responder broke the glass for "
        "INC-42 (checkout is down)."
    )
    assert second.startswith("Its deletion by Flux Kustomization flux-system/shop is refused")


@pytest.mark.parametrize(
    "write",
    [
        a_prune(None),
        a_prune(a_stamp(expires=NOW)),
        a_prune(a_stamp(hold=False)),
        a_reconcile(a_stamp()),
    ],
    ids=["no grant", "expired", "a rule that does not hold", "an update"],
)
def test_prune_without_a_hold_and_updates_are_allowed(write: Write) -> None:
    decision = decided(write, POLICY)
    assert (decision.verdict, decision.clause) == (Verdict.ALLOW, Clause.CONTROLLER)


def test_held_prune_follows_the_mode_and_is_only_warned_on_dry_run() -> None:
    assert decided(a_prune(a_stamp()), a_policy(f"{RULES}mode: audit")).allowed
    for decision in (
        decided(a_prune(a_stamp()), a_policy(f"{RULES}mode: warn")),
        decided(a_prune(a_stamp(), dry_run=True), POLICY),
    ):
        assert decision.allowed
        assert decision.warnings[0].startswith(f"{WEB} is held until")


ENV = "/spec/template/spec/containers[name=app]/env[name=FEATURE]"
ADDED = {"name": "app", "image": "1", "env": [{"name": "FEATURE", "value": "off"}]}
OVER = a_stamp(held=(ENV,), start=NOW - HOUR, expires=NOW)


def applied(*paths: str) -> Object:
    """Return what an apply of Flux's leaves while the variable is there: it owns *paths*."""
    owned = an_entry("kustomize-controller", IMAGE, *paths, operation="Apply")
    return managed_by(a_deployment(ADDED), owned)


def test_unowned_added_field_is_removed_when_the_hold_ends() -> None:
    """The hold restored it after an apply had removed it together with its owner."""
    holding = held_of(a_reconcile(OVER), applied(), applied())
    assert at(holding.object, "/spec/template/spec/containers[name=app]") == {
        "name": "app",
        "image": "1",
    }
    assert holding.stamp is None


def test_owned_added_field_stays_when_the_hold_ends() -> None:
    assert on_hold(a_reconcile(OVER), applied(ENV), applied(ENV)) is None
    by_kubectl = an_entry("kubectl-set", ENV)
    live = applied()
    live["metadata"]["managedFields"].append(by_kubectl)
    assert on_hold(a_reconcile(OVER), live, live) is None


def test_added_field_stays_when_the_reconciler_does_not_apply() -> None:
    live = a_deployment(ADDED)
    assert on_hold(a_reconcile(OVER), live, live) is None
