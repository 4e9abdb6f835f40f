"""The recording that ships: small, and nothing of the machine it was made on."""

import re
from importlib import resources

import pytest

from glasswarden.demo.story import load_recording

TEXT = resources.files("glasswarden.demo").joinpath("recording.json").read_text()


def test_it_is_small() -> None:
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
def test_it_tells_no_secret_and_no_place(private: str) -> None:
    assert re.findall(private, TEXT) == []


def test_it_has_the_whole_story() -> None:
    steps = load_recording().steps
    people = [step.person for step in steps if step.title]
    assert people[:2] == ["developer", "responder"]
    assert people.count("") == 3
    assert "lead" in people
    assert {each.door for step in steps for each in step.exchanges} == {"mutate", "validate"}


def test_questions_are_in_the_order_in_which_they_were_asked() -> None:
    times = [each.time for step in load_recording().steps for each in step.exchanges]
    assert times == sorted(times)
