"""What the product prints for the API server, and the part of it that asks about updates."""

from pathlib import Path
from typing import Any

from bench.lab.objects import Object
from tests.cluster.guard import webhook_configuration


def validating_configuration(url: str, authority: Path) -> Object:
    """Return the product's ValidatingWebhookConfiguration for a webhook at *url*."""
    printed: Any = webhook_configuration(url, authority)
    kind = "ValidatingWebhookConfiguration"
    found: Object = next(each for each in printed.get("items", [printed]) if each["kind"] == kind)
    return found
