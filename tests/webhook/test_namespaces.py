"""`namespaces`: which Namespaces have a grant, or that nobody can tell."""

from typing import Any

import pytest

from glasswarden.kube.objects import Object
from glasswarden.policy.breakglass.names import ACTIVE
from webhook.apiserver import ApiServerError, NotFound
from webhook.namespaces import Namespaces, Unsettled


class OneNamespace:
    """An API server that knows *found*, or fails with it."""

    def __init__(self, found: Object | ApiServerError) -> None:
        self._found = found

    def get(self, path: str, accept: str = "") -> Any:  # noqa: ANN401, ARG002 - as the real one
        if path == "/api/v1":
            return {"resources": [{"name": "namespaces", "kind": "Namespace"}]}
        assert path == "/api/v1/namespaces/shop"
        if isinstance(self._found, ApiServerError):
            raise self._found
        return self._found


def knowing(found: Object | ApiServerError) -> Namespaces:
    return Namespaces(OneNamespace(found))  # type: ignore[arg-type]  # as far as it is used here


def a_namespace(**labels: str) -> Object:
    return {"metadata": {"name": "shop", "uid": "u", "labels": labels, "annotations": {"a": "b"}}}


def test_before_the_first_list_nobody_can_tell() -> None:
    with pytest.raises(Unsettled):
        knowing(a_namespace()).cached("shop")


def test_a_namespace_with_a_grant_is_read_with_its_annotations() -> None:
    found = knowing(a_namespace(**{ACTIVE: "true"})).read("shop")
    assert found is not None
    assert (found["kind"], found["metadata"]["annotations"]) == ("Namespace", {"a": "b"})


def test_a_namespace_without_a_grant_and_one_that_is_gone_are_none() -> None:
    assert knowing(a_namespace(team="shop")).read("shop") is None
    assert knowing(NotFound("gone")).read("shop") is None


def test_a_namespace_that_must_not_be_read_is_an_error() -> None:
    """Nobody guesses: the caller decides as if there were no grant, and says so."""
    with pytest.raises(ApiServerError):
        knowing(ApiServerError("HTTP 403")).read("shop")
