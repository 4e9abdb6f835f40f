"""How far a long command has come, for somebody who waits at a terminal; silent otherwise."""

import sys
import time
from typing import Final

import click

EVERY_SECONDS: Final = 0.2


class Progress:
    """One line on the standard error, written over and over."""

    def __init__(self, *, is_shown: bool = True) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._begun = self._told = time.monotonic()

    def tell(self, done: int, what: str, rest: str = "") -> None:
        """Say that *done* of *what* are done, not more often than anybody reads."""
        now = time.monotonic()
        if self._is_shown and now - self._told >= EVERY_SECONDS:
            self._told = now
            rate = done / (now - self._begun)
            click.echo(f"\r\x1b[K{done:,} {what}{rest}, {rate:,.0f}/s", err=True, nl=False)

    def clear(self) -> None:
        """Make room for something that stays."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)
