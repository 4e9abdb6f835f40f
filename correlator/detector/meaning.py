"""What a manifest declares, in the form in which the API server stores it."""

import base64
import binascii
from typing import Any, Final

from glasswarden.kube.noise import without_noise
from glasswarden.kube.objects import Object, Ref

_BYTES: Final = {"Secret": ("data",), "ConfigMap": ("binaryData",)}


def declared_form(manifest: Object, ref: Ref) -> Object:
    """Return *manifest* without what only the API server writes, a Secret's text encoded.

    Nothing is taken away that could be drift; what cannot be understood stays as it is.
    """
    meant = _without_place(without_noise(manifest))
    if ref.group or ref.kind not in _BYTES:
        return meant
    if ref.kind == "Secret" and isinstance(meant.get("stringData"), dict):
        meant = _with_string_data(meant)
    for field in _BYTES[ref.kind]:
        if isinstance(meant.get(field), dict):
            meant = {**meant, field: {k: canonical_base64(v) for k, v in meant[field].items()}}
    return meant


def _without_place(manifest: Object) -> Object:
    """Return *manifest* without its namespace: by where it is live, not by what it says."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "namespace" not in metadata:
        return manifest
    kept = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**manifest, "metadata": kept}


def canonical_base64(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return *value* as the API server writes it, where it is base64: without line breaks."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64encode(base64.b64decode("".join(value.split()), validate=True)).decode()
    except (binascii.Error, ValueError):
        return value


def _with_string_data(secret: Object) -> Object:
    data = secret.get("data")
    written = {
        key: base64.b64encode(value.encode(errors="surrogatepass")).decode()
        for key, value in secret["stringData"].items()
        if isinstance(value, str)
    }
    kept = {key: value for key, value in secret.items() if key != "stringData"}
    return {**kept, "data": {**(data if isinstance(data, dict) else {}), **written}}
