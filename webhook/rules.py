"""The policy in force, and its renewal when the file changes.

A file that is broken changes nothing: the policy that served so far goes on serving.
"""

import asyncio
from pathlib import Path
from typing import Final

import structlog

from glasswarden.policy.file import PolicyInvalid, parse_document
from glasswarden.policy.policy import DEFAULT, Policy, policy_of

POLL_SECONDS: Final = 1.0

log = structlog.get_logger()


class PolicyUnreadable(Exception):
    """The policy file cannot be read, or is no policy; mend it."""


class Rules:
    """Holds the policy that decides now."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text = "" if path is None else _read(path)
        self._complaint = ""
        self.policy = DEFAULT if path is None else _parse(path, self._text)

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
            text = _read(self._path)
            if text == self._text:
                return
            self._text = text
            self.policy = _parse(self._path, text)
        except PolicyUnreadable as error:
            self._complain(str(error))
        else:
            log.info("policy reloaded", digest=self.policy.digest)

    def _complain(self, reason: str) -> None:
        """Say that the file cannot be used, once for each reason."""
        if reason != self._complaint:
            log.warning("policy not reloaded", reason=reason, serving=self.policy.digest)
        self._complaint = reason


def load_policy(path: Path) -> Policy:
    """Return the policy in the file at *path*, or raise `PolicyUnreadable`."""
    return _parse(path, _read(path))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyUnreadable(f"{path}: {error}") from error


def _parse(path: Path, text: str) -> Policy:
    try:
        return policy_of(parse_document(text))
    except PolicyInvalid as error:
        mistake = error.mistake
        place = f"{path}:{mistake.line}:{mistake.column}"
        raise PolicyUnreadable(f"{place}: {mistake.message}") from error
