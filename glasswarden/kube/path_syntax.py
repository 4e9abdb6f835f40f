"""The text of a field path, shared by paths and patterns: its tokens, quoting and escaping.

    path      =  "/"  |  1*( "/" key  |  "[" selector "]" )
    selector  =  index  |  "order"  |  "=" value  |  name "=" value *( "," name "=" value )

In a key, as in RFC 6901, ``~0`` stands for ``~`` and ``~1`` for ``/``; ``~2`` stands for ``[`` and
``~3`` for ``*``, ``~{1b}`` for the character with that hexadecimal code, and a lone ``~`` for the
empty key. A name or value is a bare word, or a JSON string when a bare word would be misread; a
bare word that spells a JSON number, ``true``, ``false`` or ``null`` is that value. So every path is
printable text on one line, and reads back as exactly the path it was.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

Scalar: TypeAlias = str | int | float | bool | None
"""What a list item can be told apart by."""

_ESCAPES: Final = {"~": "~0", "/": "~1", "[": "~2", "*": "~3"}
_PLAIN: Final = re.compile(r"[\w.-]+", re.ASCII)
"""What most keys are: nothing in them is escaped."""

_UNESCAPES: Final = {escape[1]: plain for plain, escape in _ESCAPES.items()}
_ESCAPED: Final = re.compile(r"~(?:([0-3])|\{([0-9a-f]{1,6})\}|(.|$))", re.DOTALL)
_LAST_CHARACTER: Final = 0x10FFFF
_KEY: Final = re.compile(r"/([^/\[]*)")
_BARE: Final = re.compile(r'[^"\[\],=\s]+')
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_JSON_SCALAR: Final = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null"
)


class PathError(ValueError):
    """Text that is no path or pattern; ``position`` is where reading stopped making sense."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} at character {position + 1}")
        self.position = position


class KeyToken(msgspec.Struct, frozen=True):
    """A ``/key``, still escaped."""

    raw: str
    position: int


class Word(msgspec.Struct, frozen=True):
    """A name or value inside brackets, quotes resolved."""

    text: str
    quoted: bool


class SelectorToken(msgspec.Struct, frozen=True):
    """A ``[…]``: pairs of name and value, where a missing name or value is none."""

    parts: tuple[tuple[Word | None, Word | None], ...]
    position: int


Token: TypeAlias = KeyToken | SelectorToken


def tokens_of(text: str) -> Iterator[Token]:
    """Yield the tokens of *text*; nothing for the root, ``/``."""
    if not text:
        raise PathError("a path begins with '/'", 0)
    position = 1 if text == "/" else 0
    while position < len(text):
        if match := _KEY.match(text, position):
            if not match[1]:
                raise PathError("an empty key is written '~'", position + 1)
            yield KeyToken(match[1], position + 1)
            position = match.end()
        elif text[position] == "[":
            parts, end = _selector(text, position + 1)
            yield SelectorToken(parts, position + 1)
            position = end
        else:
            raise PathError("expected '/' or '['", position)


def escape_key(name: str) -> str:
    """Return *name* as it is written after a slash."""
    if not name:
        return "~"
    if _PLAIN.fullmatch(name):
        return name
    return "".join(
        _ESCAPES.get(char) or (char if char.isprintable() else f"~{{{ord(char):x}}}")
        for char in name
    )


def unescape_key(token: KeyToken) -> str:
    """Return the key that *token* spells."""
    return "" if token.raw == "~" else unescape(token.raw, token.position)


def unescape(raw: str, position: int) -> str:
    """Return the text that *raw*, which stands at *position*, spells."""
    return _ESCAPED.sub(lambda match: _unescaped(match, position), raw)


def render_scalar(value: Scalar) -> str:
    """Return *value* as it is written inside brackets."""
    if not isinstance(value, str):
        return json.dumps(value)
    return value if is_bare(value) and not _JSON_SCALAR.fullmatch(value) else _quote(value)


def render_name(name: str) -> str:
    """Return *name* as it is written before an equals sign."""
    return name if is_bare(name) else _quote(name)


def is_bare(text: str) -> bool:
    """Tell whether *text* needs no quotes to be read, and not to be read as a wildcard."""
    return bool(_BARE.fullmatch(text)) and text.isprintable() and "*" not in text


def scalar_of(word: Word, position: int) -> Scalar:
    """Return the value that *word* spells."""
    if word.quoted or not _JSON_SCALAR.fullmatch(word.text):
        return word.text
    try:
        value: Scalar = json.loads(word.text)
    except ValueError as error:  # more digits than Python converts
        raise PathError("a number of too many digits", position) from error
    return value


def _selector(text: str, start: int) -> tuple[tuple[tuple[Word | None, Word | None], ...], int]:
    parts, position = [], start
    while True:
        name, position = _word(text, position)
        value = None
        if text.startswith("=", position):
            value, position = _word(text, position + 1)
            if value is None:
                raise PathError("expected a value", position)
        parts.append((name, value))
        if text.startswith("]", position):
            return tuple(parts), position + 1
        if not text.startswith(",", position):
            raise PathError("expected ']'", position)
        position += 1


def _word(text: str, position: int) -> tuple[Word | None, int]:
    if match := _BARE.match(text, position):
        return Word(match[0], quoted=False), match.end()
    if match := _QUOTED.match(text, position):
        try:
            return Word(json.loads(match[0], strict=False), quoted=True), match.end()
        except ValueError as error:
            raise PathError("not a JSON string", position) from error
    return None, position


def _quote(text: str) -> str:
    # Control and format characters could rewrite a terminal: they leave as \u escapes.
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _unescaped(match: re.Match[str], position: int) -> str:
    digit, code, wrong = match.groups()
    if wrong is None and (digit or int(code, 16) <= _LAST_CHARACTER):
        return _UNESCAPES[digit] if digit else chr(int(code, 16))
    problem = "'~' is followed by 0, 1, 2, 3 or a code in braces"
    raise PathError(problem, position + match.start())
