"""Notifications from a real ledger, to a real receiver."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from correlator.attribution.link import Link, State
from correlator.episodes.episode import Changes, Term
from correlator.service.duties import CONFIGURATIONS, new_notify
from correlator.service.model import Found, Passed, Tools
from glasswarden.policy.policy import DEFAULT
from tests.cluster.retries import eventually
from tests.correlator.notify.builders import HEAD
from tests.correlator.notify.receiver import Receiver, receiving
from tests.correlator.service.builders import NOW, a_finding, tools_in
from tests.ledger.builders import an_attempt, records_of

pytestmark = pytest.mark.slow


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@dataclass
class Registered:
    """A cluster that has nothing but our configurations."""

    found: dict[str, Any] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def get_or_none(self, path: str) -> Any:  # noqa: ANN401 - what the API server would send
        self.reads.append(path)
        return self.found.get(path)


def a_pass(minutes: int, *found: Found) -> Passed:
    now = NOW + timedelta(minutes=minutes)
    return Passed(now, Term("test", 1), DEFAULT, found, Changes(), ())


def the_file(folder: Path, receiver: Receiver, more: str = "") -> Path:
    file = folder / "notifications.yaml"
    targets = f"targets: [{{name: shop, url: '{receiver.url}'}}]\nroutes: [{{targets: [shop]}}]\n"
    file.write_text(f"{HEAD}window: 1s\n{targets}{more}")
    return file


def tools_with(folder: Path, file: Path | None, registered: Registered) -> Tools:
    tools = tools_in(folder)
    settings = replace(tools.settings, notifications=file)
    return replace(tools, settings=settings, server=registered)  # type: ignore[arg-type]


def told(receiver: Receiver) -> list[str]:
    return [event["kind"] for _, body in receiver.got for event in json.loads(body)["events"]]


def tickets(receiver: Receiver) -> list[str]:
    return [event["ticket"] for _, body in receiver.got for event in json.loads(body)["events"]]


def test_records_findings_and_registration_changes_are_notified(
    tmp_path: Path, receiver: Receiver
) -> None:
    registered = Registered({path: {"webhooks": []} for path in CONFIGURATIONS})
    tools = tools_with(tmp_path, the_file(tmp_path, receiver), registered)
    unexplained = a_finding(link=Link(State.UNEXPLAINED, "no record changes this field"))
    with closing(tools.ledger), closing(tools.history):
        tools.ledger.append(records_of(an_attempt(time=NOW, cluster="test")))
        notify = new_notify(tools)
        notify(a_pass(0, Found("git", "storefront", unexplained)))
        del registered.found[CONFIGURATIONS[0]]
        notify(a_pass(1))
        notify(a_pass(2))
        eventually(lambda: len(told(receiver)) == 3, "three events")
    assert sorted(told(receiver)) == ["configuration-changed", "denied", "unexplained-drift"]


def test_silence_applies_as_soon_as_the_file_has_it(tmp_path: Path, receiver: Receiver) -> None:
    file = the_file(tmp_path, receiver)
    tools = tools_with(tmp_path, file, Registered())
    grant = {"verdict": "allow", "grant": "g", "grant_act": "used", "ticket": "INC-42"}
    first, second = (
        an_attempt(time=NOW + timedelta(minutes=m), fingerprint=str(m), **grant) for m in (0, 2)
    )
    last = an_attempt(time=NOW + timedelta(minutes=3), **grant | {"ticket": "INC-43"})
    with closing(tools.ledger), closing(tools.history):
        records = records_of(first, second, last)
        tools.ledger.append(records[:1])
        notify = new_notify(tools)
        notify(a_pass(0))
        notify(a_pass(1))
        eventually(lambda: told(receiver), "the first event")
        the_file(tmp_path, receiver, 'silences: [{ticket: INC-42, until: "2027-01-01T00:00:00Z"}]')
        tools.ledger.append(records[1:])
        notify(a_pass(3))
        file.write_text("broken: [")
        notify(a_pass(4))
        notify(a_pass(5))
        # Messages are sent in order: what is not there by then was not sent.
        eventually(lambda: "INC-43" in tickets(receiver), "the last event")
    assert tickets(receiver) == ["INC-42", "INC-43"]


def test_no_notification_is_sent_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read for it either, and nothing waits to be sent later."""
    targets: list[object] = []
    monkeypatch.setattr("correlator.service.duties.Sender", lambda *a: targets.append(a))
    registered = Registered({path: {"webhooks": []} for path in CONFIGURATIONS})
    tools = tools_with(tmp_path, None, registered)
    unexplained = a_finding(link=Link(State.UNEXPLAINED, "no record changes this field"))
    with closing(tools.ledger), closing(tools.history):
        tools.ledger.append(records_of(an_attempt(time=NOW, cluster="test")))
        notify = new_notify(tools)
        notify(a_pass(0, Found("git", "storefront", unexplained)))
        del registered.found[CONFIGURATIONS[0]]
        notify(a_pass(1))
    assert (targets, registered.reads) == ([], [])
