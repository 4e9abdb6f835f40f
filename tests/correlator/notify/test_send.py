"""Against a real HTTP server that fails, hangs, asks for patience, or wants nothing of it."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import urllib3

from correlator.notify.config import Format, Target, parse_notifications
from correlator.notify.payload import render_json
from correlator.notify.routing import Message, Notifier
from correlator.notify.send import SIGNATURE, WAITING, Outcome, Sender
from tests.cluster.retries import eventually
from tests.correlator.notify.builders import HEAD, NOW, an_event
from tests.correlator.notify.receiver import Receiver, receiving

IMPATIENT = urllib3.Timeout(connect=2.0, read=0.3)
pytestmark = pytest.mark.slow


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


class Told:
    """What became of messages."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def __call__(self, _target: str, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def sender_to(receiver: Receiver, told: Told, **options: str) -> Sender:
    target = Target(**{"name": "platform", "url": receiver.url} | options)  # type: ignore[arg-type]
    return Sender(target, told, tries=4, first_pause=0.01, timeout=IMPATIENT)


def a_message(about: str = "INC-42") -> Message:
    return Message("platform", about, (an_event(),))


def test_message_is_sent_as_json(receiver: Receiver) -> None:
    told = Told()
    sender = sender_to(receiver, told)
    sender.put(a_message())
    sender.close()
    [(headers, body)] = receiver.got
    assert headers["Content-Type"] == "application/json"
    assert SIGNATURE not in headers
    assert json.loads(body)["about"] == "INC-42"
    assert told.outcomes == [Outcome.SENT]


def test_slack_receiver_gets_a_slack_payload(receiver: Receiver) -> None:
    sender = sender_to(receiver, Told(), format=Format.SLACK)
    sender.put(a_message())
    sender.close()
    assert json.loads(receiver.got[0][1])["text"].startswith("*INC-42*")


def test_signature_can_be_verified_by_the_receiver(receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("between-us\n")
    sender = sender_to(receiver, Told(), secret_file=str(tmp_path / "secret"))
    sender.put(a_message())
    sender.close()
    [(headers, body)] = receiver.got
    time, mac = (part.partition("=")[2] for part in headers[SIGNATURE].split(","))
    expected = hmac.new(b"between-us", f"{time}.".encode() + body, hashlib.sha256).hexdigest()
    assert mac == expected


@pytest.mark.parametrize(
    ("answers", "outcome", "tries"),
    [
        pytest.param([(500, {}), (503, {})], Outcome.SENT, 3, id="failing"),
        pytest.param([(429, {"Retry-After": "1"})], Outcome.SENT, 2, id="patience asked for"),
        pytest.param(
            [(429, {"Retry-After": "\N{SUPERSCRIPT TWO}"})], Outcome.SENT, 2, id="no number"
        ),
        pytest.param(
            [(503, {"Retry-After": "Mon, 01 Jan 0001 00:00:00 -0000"})],
            Outcome.SENT,
            2,
            id="no date",
        ),
        pytest.param([(500, {})] * 9, Outcome.GIVEN_UP, 4, id="failing for good"),
        pytest.param([(404, {})], Outcome.REFUSED, 1, id="wrong address"),
        pytest.param(
            [(302, {"Location": "http://127.0.0.1:1/"})], Outcome.REFUSED, 1, id="sent on"
        ),
    ],
)
def test_answer_of_the_receiver_decides_on_a_retry(
    receiver: Receiver, answers: list[tuple[int, dict[str, str]]], outcome: Outcome, tries: int
) -> None:
    receiver.answers = [*answers]
    told = Told()
    sender = sender_to(receiver, told)
    sender.put(a_message())
    eventually(lambda: told.outcomes, "an outcome")
    sender.close()
    assert (told.outcomes, len(receiver.got)) == ([outcome], tries)


def test_hanging_receiver_times_out_and_delays_no_other(receiver: Receiver) -> None:
    receiver.hang.clear()
    told = Told()
    sender = sender_to(receiver, told)
    for number in range(WAITING + 50):
        sender.put(a_message(str(number)))
    assert told.outcomes.count(Outcome.DROPPED) >= 49
    eventually(lambda: Outcome.GIVEN_UP in told.outcomes, "the first to be given up")
    receiver.hang.set()
    eventually(lambda: Outcome.SENT in told.outcomes, "the next to arrive")
    sender.close()


def test_unreachable_receiver_is_given_up(receiver: Receiver) -> None:
    told = Told()
    sender = sender_to(receiver, told, url="http://127.0.0.1:9/secret-path")
    sender.put(a_message())
    eventually(lambda: told.outcomes, "an outcome")
    sender.close()
    assert told.outcomes == [Outcome.GIVEN_UP]


def test_event_is_routed_and_sent_to_its_receiver(receiver: Receiver) -> None:
    text = f"""
window: 1s
targets: [{{name: storefront, url: '{receiver.url}'}}]
routes: [{{targets: [storefront], namespaces: [shop]}}]
"""
    document = parse_notifications(HEAD + text)
    notifier = Notifier(document, lambda target: Sender(target, timeout=IMPATIENT))
    notifier.take([an_event(), an_event(id="2", namespace="pay")], NOW)
    notifier.close(NOW)
    [(_, body)] = receiver.got
    assert [event["id"] for event in json.loads(body)["events"]] == ["1"]


def test_message_that_cannot_be_rendered_delays_no_other(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread would end with the first error that it does not know, and its target's news."""
    told = Told()
    sender = sender_to(receiver, told)
    monkeypatch.setattr("correlator.notify.send.render_json", unless_about("broken"))
    sender.put(a_message("broken"))
    sender.put(a_message("next"))
    sender.close()
    assert told.outcomes == [Outcome.GIVEN_UP, Outcome.SENT]


def unless_about(about: str) -> Callable[[Message], object]:
    def payload(message: Message) -> object:
        if message.about == about:
            raise RecursionError
        return render_json(message)

    return payload
