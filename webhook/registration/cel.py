"""Conditions in CEL, the API server's expression language, from small pieces."""

import re
from collections.abc import Iterable

from glasswarden.kube.engines.engine import Mark
from glasswarden.policy.matching import Names


def text(value: str) -> str:
    """Return *value* as a CEL string literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def listed(values: Iterable[str]) -> str:
    """Return *values* as a CEL list of strings."""
    return f"[{', '.join(map(text, values))}]"


def is_among(subject: str, names: Names) -> str:
    """Return the condition that *subject* is one of *names*, stars included."""
    tests = [f"{subject} in {listed(sorted(names.exact))}"] if names.exact else []
    tests += (f"{subject}.matches({text(_regex(glob.pieces))})" for glob in names.globs)
    return any_of(tests)


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


def _regex(pieces: tuple[str, ...]) -> str:
    return f"^{'.*'.join(map(re.escape, pieces))}$"
