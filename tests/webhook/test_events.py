"""Events are published in a thread: nothing waits for them, fails with them, or is flooded."""

from datetime import UTC, datetime
from typing import Any

import pytest

from glasswarden.cluster.client import ApiServerError, Forbidden, NotFound, Unreachable
from glasswarden.kube.events import Event
from glasswarden.kube.objects import Ref
from webhook.events import MOST_A_SECOND, MOST_WAITING, SERIES_PAUSE, SERIES_SECONDS, EventPublisher
from webhook.metrics import EVENTS

AWAY = Unreachable("nobody answers")


def an_event(name: str = "web") -> Event:
    ref = Ref("apps", "v1", "Deployment", "shop", name, "0b6f9e0c")
    return Event(ref, "WriteRefused", "Update", "developer was refused", warning=True)


class Stage:
    """A herald on an API server that fails as scripted, with a clock that is moved by hand."""

    def __init__(self, *failures: Exception | None) -> None:
        self.created: list[dict[str, Any]] = []
        self.counts: list[int] = []
        self.pauses: list[float] = []
        self.time = 0.0
        self._failures = list(failures)
        self.publisher = EventPublisher(self, clock=lambda: self.time, wait=self.pauses.append)

    def create(self, path: str, manifest: dict[str, Any]) -> None:
        assert path == "/apis/events.k8s.io/v1/namespaces/shop/events"
        self._fail()
        self.created.append(manifest)

    def merge(self, path: str, patch: dict[str, Any]) -> None:
        self._fail()
        assert path.rpartition("/")[2] in {each["metadata"]["name"] for each in self.created}
        self.counts.append(patch["series"]["count"])

    def _fail(self) -> None:
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure

    def publish(self, *names: str) -> None:
        for name in names:
            self.publisher.publish(an_event(name))

    def publish_waiting(self, seconds: float = 0.0) -> None:
        self.time += seconds
        self.publisher.publish_waiting()

    @property
    def names(self) -> list[str]:
        return [each["regarding"]["name"] for each in self.created]


def counted(outcome: str) -> float:
    return EVENTS.labels(outcome)._value.get()  # type: ignore[no-any-return]


def test_each_event_is_written_once() -> None:
    stage = Stage()
    stage.publish("web", "api")
    stage.publish_waiting()
    stage.publish_waiting()
    assert stage.names == ["web", "api"]
    assert stage.created[0]["reportingController"] == "glasswarden.io/webhook"
    told = datetime.fromisoformat(stage.created[0]["eventTime"])
    assert told <= datetime.now(UTC)


def test_repeated_event_is_counted_in_a_series() -> None:
    stage = Stage()
    stage.publish("web", "web", "web")
    stage.publish_waiting()
    assert (stage.names, stage.counts) == (["web"], [])
    stage.publish("web")
    stage.publish_waiting(SERIES_PAUSE)
    stage.publish_waiting(SERIES_PAUSE)
    assert (stage.names, stage.counts) == (["web"], [4])


def test_series_ends_after_a_pause() -> None:
    stage = Stage()
    stage.publish("web")
    stage.publish_waiting()
    stage.publish_waiting(SERIES_PAUSE + SERIES_SECONDS)
    stage.publish("web")
    stage.publish_waiting()
    assert (stage.names, stage.counts) == (["web", "web"], [])


def test_series_of_a_deleted_event_is_created_anew() -> None:
    stage = Stage(None, NotFound("its hour is over"))
    stage.publish("web", "web")
    stage.publish_waiting()
    stage.publish_waiting(SERIES_PAUSE)
    assert stage.names == ["web", "web"]
    assert stage.created[1]["series"]["count"] == 2


def test_flood_of_events_is_rate_limited_and_dropped_beyond_the_queue() -> None:
    stage, dropped = Stage(), counted("dropped")
    stage.publish(*(f"web-{number}" for number in range(MOST_WAITING + 7)))
    assert counted("dropped") == dropped + 7
    stage.publish_waiting()
    assert len(stage.created) == MOST_A_SECOND


def test_unavailable_api_server_is_retried() -> None:
    stage, written = Stage(AWAY, AWAY), counted("written")
    stage.publish("web")
    stage.publish_waiting()
    assert (stage.names, stage.pauses) == (["web"], [1.0, 2.0])
    assert counted("written") == written + 1


@pytest.mark.parametrize(
    "failures", [[AWAY] * 4, [Forbidden("no such right")]], ids=["unavailable", "forbidden"]
)
def test_event_that_cannot_be_written_is_dropped(failures: list[ApiServerError]) -> None:
    stage, failed = Stage(*failures), counted("failed")
    stage.publish("web", "api")
    stage.publish_waiting()
    assert stage.names == ["api"]
    assert counted("failed") == failed + 1


def test_waiting_events_are_written_on_close() -> None:
    stage = Stage()
    herald = EventPublisher(stage)
    herald.publish(an_event())
    herald.start()
    herald.close()
    assert stage.names == ["web"]


@pytest.mark.parametrize("error", [ValueError(), TypeError(), RecursionError(), KeyError("x")])
def test_error_neither_ends_the_thread_nor_drops_other_events(error: Exception) -> None:
    failed = counted("failed")
    stage = Stage(error, None, error)
    stage.publish("a", "b", "b")
    stage.publish_waiting()
    stage.publish_waiting(SERIES_PAUSE)
    stage.publish("c")
    stage.publish_waiting()
    assert stage.names == ["b", "c"]
    assert counted("failed") == failed + 2
