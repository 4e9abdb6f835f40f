"""What the correlator answers: probes, Prometheus, and whatever else is mounted."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Protocol

from flask import Blueprint, Flask, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from correlator.service import metrics


class Health(Protocol):
    """How the program is."""

    def is_well(self) -> bool:
        """Tell whether turns still end."""

    def why_unready(self) -> str:
        """Return what is missing until it does its part; empty where nothing is."""


def new_pages(health: Health, mounted: Iterable[Blueprint] = ()) -> Flask:
    """Return the Flask application; *mounted* are others' pages."""
    pages = Flask("correlator", static_folder=None)

    @pages.get("/healthz")
    def healthz() -> Response:
        return _answer("" if health.is_well() else "no turn has ended for too long")

    @pages.get("/readyz")
    def readyz() -> Response:
        return _answer(health.why_unready())

    @pages.get("/metrics")
    def figures() -> Response:
        return Response(generate_latest(metrics.REGISTRY), content_type=CONTENT_TYPE_LATEST)

    for each in mounted:
        pages.register_blueprint(each)
    return pages


def _answer(complaint: str) -> Response:
    status = HTTPStatus.SERVICE_UNAVAILABLE if complaint else HTTPStatus.OK
    return Response(f"{complaint or 'ok'}\n", status, content_type="text/plain")
