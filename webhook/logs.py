"""One line of JSON per event, gunicorn's own lines included."""

import logging
import sys

import structlog
from gunicorn.glogging import Logger
from structlog.typing import Processor

_SHARED: list[Processor] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure_logs() -> None:
    """Send structlog's events to the standard error, as JSON."""
    structlog.configure(
        processors=[
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
