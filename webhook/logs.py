"""One line of JSON per event, gunicorn's own lines included.

What an exception says is left out, for it may quote what somebody sent; where it was raised is not.
"""

import logging
import sys
import traceback
from typing import Final

import structlog
from gunicorn.glogging import Logger
from structlog.typing import EventDict, Processor, WrappedLogger

from webhook.log_rules import ALWAYS

SERVER: Final = "gunicorn.error"


class _Threshold:
    """Lets a line through or not, by a level that may be set at any time.

    One that is marked as `ALWAYS` is let through at every level, without the mark.
    """

    def __init__(self) -> None:
        self.level = logging.INFO

    def __call__(self, _logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if event.pop(ALWAYS, False):
            return event
        if logging.getLevelNamesMapping().get(_LEVELS.get(method, ""), logging.INFO) < self.level:
            raise structlog.DropEvent
        return event


_LEVELS: Final = {
    "debug": "DEBUG",
    "info": "INFO",
    "warning": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "critical": "CRITICAL",
}
_threshold: Final = _Threshold()


def set_level(level: int) -> None:
    """Have lines below *level* left out, from now on, in this process."""
    _threshold.level = level
    logging.getLogger(SERVER).setLevel(level)


def _where_raised(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Put the type of an exception and the places it went through in the place of itself."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    if isinstance(found, BaseException):
        found = type(found), found, found.__traceback__
    if isinstance(found, tuple) and found[0] is not None:
        frames = traceback.extract_tb(found[2])
        event["exception"] = found[0].__name__
        event["raised_at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return event


_SHARED: list[Processor] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _where_raised,
]


def configure_logs() -> None:
    """Send structlog's events to the standard error, as JSON."""
    structlog.configure(
        processors=[
            _threshold,
            structlog.processors.add_log_level,
            *_SHARED[1:],
            structlog.processors.JSONRenderer(),
        ],
        # A line and its end in one write: the lines of several processes are not mixed.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class ServerLog(Logger):  # type: ignore[misc]  # gunicorn ships no types
    """gunicorn's log, with its lines in the form of ours."""

    def setup(self, cfg: object) -> None:
        """Configure as gunicorn does, then put our formatter in the place of its own."""
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(_formatter())


def _formatter() -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
    )
