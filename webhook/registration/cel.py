"""Conditions in CEL, the API server's expression language, about names of the policy."""

import re

from glasswarden.kube.engines.cel import all_of, any_of, carries, list_of, text
from glasswarden.policy.matching import Names

__all__ = ["all_of", "any_of", "carries", "is_among", "list_of", "text"]


def is_among(subject: str, names: Names) -> str:
    """Return the condition that *subject* is one of *names*, stars included."""
    tests = [f"{subject} in {list_of(sorted(names.exact))}"] if names.exact else []
    tests += (f"{subject}.matches({text(_regex(glob.pieces))})" for glob in names.globs)
    return any_of(tests)


def _regex(pieces: tuple[str, ...]) -> str:
    return f"^{'.*'.join(map(re.escape, pieces))}$"
