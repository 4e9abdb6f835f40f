"""The logging rules in force, and their renewal when the file changes.

A file that is broken changes nothing; one that is not there leaves the defaults.
"""

import asyncio
import threading
import time
from pathlib import Path
from typing import Final

import structlog

from glasswarden.policy.typed_yaml import TextInvalid
from webhook.log_rules import DEFAULT, LogRules, Sampler, parse_log_rules
from webhook.logs import set_level

POLL_SECONDS: Final = 1.0

log = structlog.get_logger()


class LogFile:
    """Keeps a process's log as the file says."""

    def __init__(self, path: Path | None, sampler: Sampler) -> None:
        self._path = path
        self._sampler = sampler
        self._text: str | None = None

    async def follow(self) -> None:
        """Take the file up whenever it changes, for as long as the process lives."""
        while self._path is not None:
            self.refresh()
            await asyncio.sleep(POLL_SECONDS)

    def follow_aside(self) -> None:
        """Do the same in a thread of its own, for a program that has no event loop."""

        def follow() -> None:
            while True:
                self.refresh()
                time.sleep(POLL_SECONDS)

        if self._path is not None:
            self.refresh()
            threading.Thread(target=follow, name="logging rules", daemon=True).start()

    def refresh(self) -> None:
        """Take the file up if it says something else than it did."""
        text = self._read()
        if text == self._text:
            return
        self._text = text
        try:
            rules = parse_log_rules(text) if text else DEFAULT
        except TextInvalid as error:
            log.warning("logging rules not taken up", file=str(self._path), reason=str(error))
        else:
            self._apply(rules)

    def _apply(self, rules: LogRules) -> None:
        if rules == self._sampler.rules:
            return
        self._sampler.rules = rules
        set_level(rules.level.number)
        # Said at a weight that every level lets through: the log must tell why it falls silent.
        log.error("logging rules taken up", level_now=rules.level.value, sample=dict(rules.sample))

    def _read(self) -> str:
        try:
            return self._path.read_text() if self._path else ""
        except (OSError, UnicodeDecodeError):
            return ""
