"""docs/architecture.md describes the modules that one write and one inspection really enter."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.walk import Walk, walk_one_inspection, walk_one_write

PAGE: Final = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text()
STEP: Final = re.compile(r"^\| \d+ \| `([\w.]+)` \|([^|]*)\|", re.MULTILINE)


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Walk]:
    folder = tmp_path_factory.mktemp("walk")
    return {"One write": walk_one_write(folder), "One inspection": walk_one_inspection(folder)}


def steps_in(title: str) -> list[tuple[str, set[str]]]:
    """Return the steps of the section *title*: the module, and the modules that it uses."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return [
        (module, set(re.findall(r"`([\w.]+)`", uses))) for module, uses in STEP.findall(section)
    ]


@pytest.mark.parametrize("title", ["One write", "One inspection"])
def test_every_entered_module_is_on_the_page_and_no_other(
    title: str, walks: dict[str, Walk]
) -> None:
    named = {each for module, uses in steps_in(title) for each in (module, *uses)}
    assert named == set(walks[title].modules)


@pytest.mark.parametrize("title", ["One write", "One inspection"])
def test_steps_are_in_the_order_in_which_their_modules_are_entered(
    title: str, walks: dict[str, Walk]
) -> None:
    modules = [module for module, _ in steps_in(title)]
    assert modules == sorted(modules, key=walks[title].order.index)
