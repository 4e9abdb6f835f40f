"""What Flask serves: the answers to probes and to the curious."""

from collections.abc import Callable
from http import HTTPStatus

from flask import Flask, Response

from glasswarden import __version__
from webhook.metrics import CONTENT_TYPE, exposition


def new_pages(is_ending: Callable[[], bool]) -> Flask:
    """Return the Flask application beside the hot path; *is_ending* tells of this process."""
    pages = Flask("webhook", static_folder=None)

    @pages.get("/healthz")
    def healthz() -> str:
        return "ok\n"

    @pages.get("/readyz")
    def readyz() -> tuple[str, HTTPStatus]:
        # A process accepts connections only after its ledger was opened: an answer is readiness.
        if is_ending():
            return "ending\n", HTTPStatus.SERVICE_UNAVAILABLE
        return "ok\n", HTTPStatus.OK

    @pages.get("/metrics")
    def metrics() -> Response:
        return Response(exposition(), content_type=CONTENT_TYPE)

    @pages.get("/version")
    def version() -> dict[str, str]:
        return {"version": __version__}

    return pages
