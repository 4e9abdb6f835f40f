"""Anybody's text on a terminal."""

import pytest

from glasswarden.terminal import escape_unprintable, fit_text, pad_text, width_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("web", "web"),
        ("zoë 日本", "zoë 日本"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b\u200bc", r"a\u2028b\u200bc"),
        ("\x00\x7f", r"\x00\x7f"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_unprintable(text) == shown
    assert escape_unprintable(text).isprintable()


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("web", 3, "web"),
        ("webs", 3, "we…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301" * 4, 3, "e\u0301e\u0301…"),
        ("web", 0, ""),
    ],
)
def test_text_wider_than_the_column_is_cut(text: str, width: int, cut: str) -> None:
    assert fit_text(text, width) == cut
    assert width_of(cut) <= width


def test_wide_characters_are_padded_by_their_display_width() -> None:
    assert pad_text("日", 4) == "日  "
