"""Open grants are counted until they are closed or expired."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt
from glasswarden.policy.breakglass.annotations import OpenGrants
from glasswarden.policy.breakglass.tokens import Act, GrantUse
from tests.ledger.builders import an_attempt
from tests.policy.breakglass.builders import HOUR, OUTSIDER, RESPONDER
from tests.policy.builders import NOW, a_write
from webhook.context import Tally

ISSUED = GrantUse("g1", Act.ISSUED, "responder", "r", "INC-1", "…", NOW + HOUR)
WRITE = a_write(actor=RESPONDER)
API = Ref("apps", "v1", "Deployment", "shop", "api", "uid-api")
NEXT = a_write(actor=RESPONDER, target=API)
"""A request that the grants of before are counted for."""


def test_a_grant_counts_for_its_person_and_its_namespace() -> None:
    tally = Tally()
    tally.note(ISSUED, WRITE)
    tally.note(replace(ISSUED, id="g2"), WRITE)  # the API server asked twice
    assert tally.count(RESPONDER.name, NEXT, NOW) == OpenGrants(1, 1)
    assert tally.count(OUTSIDER.name, NEXT, NOW) == OpenGrants(0, 1)
    elsewhere = Ref("apps", "v1", "Deployment", "pay", "web", "uid-pay")
    assert tally.count(RESPONDER.name, a_write(target=elsewhere), NOW) == OpenGrants(1, 0)


def test_grant_on_the_object_itself_is_not_counted() -> None:
    tally = Tally()
    tally.note(ISSUED, WRITE)
    assert tally.count(RESPONDER.name, WRITE, NOW) == OpenGrants()


def test_grant_on_a_namespace_counts_in_that_namespace() -> None:
    tally = Tally()
    namespace = Ref("", "v1", "Namespace", "", "shop", "uid-shop")
    tally.note(ISSUED, a_write(actor=RESPONDER, target=namespace))
    assert tally.count(RESPONDER.name, NEXT, NOW) == OpenGrants(1, 1)


def test_grant_counts_until_it_is_closed_or_expired() -> None:
    tally = Tally()
    tally.note(ISSUED, WRITE)
    assert tally.count(RESPONDER.name, NEXT, NOW + HOUR - timedelta(seconds=1)) == OpenGrants(1, 1)
    tally.note(replace(ISSUED, act=Act.CLOSED), WRITE)
    assert tally.count(RESPONDER.name, NEXT, NOW) == OpenGrants()
    tally.note(ISSUED, WRITE)
    assert tally.count(RESPONDER.name, NEXT, NOW + HOUR) == OpenGrants()


def test_grants_of_the_ledger_replace_the_counted_ones() -> None:
    tally = Tally()
    tally.note(ISSUED, WRITE)
    tally.learn(
        [
            _granted(object_uid="uid-db"),
            _granted(kind="Namespace", name="shop", group="", namespace=""),
        ]
    )
    assert tally.count(RESPONDER.name, NEXT, NOW) == OpenGrants(2, 2)
    tally.learn([])
    assert tally.count(RESPONDER.name, NEXT, NOW) == OpenGrants()


def _granted(**differing: Any) -> Attempt:  # noqa: ANN401 - as `an_attempt` takes them
    told = {"grant": "g9", "grant_act": "issued", "grant_expires": NOW + HOUR}
    return an_attempt(**told | {"grantee": "responder", "namespace": "shop"} | differing)


def test_pending_requests_and_uses_do_not_count_as_open_grants() -> None:
    tally = Tally()
    tally.note(replace(ISSUED, act=Act.REQUESTED), WRITE)
    tally.note(replace(ISSUED, act=Act.USED), WRITE)
    tally.note(None, WRITE)
    assert tally.count(RESPONDER.name, NEXT, NOW) == OpenGrants()
