"""Write `glasswarden/kube/empty_values.py` anew from the Go types of Kubernetes' API.

    python -m tests.kube.renew_empty_values 1.36 k8s.io/api@v0.36.3 k8s.io/apimachinery@… …

The arguments are folders of unpacked Go modules. What decides is Go's encoding: `omitempty` drops
an empty string, number, list or map, but keeps a pointer to one.
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

TARGET = Path("glasswarden/kube/empty_values.py")
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^\t\w+\s+(\S+)\s+`json:"([\w$-]+)((?:,\w+)*)"', re.MULTILINE)
UNSTORED = re.compile(r"^ScaleSpec$|(Status|Options|Review|List|Request|Response|Attributes)$")
"""Types that nobody declares."""

MODULE = '''\
"""Fields of Kubernetes {version} that distinguish an empty value from none.

Written by `tests/kube/renew_empty_values.py` from the API's Go types; do not edit by hand.

Most fields of the built-in types do not: the API server drops ``hostNetwork: false`` and
``args: []``. The pointers below do, and keep ``runAsNonRoot: false``; a name is among them only if
it is a pointer in every type that has it. So do the entries of maps: a label may be empty.
"""

from typing import Final

_POINTERS: Final = """
{pointers}
"""

_MAPS: Final = """
{maps}
"""

POINTERS: Final = frozenset(_POINTERS.split())
"""Fields that the API server keeps although their value is empty."""

MAPS: Final = frozenset(_MAPS.split())
"""Fields, in at least one type, whose entries are kept although their values are empty."""
'''


def main() -> None:
    """Write the table for the version and the modules named on the command line."""
    version, *modules = sys.argv[1:]
    text = MODULE.format(
        version=version, pointers=filled(kept(modules)), maps=filled(maps(modules))
    )
    TARGET.write_text(text, encoding="utf-8")


def filled(names: list[str]) -> str:
    """Return *names* as lines."""
    return textwrap.fill(" ".join(names), 100, break_on_hyphens=False)


def kept(modules: list[str]) -> list[str]:
    """Return the names of fields that are pointers wherever they occur."""
    pointers, dropped = set(), set()
    for kind, name, options in fields(modules):
        if kind.startswith("*"):
            pointers.add(name)
        elif "omitempty" in options:
            dropped.add(name)
    return sorted(pointers - dropped)


def maps(modules: list[str]) -> list[str]:
    """Return the names of fields that are maps anywhere."""
    return sorted({name for kind, name, _ in fields(modules) if is_map(kind)})


def is_map(kind: str) -> bool:
    """Return whether a Go type is a map: some have names of their own."""
    return kind.startswith("map[") or kind.rpartition(".")[2] == "ResourceList"


def fields(modules: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each field's Go type, its name in JSON and the options of its tag."""
    for module in modules:
        for file in sorted(Path(module).rglob("types*.go")):
            for struct in STRUCT.finditer(file.read_text(encoding="utf-8")):
                if not UNSTORED.search(struct[1]):
                    yield from FIELD.findall(struct[2])


if __name__ == "__main__":
    main()
