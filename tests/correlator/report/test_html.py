"""The page in a real browser: it asks nobody, fits every screen and paper, and can be read."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from correlator.report.html import render_page
from correlator.report.model import Report
from tests.correlator.report.browser import PHONE, Scheme, chromium, opened
from tests.correlator.report.builders import (
    HOSTILE,
    a_hostile_report,
    a_large_report,
    the_report,
)

pytestmark = pytest.mark.browser

SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")
A4_WIDTH: Final = 794
"""Of the paper in CSS pixels."""

READABLE: Final = 4.5
"""The contrast that WCAG 2 asks for (AA)."""

STORY: Final = Path(__file__).parents[2] / "cluster" / "golden" / "story" / "report.html"
"""What was reported of a real incident."""

REPORTS: Final = {
    "ordinary": the_report,
    "hostile": a_hostile_report,
    "large": a_large_report,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(params=[*REPORTS, "story"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return STORY if request.param == "story" else written(REPORTS[request.param](), tmp_path)


def written(report: Report, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(render_page(report, f"Changes by hand: {report.scope.ticket}"))
    return path


def test_page_makes_no_requests_and_logs_no_errors(browser: Browser, file: Path) -> None:
    for scheme in SCHEMES:
        with opened(browser, file, scheme=scheme) as seen:
            assert seen.requests == [file.as_uri()]
            assert seen.complaints == []


@pytest.mark.parametrize("width", [PHONE, 768, 1600])
def test_page_needs_no_horizontal_scrolling(browser: Browser, file: Path, width: int) -> None:
    with opened(browser, file, width=width) as seen:
        assert seen.ask("document.documentElement.scrollWidth") <= width


SPILLED = """
() => [...document.querySelectorAll("td, dd, li, h1, pre, p")]
    .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
    .map(each => each.textContent.slice(0, 60))
"""


def test_page_has_no_overflowing_text(browser: Browser, file: Path) -> None:
    for width in (PHONE, A4_WIDTH):
        with opened(browser, file, width=width) as seen:
            assert seen.ask(SPILLED) == []


def test_page_prints_on_few_sheets_without_cut_text(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(the_report(), tmp_path), scheme="dark") as seen:
        paper = seen.page.pdf(format="A4")
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 3
        seen.page.set_viewport_size({"width": A4_WIDTH, "height": 800})
        seen.page.emulate_media(media="print")
        assert seen.ask("document.documentElement.scrollWidth") <= A4_WIDTH
        # Paper is white, whatever the screen is.
        assert luminance(seen.ask("getComputedStyle(document.body).color")) < 0.05


COLOURS = """
() => {
  const painted = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = [...document.querySelectorAll("body *:not(svg *)")].filter(
    each => [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
  return texts.map(
    each => [each.textContent.trim().slice(0, 40), getComputedStyle(each).color, painted(each)]);
}
"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_has_readable_contrast(browser: Browser, tmp_path: Path, scheme: Scheme) -> None:
    with opened(browser, written(the_report(), tmp_path), scheme=scheme) as seen:
        found = seen.ask(COLOURS)
    assert len(found) > 50
    faint = [text for text, ink, ground in found if contrast(ink, ground) < READABLE]
    assert faint == []


def luminance(colour: str) -> float:
    """Return the relative luminance of a CSS colour, as WCAG 2 defines it."""
    shares = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(ink: str, ground: str) -> float:
    lighter, darker = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_page_is_usable_with_a_screen_reader(browser: Browser, file: Path) -> None:
    with opened(browser, file) as seen:
        levels = seen.ask("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
        assert levels == [1] + [2] * (len(levels) - 1)
        assert seen.ask("document.documentElement.lang") == "en"
        for landmark in ("header", "main", "footer"):
            assert seen.page.locator(f"body > {landmark}").count() == 1
        unnamed = "[...document.querySelectorAll('section, table')].filter("
        unnamed += "each => !document.getElementById(each.getAttribute('aria-labelledby')))"
        assert seen.ask(f"{unnamed}.length") == 0
        assert seen.ask("document.querySelectorAll('th:not([scope])').length") == 0


def test_timeline_has_a_text_alternative(browser: Browser, file: Path) -> None:
    with opened(browser, file) as seen:
        marks = seen.ask("document.querySelectorAll('svg .mark').length")
        assert marks == seen.page.locator(".events > li").count() > 0
        assert seen.ask("document.querySelectorAll('svg .mark > title').length") == marks
        name = seen.page.locator("svg").get_attribute("aria-labelledby")
        assert seen.page.locator(f"svg > #{name}").text_content()


def test_timeline_marks_of_one_moment_do_not_overlap(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(the_report(), tmp_path)) as seen:
        boxes = seen.ask(
            "[...document.querySelectorAll('svg .mark')].map(m => m.getBoundingClientRect())"
            ".map(b => [b.left, b.right, b.top])"
        )
    for lane in {top for _, _, top in boxes}:
        ordered = sorted(box for box in boxes if box[2] == lane)
        assert all(left[1] <= right[0] + 1 for left, right in pairwise(ordered))


def test_hostile_text_is_rendered_as_text(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(a_hostile_report(), tmp_path)) as seen:
        assert seen.ask("document.scripts.length") == 0
        assert seen.ask("document.images.length") == 0
        text = seen.page.inner_text("body")
        assert "<script>alert(1)</script>" in text
        assert "\x1b" not in text
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
        assert HOSTILE.partition(" ")[0] in text
