"""Conditions in CEL, the API server's expression language, for the claims of engines.

The webhook's registration and the fallback policy are assembled from the same pieces.
"""

from collections.abc import Iterable
from typing import Final

from glasswarden.kube.engines.engine import Mark

SUBJECT: Final = "variables.subject"
"""The object whose owner is asked for: as it was, or as it is created."""
NAME: Final = "variables.name"
"""Its name."""
NAMESPACE: Final = "variables.place"
"""Its namespace; empty for a cluster-scoped object."""


def text(value: str) -> str:
    """Return *value* as a CEL string literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def list_of(values: Iterable[str]) -> str:
    """Return *values* as a CEL list of strings."""
    return f"[{', '.join(map(text, values))}]"


def carries(subject: str, sign: Mark) -> str:
    """Return the condition that the object *subject* carries *sign*."""
    field, key = f"{subject}.metadata.{sign.kind}s", text(sign.key)
    test = f"has({field}) && {key} in {field}"
    return test if sign.value is None else f"{test} && {field}[{key}] == {text(sign.value)}"


def any_of(tests: Iterable[str]) -> str:
    """Return the condition that one of *tests* holds; of none, that nothing does."""
    joined = " || ".join(f"({test})" for test in tests)
    return joined or "false"


def all_of(tests: Iterable[str]) -> str:
    """Return the condition that all of *tests* hold."""
    return " && ".join(f"({test})" for test in tests) or "true"


def value_of(mark: Mark) -> str:
    """Return the expression for the value of *mark* on the subject, where it carries it."""
    return f"{SUBJECT}.metadata.{mark.kind}s[{text(mark.key)}]"


def has_values(*marks: Mark) -> str:
    """Return the condition that the subject carries all of *marks*, each with a value."""
    return all_of(
        test for mark in marks for test in (carries(SUBJECT, mark), f"{value_of(mark)} != ''")
    )
