"""A value that follows a file: what is taken up, what is kept, and what is reported."""

import asyncio
import time
from pathlib import Path

import pytest

from glasswarden import reloaded
from glasswarden.reloaded import Reloaded, state_of


class Followed:
    """A file with a number in it, and what was reported about it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.changes: list[int] = []
        self.errors: list[str] = []
        self.value = Reloaded(
            0,
            file.read_text,
            int,
            on_change=self.changes.append,
            on_error=self.errors.append,
            quoted=(ValueError,),
        )

    def write(self, text: str) -> None:
        self.file.write_text(text)
        self.value.refresh()


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path / "number")


def test_a_change_is_taken_up_once(followed: Followed) -> None:
    followed.write("1")
    followed.value.refresh()
    followed.write("2")
    assert (followed.value.value, followed.changes) == (2, [1, 2])


def test_the_first_read_raises_what_is_wrong_and_reports_no_change(followed: Followed) -> None:
    followed.file.write_text("one")
    with pytest.raises(ValueError, match="one"):
        followed.value.load()
    followed.file.write_text("1")
    followed.value.load()
    followed.value.refresh()
    assert (followed.value.value, followed.changes, followed.errors) == (1, [], [])


def test_what_is_marked_as_read_is_no_change(followed: Followed) -> None:
    followed.file.write_text("7")
    followed.value.mark_read()
    followed.value.refresh()
    assert (followed.value.value, followed.changes) == (0, [])


def test_the_last_valid_value_stays(followed: Followed) -> None:
    followed.write("1")
    followed.write("one")
    assert followed.value.value == 1
    assert followed.value.error
    followed.write("2")
    assert (followed.value.value, followed.value.error) == (2, "")


def test_an_error_is_reported_once_for_each_reason(followed: Followed) -> None:
    followed.write("one")
    followed.value.refresh()
    followed.write("two")
    assert ["one" in followed.errors[0], "two" in followed.errors[1]] == [True, True]
    followed.write("3")
    followed.write("two")
    assert len(followed.errors) == 3


def test_the_message_of_an_unforeseen_error_is_not_shown(followed: Followed) -> None:
    followed.value.refresh()
    assert followed.errors == ["FileNotFoundError while it was read"]
    followed.write("1")
    followed.file.unlink()
    followed.value.refresh()
    followed.file.write_text("1")
    followed.value.refresh()
    assert followed.changes == [1, 1]


def test_an_owner_that_fails_is_asked_again(tmp_path: Path) -> None:
    taken: list[str] = []

    def take(text: str) -> None:
        taken.append(text)
        if len(taken) == 1:
            raise ZeroDivisionError

    file = tmp_path / "text"
    file.write_text("a")
    value = Reloaded("", file.read_text, str, on_change=take)
    value.refresh()
    value.refresh()
    value.refresh()
    assert taken == ["a", "a"]


def test_a_task_follows_the_file(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloaded, "POLL_SECONDS", 0.001)
    texts = ["one", "1", "1", "2"]

    async def follow() -> None:
        ended = asyncio.Event()

        def after() -> None:
            followed.file.write_text(texts.pop(0)) if texts else ended.set()

        task = asyncio.create_task(followed.value.follow(after))
        await asyncio.wait_for(ended.wait(), 20)
        task.cancel()

    asyncio.run(follow())
    assert followed.changes == [1, 2]


def test_a_thread_follows_the_file(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloaded, "POLL_SECONDS", 0.001)
    followed.file.write_text("1")
    followed.value.follow_in_thread("test")
    assert followed.value.value == 1
    followed.file.write_text("2")
    deadline = time.monotonic() + 20
    while followed.value.value != 2:
        assert time.monotonic() < deadline


def test_the_state_of_files_changes_with_each_of_them(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a")
    before = state_of(one, other)
    assert before[1] is None
    other.write_text("b")
    assert state_of(one, other) != before
