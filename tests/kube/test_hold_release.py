"""`release`: a hold ends where the owner itself declares what is live, and nowhere else."""

import json

import pytest

from glasswarden.kube.hold import LAST_APPLIED, find_released_paths
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import parse_path
from tests.kube.builders import a_deployment, an_entry, an_object, managed_by

FLUX, ARGOCD = "kustomize-controller", "argocd-controller"
IMAGE = "/spec/template/spec/containers[name=app]/image"
REPLICAS = "/spec/replicas"
TIER = "/metadata/labels/tier"

LIVE = a_deployment({"name": "app", "image": "hotfix"}, replicas=5)


def release(live: Object, proposed: Object, *paths: str, manager: str = FLUX) -> list[str]:
    return list(map(str, find_released_paths(live, proposed, map(parse_path, paths), manager)))


def applied(*owned: str, manager: str = FLUX) -> Object:
    return an_entry(manager, *owned, operation="Apply")


def by_hand(*owned: str) -> Object:
    return an_entry("kubectl-edit", *owned)


def test_apply_of_the_live_value_releases_that_field() -> None:
    """The person's entry keeps the field: both want it so."""
    live = managed_by(LIVE, applied(), by_hand(IMAGE, REPLICAS))
    proposed = managed_by(LIVE, applied(IMAGE), by_hand(IMAGE, REPLICAS))
    assert release(live, proposed, IMAGE, REPLICAS) == [IMAGE]


def test_apply_of_another_value_releases_nothing() -> None:
    live = managed_by(LIVE, applied(), by_hand(IMAGE))
    proposed = managed_by(a_deployment({"name": "app", "image": "1"}, replicas=5), applied(IMAGE))
    assert release(live, proposed, IMAGE) == []


def test_a_field_that_the_owner_does_not_mention_stays_held() -> None:
    live = managed_by(LIVE, applied(IMAGE), by_hand(REPLICAS))
    assert release(live, live, REPLICAS) == []


def test_migration_of_kubectl_entries_releases_nothing() -> None:
    """Flux does so before it applies; the fields are in its entry then, but not from Git."""
    live = managed_by(LIVE, applied(REPLICAS), by_hand(IMAGE))
    proposed = managed_by(LIVE, applied(IMAGE, REPLICAS))
    assert release(live, proposed, IMAGE, REPLICAS) == []


def test_a_removed_field_is_released_when_the_owner_no_longer_declares_it() -> None:
    live = managed_by(an_object(labels={"app": "web"}), applied("/metadata/labels/app"))
    wanted = managed_by(
        an_object(labels={"app": "web", "tier": "x"}), applied("/metadata/labels/app", TIER)
    )
    assert release(live, wanted, TIER) == []
    assert release(live, live, TIER) == [TIER]


def test_entry_of_another_manager_releases_nothing() -> None:
    live = managed_by(LIVE, applied(IMAGE, manager="somebody"))
    assert release(live, live, IMAGE) == []


def with_applied(obj: Object, declared: Object) -> Object:
    metadata = obj["metadata"] | {"annotations": {LAST_APPLIED: json.dumps(declared)}}
    return managed_by(obj | {"metadata": metadata}, an_entry(ARGOCD, IMAGE))


def test_last_applied_annotation_releases_the_declared_fields() -> None:
    """Argo CD sends no field that is right already; the annotation has them all."""
    git = a_deployment({"name": "app", "image": "hotfix"}, replicas=3)
    proposed = with_applied(LIVE, git)
    assert release(LIVE, proposed, IMAGE, REPLICAS, manager=ARGOCD) == [IMAGE]


SIDE = "/spec/template/spec/containers[name=side]"


@pytest.mark.parametrize(
    ("declared", "ends"),
    [
        ({"image": "1", "args": ["a"]}, [SIDE]),
        ({"image": "2", "args": ["a"]}, []),
        ({"image": "1", "args": ["a", "b"]}, []),
        ({"image": "1", "tty": True}, []),
    ],
    ids=["the same", "another value", "a longer list", "one field more"],
)
def test_added_item_is_released_despite_its_defaults(declared: Object, ends: list[str]) -> None:
    live = a_deployment({"name": "side", "image": "1", "imagePullPolicy": "Always", "args": ["a"]})
    proposed = with_applied(live, a_deployment({"name": "side", **declared}))
    assert release(live, proposed, SIDE, manager=ARGOCD) == ends


def test_a_removed_field_is_released_when_it_is_no_longer_applied() -> None:
    live = an_object(labels={"app": "web"})
    still = with_applied(live, an_object(labels={"app": "web", "tier": "x"}))
    gone = with_applied(live, an_object(labels={"app": "web"}))
    assert release(live, still, TIER, manager=ARGOCD) == []
    assert release(live, gone, TIER, manager=ARGOCD) == [TIER]


def test_plain_update_releases_nothing() -> None:
    assert release(LIVE, LIVE, IMAGE, manager="helm") == []


def test_unreadable_last_applied_annotation_releases_nothing() -> None:
    live = an_object(annotations={LAST_APPLIED: "{"})
    assert release(live, live, TIER) == []


def test_the_order_of_a_list_stays_held() -> None:
    order = "/spec/template/spec/containers[order]"
    live = managed_by(LIVE, applied("/spec/template/spec/containers"))
    assert release(live, live, order) == []
