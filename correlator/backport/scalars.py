"""Values as YAML or JSON text.

Text is left without quotes only where every reader of YAML, of whatever version, takes it for text.
"""

import json
import re
from typing import Any, Final

from correlator.declared.yaml_values import scalar_of

_PLAIN: Final = re.compile(
    r"[A-Za-z0-9_./$(](?:[\w./@+=%^~()$-]|:(?=[\w/])| (?=[\w./$(]))*", re.ASCII
)
_NUMBER_LIKE: Final = re.compile(r"[0-9.]+(?:[A-Za-z][\w.-]*)?", re.ASCII)
_AMBIGUOUS: Final = frozenset({"y", "Y", "n", "N"})
_NAMED: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def scalar_text(value: Any, style: str = "") -> str:  # noqa: ANN401 - any JSON scalar
    """Return *value* on one line, quoted as *style* says where it is text and that can be."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if style != '"' and is_plain(value) else double_quoted(value)


def is_plain(text: str) -> bool:
    """Tell whether *text* reads as itself without quotes, in braces and brackets too."""
    if not _PLAIN.fullmatch(text) or text in _AMBIGUOUS or text.startswith("..."):
        return False
    if (text[0] in "0123456789.") and not _NUMBER_LIKE.fullmatch(text):
        return False
    return isinstance(scalar_of(text), str)


def double_quoted(text: str) -> str:
    """Return *text* in double quotes; what does not print is escaped."""
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    return f"\\U{ord(char):08x}"


def literal_lines(text: str) -> tuple[str, list[str]] | None:
    """Return *text* as a block of lines and the sign before it; nothing where that cannot be."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    printable = all(line.replace("\t", " ").isprintable() for line in lines)
    if "\n" not in text or not printable or not lines[0].strip() or lines[0][0] in " \t":
        return None
    if not lines[-1].strip() or any(line != "" and not line.strip() for line in lines):
        return None
    return ("|" if text.endswith("\n") else "|-"), lines


def flow_text(value: Any, *, as_json: bool) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* on one line, in braces and brackets."""
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        parts = (
            f"{scalar_text(key)}: {flow_text(each, as_json=False)}" for key, each in value.items()
        )
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(each, as_json=False) for each in value) + "]"
    return scalar_text(value)


def block_lines(value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return *value*, a map or list that is not empty, as lines.

    Each level is indented by *step*, a list below its key by *inset*.
    """
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in entry_lines(key, each, step, inset)]
    return [line for each in value for line in item_lines(each, step, inset)]


def entry_lines(key: str, value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401
    """Return a key and its value as lines of a block."""
    head = f"{scalar_text(key)}:"
    if isinstance(value, dict | list) and value:
        indent = " " * (step if isinstance(value, dict) else inset)
        return [head, *(_indented(indent, line) for line in block_lines(value, step, inset))]
    if isinstance(value, str) and (literal := literal_lines(value)):
        sign, lines = literal
        return [f"{head} {sign}", *(_indented(" " * step, line) for line in lines)]
    return [f"{head} {flow_text(value, as_json=False)}"]


def item_lines(value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return an item as lines of a block."""
    if isinstance(value, dict | list) and value:
        first, *rest = block_lines(value, step, inset)
        return [f"- {first}", *(_indented("  ", line) for line in rest)]
    if isinstance(value, str) and (literal := literal_lines(value)):
        sign, lines = literal
        return [f"- {sign}", *(_indented("  ", line) for line in lines)]
    return [f"- {flow_text(value, as_json=False)}"]


def _indented(indent: str, line: str) -> str:
    return f"{indent}{line}" if line else line
