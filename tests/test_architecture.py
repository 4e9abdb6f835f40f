"""The contracts between the packages, beyond what import-linter reads from pyproject.toml."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
[PURE] = [each["source_modules"] for each in CONTRACTS if each["name"].startswith("The pure core")]
"""The one list of what is pure; import-linter reads it too."""

IMPURE_MODULES = frozenset(
    {
        "asyncio", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets",
        "select", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile",
        "threading", "time", "urllib",
    }
)  # fmt: skip

IMPURE_CALLS = frozenset({"open", "print", "input"})
CLOCKS = frozenset({"now", "today", "utcnow"})


def pure_modules() -> Iterator[Path]:
    for name in PURE:
        path = ROOT.joinpath(*name.split("."))
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


@pytest.mark.parametrize("path", list(pure_modules()), ids=lambda path: str(path.relative_to(ROOT)))
def test_pure_module_uses_no_impure_function(path: Path) -> None:
    tree = ast.parse(path.read_text())
    reached = {name for node in ast.walk(tree) for name in _reached(node)}
    assert reached == set()


def _reached(node: ast.AST) -> Iterator[str]:
    """Yield what *node* reaches for that is not a value it was given."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _is_impure(alias.name))
    elif isinstance(node, ast.ImportFrom) and _is_impure(node.module or ""):
        yield node.module or ""
    elif isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
            yield called.id
        if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
            yield called.attr


def _is_impure(module: str) -> bool:
    # Parsing a URL reaches for nothing, unlike the rest of its package.
    return module != "urllib.parse" and module.partition(".")[0] in IMPURE_MODULES


def test_purity_check_finds_impure_functions_and_imports() -> None:
    impure = "import os\nfrom time import sleep\nopen('x')\ndatetime.now()\nimport urllib.request\n"
    found = sorted(name for node in ast.walk(ast.parse(impure)) for name in _reached(node))
    assert found == ["now", "open", "os", "time", "urllib.request"]


ALONE = """
import importlib, sys
ours = ("glasswarden", "webhook", "correlator", "certs")
for name in sys.argv[1:]:
    for loaded in [each for each in sys.modules if each.split(".")[0] in ours]:
        del sys.modules[loaded]
    importlib.import_module(name)
"""


@pytest.mark.slow  # import-linter's contract against cycles is part of `make check`
@pytest.mark.parametrize("package", ["glasswarden", "webhook", "correlator", "certs"])
def test_every_module_can_be_imported_on_its_own(package: str) -> None:
    """A module that only works after another was imported hides a cycle."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__main__.py"
    ]
    subprocess.run([sys.executable, "-c", ALONE, *modules], check=True, cwd=ROOT)
