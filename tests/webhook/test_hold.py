"""The answer to a reconciler's write: a patch that keeps what is held, and the stamp with it."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import Stamp, issue_stamp, read_stamp
from tests.json_patches import apply_patch
from tests.policy.breakglass.builders import RING, a_stamp
from tests.policy.builders import FLUX_CONTROLLER, a_policy
from tests.webhook.builders import Object, a_deployment, a_review
from webhook.context import Reader
from webhook.mutation import Mutation
from webhook.reloading import GrantKeys, Rules

FLUX: Final = {"username": FLUX_CONTROLLER.name}
REPLICAS: Final = "/spec/replicas"


def a_live_stamp(**differing: Any) -> Stamp:  # noqa: ANN401 - any field of a stamp
    now = datetime.now(UTC).replace(microsecond=0)
    lived = timedelta(minutes=1)
    return a_stamp(
        **{"start": now - lived, "expires": now + lived, "held": (REPLICAS,)} | differing
    )


def live(stamp: Stamp) -> Object:
    """Return Flux's Deployment, scaled to 9 under a grant."""
    obj = a_deployment(replicas=9)
    token = issue_stamp(stamp, RING, datetime.now(UTC))
    notes = {names.REASON: "checkout is down", names.GRANT: token, "example.com/own": "yes"}
    obj["metadata"] |= {"resourceVersion": "77", "annotations": notes}
    return obj


def in_git(**spec: object) -> Object:
    """Return it as Flux applies it, which has taken over and drops what it does not know."""
    obj = a_deployment(replicas=3)
    obj["spec"] |= spec
    return obj


def stored(old: Object, new: Object, **differing: Any) -> Object:  # noqa: ANN401 - of a request
    """Return what the API server stores of *new*."""
    keys, rules = GrantKeys(), Rules(None)
    keys.ring = RING
    rules.policy = a_policy("breakGlass: {rules: [{name: responders, groups: [responders]}]}")
    fields: Object = {"oldObject": old, "object": new, "userInfo": FLUX}
    answer = asyncio.run(Mutation(rules, Reader(keys)).mutate(a_review(**fields | differing)))
    response = json.loads(answer)["response"]
    assert response["allowed"]
    patch = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return apply_patch(new, patch)


def stamp_on(obj: Object) -> Stamp:
    return read_stamp(obj["metadata"]["annotations"][names.GRANT], RING)


@pytest.mark.parametrize("dry_run", [False, True], ids=["in earnest", "dry run"])
def test_held_fields_and_stamp_stay_beside_proposed_changes(*, dry_run: bool) -> None:
    old = live(a_live_stamp())
    found = stored(old, in_git(paused=True), dryRun=dry_run)
    assert found["spec"] == {"replicas": 9, "paused": True}
    annotations = old["metadata"]["annotations"]
    kept = {name: annotations[name] for name in (names.REASON, names.GRANT)}
    assert found["metadata"]["annotations"] == kept


def test_a_reconciler_that_changes_nothing_else_sees_no_difference() -> None:
    old = live(a_live_stamp())
    new = in_git()
    new["metadata"]["annotations"] = dict(old["metadata"]["annotations"])
    new["metadata"]["resourceVersion"] = "77"
    assert stored(old, new) == old


def test_scale_is_stamped_with_the_next_write_of_the_reconciler() -> None:
    old = live(a_live_stamp(held=()))
    entry = {"manager": "kubectl", "operation": "Update", "subresource": "scale"}
    fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    old["metadata"]["managedFields"] = [entry | fields]
    found = stored(old, in_git())
    assert found["spec"]["replicas"] == 9
    assert (stamp_on(found).held, stamp_on(found).version) == ((REPLICAS,), "77")


def test_expired_grant_is_removed_with_the_write_of_the_reconciler() -> None:
    over = a_live_stamp(expires=datetime.now(UTC).replace(microsecond=0))
    new = in_git()
    new["metadata"]["annotations"] = dict(live(over)["metadata"]["annotations"])
    found = stored(live(over), new)
    assert found["spec"]["replicas"] == 3
    assert found["metadata"]["annotations"] == {"example.com/own": "yes"}


def test_write_of_a_person_is_never_held() -> None:
    old = live(a_live_stamp())
    new = live(a_live_stamp())
    new["spec"]["replicas"] = 5
    assert stored(old, new, userInfo={"username": "developer"})["spec"]["replicas"] == 5
