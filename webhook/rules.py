"""The policy in force, and its renewal when the file changes.

A file that is broken changes nothing: the policy that served so far goes on serving.
"""

import asyncio
from pathlib import Path
from typing import Final

import structlog

from glasswarden.policy.policy import DEFAULT
from webhook.metrics import POLICY_REFUSED, POLICY_RELOADS
from webhook.policy_file import PolicyUnreadable, parse_policy, read_text

POLL_SECONDS: Final = 1.0

log = structlog.get_logger()


class Rules:
    """Holds the policy that decides now."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text = "" if path is None else read_text(path)
        self._complaint = ""
        self.policy = DEFAULT if path is None else parse_policy(path, self._text)

    async def follow(self) -> None:
        """Take the file up again whenever it changes, for as long as the process lives."""
        while self._path is not None:
            await asyncio.sleep(POLL_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Take the file up again if it says something else than it did."""
        if self._path is None:
            return
        try:
            text = read_text(self._path)
            if text == self._text and not self._complaint:
                return
            self._text = text
            self.policy = parse_policy(self._path, text)
        except PolicyUnreadable as error:
            self._complain(str(error))
        except Exception as error:  # noqa: BLE001 - the outermost edge of the task that follows it
            # Whatever this file does to us, the next one must be read.
            self._complain(f"{self._path}: {type(error).__name__} while it was read")
        else:
            log.info("policy reloaded", digest=self.policy.digest)
            POLICY_RELOADS.labels("taken").inc()
            POLICY_REFUSED.set(0)
            self._complaint = ""

    def _complain(self, reason: str) -> None:
        """Say that the file cannot be used, once for each reason."""
        if reason != self._complaint:
            log.warning("policy not reloaded", reason=reason, serving=self.policy.digest)
            POLICY_RELOADS.labels("refused").inc()
            POLICY_REFUSED.set(1)
        self._complaint = reason
