"""The recording that ships: small, and nothing of the machine it was made on."""

import re
from importlib import resources

import pytest

from glasswarden.demo.story import load_recording

TEXT = resources.files("glasswarden.demo").joinpath("recording.json").read_text()


def test_recording_is_small() -> None:
    assert len(TEXT) < 1_000_000


@pytest.mark.parametrize(
    "private",
    [
        "PRIVATE KEY",
        "eyJhbGciOi",
        r"127\.0\.0\.1:[0-9]",
        "/root/",
        "/home/",
        "glasswarden-cluster-",
    ],
)
def test_recording_contains_no_secrets_and_no_locations(private: str) -> None:
    assert re.findall(private, TEXT) == []


def test_recording_contains_every_person_and_step() -> None:
    steps = load_recording().steps
    people = [step.person for step in steps if step.title]
    assert people[:2] == ["developer", "responder"]
    assert people.count("") == 3
    assert "lead" in people
    assert {each.door for step in steps for each in step.exchanges} == {"mutate", "validate"}


def test_recorded_reviews_are_in_chronological_order() -> None:
    times = [each.time for step in load_recording().steps for each in step.exchanges]
    assert times == sorted(times)
