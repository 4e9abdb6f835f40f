"""Each poll returns what is new since the last one, and nothing from before the first."""

from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from correlator.attribution.link import Link, State
from correlator.finding import Finding
from correlator.notify.events import EventFeed, Kind, events_of_findings
from correlator.still_live import UNKNOWN
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import open_ledger
from tests.ledger.builders import TIME, a_chain, an_attempt

PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/glasswarden"


def later(minutes: float) -> datetime:
    return TIME + timedelta(minutes=minutes)


class Records:
    """A ledger that is written to while somebody looks."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._chain = a_chain()

    def write(self, minutes: float, **fields: Any) -> None:  # noqa: ANN401 - any field
        records = self._chain.link([an_attempt(time=later(minutes), **fields)])
        self.ledger.append(records)
        self._chain.advance(records)

    def told(self, news: EventFeed, minutes: float) -> list[Kind]:
        cluster = an_attempt().cluster
        events = news.read_ledger(self.ledger, cluster, lambda *_: UNKNOWN, later(minutes))
        return [event.kind for event in events]


def test_earlier_events_are_not_sent_except_for_the_end_of_earlier_grants(tmp_path: Path) -> None:
    grant = {"verdict": "allow", "grant": "g1", "grantee": "responder", "ticket": "INC-42"}
    with closing(open_ledger(f"sqlite://{tmp_path}/ledger.db")) as ledger:
        records, news = Records(ledger), EventFeed(later(10))
        records.write(1, verdict="deny")
        records.write(2, **grant, grant_act="issued", grant_expires=later(20))
        assert records.told(news, 10) == []
        records.write(11, verdict="deny")
        assert records.told(news, 12) == [Kind.DENIED]
        assert records.told(news, 15) == []
        assert records.told(news, 21) == [Kind.GRANT_EXPIRED]
        assert records.told(news, 25) == []


def test_records_of_another_cluster_are_ignored(tmp_path: Path) -> None:
    with closing(open_ledger(f"sqlite://{tmp_path}/ledger.db")) as ledger:
        records, news = Records(ledger), EventFeed(later(0))
        records.write(1, verdict="deny", cluster="elsewhere")
        assert records.told(news, 2) == []


def configuration(bundle: str = "one", timeout: int = 5) -> dict[str, Any]:
    client = {"url": "https://webhook.example", "caBundle": bundle}
    entry = {"name": "guard", "timeoutSeconds": timeout, "clientConfig": client}
    return {"webhooks": [entry]}


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (configuration(), []),
        (configuration(bundle="another"), []),
        (configuration(timeout=1), ["was changed"]),
        (None, ["was deleted: no object is guarded"]),
    ],
    ids=["the same", "another authority", "another time-out", "gone"],
)
def test_change_of_the_webhook_configuration_is_sent(
    then: dict[str, Any] | None, says: list[str]
) -> None:
    news = EventFeed(TIME)
    assert news.compare_configurations({PATH: configuration()}, "prod", TIME) == []
    events = news.compare_configurations({PATH: then}, "prod", later(1))
    assert [event.says for event in events] == says
    assert {event.subject for event in events} <= {"validatingwebhookconfigurations/glasswarden"}


@pytest.mark.parametrize(
    ("link", "told"),
    [
        (None, 0),
        (Link(State.EXPLAINED), 0),
        (Link(State.DELEGATED), 0),
        (Link(State.UNEXPLAINED, "no record changes this field"), 1),
    ],
    ids=["not looked into", "explained", "delegated", "unexplained"],
)
def test_only_unexplained_drift_is_sent(link: Link | None, told: int) -> None:
    ref = Ref("apps", "v1", "Deployment", "shop", "web", "uid")
    finding = Finding(ref, parse_path("/spec/replicas"), 3, 5, TIME, "git", link=link)
    events = list(events_of_findings([(finding, "storefront")], "prod", TIME))
    assert len(events) == told
    assert {event.team for event in events} <= {"storefront"}
