"""A real Chromium for the tests of the page: nothing but its own file can be had."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

Scheme: TypeAlias = Literal["light", "dark"]

DESK: Final = 1100
PHONE: Final = 360


@dataclass
class Opened:
    """A page as somebody sees it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """What the browser wrote to its console, and scripts that failed."""

    def ask(self, script: str) -> Any:  # noqa: ANN401 - whatever the script returns
        """Return what *script* finds on the page."""
        return self.page.evaluate(script)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the machine's Chromium; skip the test, with the reason, where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        why = "NOT TESTED: no chromium on this machine; `make extras` installs it on Debian"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    with sync_playwright() as playwright:
        # Root may not use Chromium's own sandbox, and the page is ours.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, file: Path, *, width: int = DESK, scheme: Scheme = "light"
) -> Iterator[Opened]:
    """Open *file* on a screen of *width*, for somebody who likes it light or dark."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    seen = Opened(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.goto(file.as_uri())
    try:
        yield seen
    finally:
        context.close()
