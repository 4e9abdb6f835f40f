"""Names in the code use the terms of docs/glossary.md, and none that were retired."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("glasswarden", "webhook", "correlator", "certs")

RETIRED: Final = {
    "away": "unavailable",
    "circle": "scope",
    "clerk": "maintenance writer",
    "door": "acceptor",
    "figures": "metrics, measurements",
    "floor": "fallback policy",
    "gone": "deleted",
    "herald": "event publisher",
    "ill": "FAIL",
    "keeper": "certificate controller",
    "lane": "fast HTTP path",
    "looked": "inspected, checked",
    "owed": "follow-up",
    "petition": "request",
    "refuse": "deny, reject",
    "refused": "denied, rejected",
    "said": "reason",
    "say": "report, describe",
    "shown": "render",
    "standing": "still live",
    "stranger": "unauthorized caller",
    "strangers": "unauthorized callers",
    "teller": "reporter",
    "tell": "publish, report",
    "telling": "publish, report",
    "told": "published, reported",
}
"""Each word with the terms that replace it."""

IRREGULAR: Final = frozenset(
    {
        "begun", "bound", "brought", "built", "chosen", "done", "drawn", "found", "given", "gone",
        "held", "kept", "known", "left", "made", "meant", "said", "seen", "sent", "shown", "taken",
        "told", "written",
    }
)  # fmt: skip
NO_PARTICIPLE: Final = frozenset({"embed", "feed", "need", "seed"})


def modules() -> list[Path]:
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def words_of(name: str) -> list[str]:
    """Return the words of a snake-case or camel-case *name*, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def retired_in(name: str) -> list[str]:
    return [word for word in words_of(name) if word in RETIRED]


def is_bare_participle(name: str) -> bool:
    match words_of(name):
        case [word]:
            regular = word.endswith("ed") and word not in NO_PARTICIPLE
            return regular or word in IRREGULAR
    return False


def functions_of(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method that is no property."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {ast.unparse(each) for each in node.decorator_list}
            if not decorators & {"property", "cached_property", "overload"}:
                yield node


def names_of(file: Path) -> Iterator[str]:
    """Yield the names of classes, functions and module-level constants."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@pytest.mark.parametrize("package", PACKAGES)
def test_names_contain_no_retired_word(package: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}: {name} ({RETIRED[word]})"
        for file in modules()
        if file.is_relative_to(ROOT / package)
        for name in (file.stem, *names_of(file))
        for word in retired_in(name)
    ]
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_are_no_bare_participles(package: str) -> None:
    """A function is a verb with its object, a projection `x_of`, or a predicate `is_`/`has_`."""
    found = [
        f"{file.relative_to(ROOT)}: {function.name}"
        for file in modules()
        if file.is_relative_to(ROOT / package)
        for function in functions_of(file)
        if is_bare_participle(function.name)
    ]
    assert found == []


def test_the_glossary_defines_no_retired_word() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    defined = re.findall(r"^\| ([\w /-]+) \|", glossary, re.MULTILINE)
    assert "grant" in defined
    assert [term for term in defined if retired_in(term)] == []


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("_told", True), ("signed", True), ("held", True), ("render_denial", False),
        ("is_signed", False), ("feed", False), ("HeldField", False),
    ],
)  # fmt: skip
def test_the_check_recognizes_a_bare_participle(name: str, is_found: bool) -> None:  # noqa: FBT001
    assert is_bare_participle(name) is is_found


def test_the_check_recognizes_a_retired_word_inside_a_name() -> None:
    assert retired_in("open_Herald") == ["herald"]
    assert retired_in("is_standing") == ["standing"]
    assert retired_in("saying_grace") == []
