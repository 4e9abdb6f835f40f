"""Open grants are counted until they are closed, or over."""

from dataclasses import replace
from datetime import timedelta

from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass.grant import Act, GrantUse
from glasswarden.policy.breakglass.notes import OpenGrants
from tests.policy.breakglass.builders import HOUR, OUTSIDER, RESPONDER
from tests.policy.builders import NOW, a_write
from webhook.tally import Tally

ISSUED = GrantUse("g1", Act.ISSUED, "responder", "r", "INC-1", "…", NOW + HOUR)
WRITE = a_write(actor=RESPONDER)


def test_a_grant_counts_for_its_person_and_its_namespace() -> None:
    tally = Tally()
    tally.note(ISSUED, WRITE)
    tally.note(replace(ISSUED, id="g2"), WRITE)  # the API server asked twice
    assert tally.count(WRITE, NOW) == OpenGrants(1, 1)
    assert tally.count(a_write(actor=OUTSIDER), NOW) == OpenGrants(0, 1)
    elsewhere = Ref("apps", "v1", "Deployment", "pay", "web")
    assert tally.count(a_write(actor=RESPONDER, target=elsewhere), NOW) == OpenGrants(1, 0)


def test_one_on_a_namespace_counts_in_it() -> None:
    tally = Tally()
    tally.note(ISSUED, a_write(actor=RESPONDER, target=Ref("", "v1", "Namespace", "", "shop")))
    assert tally.count(WRITE, NOW) == OpenGrants(1, 1)


def test_until_it_is_closed_or_over() -> None:
    tally = Tally()
    tally.note(ISSUED, WRITE)
    assert tally.count(WRITE, NOW + HOUR - timedelta(seconds=1)) == OpenGrants(1, 1)
    tally.note(replace(ISSUED, act=Act.CLOSED), WRITE)
    assert tally.count(WRITE, NOW) == OpenGrants()
    tally.note(ISSUED, WRITE)
    assert tally.count(WRITE, NOW + HOUR) == OpenGrants()


def test_a_request_that_waits_opens_nothing_and_a_use_nothing_more() -> None:
    tally = Tally()
    tally.note(replace(ISSUED, act=Act.REQUESTED), WRITE)
    tally.note(replace(ISSUED, act=Act.USED), WRITE)
    tally.note(None, WRITE)
    assert tally.count(WRITE, NOW) == OpenGrants()
