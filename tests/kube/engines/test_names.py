"""What is specific to an engine stands in its module, and nowhere else in the program."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from glasswarden.kube.engines.registry import ENGINES

ROOT: Final = Path(__file__).parents[3]
PACKAGES: Final = ("glasswarden", "webhook", "correlator", "certs")
ENGINES_FOLDER: Final = "glasswarden/kube/engines/"

_ADAPTER: Final = "reads the API or the status of this engine; no other engine needs it"
EXCEPTIONS: Final[dict[str, str]] = {
    "correlator/sources/argocd.py": _ADAPTER,
    "correlator/sources/argocd_api.py": _ADAPTER,
    "correlator/sources/argocd_core.py": _ADAPTER,
    "correlator/sources/argocd_people.py": _ADAPTER,
    "correlator/sources/flux.py": _ADAPTER,
    "correlator/sources/ignore_rules.py": _ADAPTER,
    "correlator/sources/reconcilers.py": "chooses between these adapters",
    "correlator/service/assembly.py": "runs the adapter of Argo CD, by an option of that name",
    "correlator/inspection/sources.py": "runs the adapter of Argo CD, by an option of that name",
    "correlator/digest/assemble.py": "reads since when an Application ignores a field",
    "correlator/declared/render.py": "runs the program helm to render a chart",
    "glasswarden/setup/survey.py": "`Helm` is how a program that a person runs calls itself",
}
"""Files that may name an engine, with the reason."""

NAMES: Final = frozenset(name for engine in ENGINES for name in (engine.name, engine.title))
DOMAINS: Final = frozenset(
    domain for engine in ENGINES for domain in (*engine.kinds, *engine.drift.domains)
)


def sources() -> Iterator[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if not name.startswith(ENGINES_FOLDER):
                yield name


def docstrings(tree: ast.Module) -> frozenset[int]:
    """Return the constants that are documentation: statements of nothing but text."""
    return frozenset(
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def engines_named(name: str) -> set[str]:
    text = (ROOT / name).read_text()
    if not any(each in text for each in (*DOMAINS, *(f'"{name}"' for name in NAMES))):
        return set()  # most files; the rest takes time
    tree = ast.parse(text)
    ignored = docstrings(tree)
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in ignored
    )
    return {
        text
        for text in texts
        if isinstance(text, str) and (text in NAMES or any(domain in text for domain in DOMAINS))
    }


@pytest.fixture(scope="module")
def named() -> dict[str, set[str]]:
    """Return the texts that name an engine, by the file that they stand in."""
    return {name: texts for name in sources() if (texts := engines_named(name))}


def test_no_engine_is_named(named: dict[str, set[str]]) -> None:
    assert {name: texts for name, texts in named.items() if name not in EXCEPTIONS} == {}


def test_every_exception_is_needed(named: dict[str, set[str]]) -> None:
    assert set(EXCEPTIONS) - set(named) == set()
