"""Field paths: text that names one field of an object, for people to read and programs to parse.

    /spec/template/spec/containers[name=app]/image
    /spec/ports[port=80,protocol=TCP]/targetPort
    /metadata/finalizers[=foregroundDeletion]
    /metadata/annotations/example.com~1owner

A path names a field, whether the object has it or not. The grammar, which patterns share:

    path      =  "/"  |  1*( "/" key  |  "[" selector "]" )
    selector  =  index  |  "order"  |  "=" value  |  name "=" value *( "," name "=" value )

In a key, as in RFC 6901, ``~0`` stands for ``~`` and ``~1`` for ``/``; ``~2`` stands for ``[`` and
``~3`` for ``*``, ``~{1b}`` for the character with that hexadecimal code, and a lone ``~`` for the
empty key. A name or value is a bare word, or a JSON string if a bare word would be ambiguous; a
bare word that spells a JSON number, ``true``, ``false`` or ``null`` is that value. So every path is
printable text on one line, and parses to exactly the same path.

`Fold` computes a value at each of many paths and walks their common parents once. An object may
have a hundred thousand fields below a thousand steps; walking each path separately would take a
minute.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import force_setattr

Scalar: TypeAlias = str | int | float | bool | None
"""A value that can identify a list item."""

_ESCAPES: Final = {"~": "~0", "/": "~1", "[": "~2", "*": "~3"}
_PLAIN: Final = re.compile(r"[\w.-]+", re.ASCII)
"""Most keys: no character in them needs escaping."""

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
    """Text that is not a path or pattern; ``position`` is where parsing failed."""

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
    """A ``[…]``: pairs of name and value, either of which may be missing."""

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
            parts, end = _parse_selector(text, position + 1)
            yield SelectorToken(parts, position + 1)
            position = end
        else:
            raise PathError("expected '/' or '['", position)


def escape_key(name: str) -> str:
    """Return *name* as written after a slash."""
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
    """Return the text that *raw*, found at *position*, spells."""
    return _ESCAPED.sub(lambda match: _unescape_match(match, position), raw)


def render_scalar(value: Scalar) -> str:
    """Return *value* as written inside brackets."""
    if not isinstance(value, str):
        return json.dumps(value)
    return value if is_bare(value) and not _JSON_SCALAR.fullmatch(value) else _quote(value)


def render_name(name: str) -> str:
    """Return *name* as written before an equals sign."""
    return name if is_bare(name) else _quote(name)


def is_bare(text: str) -> bool:
    """Return whether *text* needs no quotes, also not to differ from a wildcard."""
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


def _parse_selector(
    text: str, start: int
) -> tuple[tuple[tuple[Word | None, Word | None], ...], int]:
    parts, position = [], start
    while True:
        name, position = _parse_word(text, position)
        value = None
        if text.startswith("=", position):
            value, position = _parse_word(text, position + 1)
            if value is None:
                raise PathError("expected a value", position)
        parts.append((name, value))
        if text.startswith("]", position):
            return tuple(parts), position + 1
        if not text.startswith(",", position):
            raise PathError("expected ']'", position)
        position += 1


def _parse_word(text: str, position: int) -> tuple[Word | None, int]:
    if match := _BARE.match(text, position):
        return Word(match[0], quoted=False), match.end()
    if match := _QUOTED.match(text, position):
        try:
            return Word(json.loads(match[0], strict=False), quoted=True), match.end()
        except ValueError as error:
            raise PathError("not a JSON string", position) from error
    return None, position


def _quote(text: str) -> str:
    # Control and format characters could alter a terminal: they are written as \u escapes.
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _unescape_match(match: re.Match[str], position: int) -> str:
    digit, code, wrong = match.groups()
    if wrong is None and (digit or int(code, 16) <= _LAST_CHARACTER):
        return _UNESCAPES[digit] if digit else chr(int(code, 16))
    problem = "'~' is followed by 0, 1, 2, 3 or a code in braces"
    raise PathError(problem, position + match.start())


MOST_REMEMBERED: Final = 64
LONGEST_REMEMBERED: Final = 1000
"""Limits, in steps and in characters, up to which a path caches its steps and text. An object may
have a hundred thousand fields below a thousand steps."""

_INDEX: Final = re.compile("0|[1-9][0-9]{0,8}")


class Key(msgspec.Struct, frozen=True, gc=False):
    """A field of a map."""

    name: str

    def __str__(self) -> str:
        return f"/{escape_key(self.name)}"


class Select(msgspec.Struct, frozen=True, gc=False):
    """The item of an associative list that has these values under its merge keys."""

    keys: tuple[tuple[str, Scalar], ...]

    def __str__(self) -> str:
        pairs = (f"{render_name(name)}={render_scalar(value)}" for name, value in self.keys)
        return f"[{','.join(pairs)}]"


class Member(msgspec.Struct, frozen=True, gc=False):
    """A value of a set."""

    value: Scalar

    def __str__(self) -> str:
        return f"[={render_scalar(self.value)}]"


class Index(msgspec.Struct, frozen=True, gc=False):
    """The item at a position of a list, counted from zero."""

    index: int

    def __str__(self) -> str:
        return f"[{self.index}]"


class Order(msgspec.Struct, frozen=True, gc=False):
    """The order of a list's items, as something that can itself change."""

    def __str__(self) -> str:
        return "[order]"


Step: TypeAlias = Key | Select | Member | Index | Order


class Path(msgspec.Struct, frozen=True, eq=False):
    """The steps from the root of an object to a field. Paths of one walk share their parents."""

    parent: "Path | None" = None
    step: Step | None = None
    head: Step | None = None
    """The first step from the root: most rules need no more to exclude a path."""

    # Every rule reads the steps of a change; its text is displayed and recorded.
    _steps: tuple[Step, ...] | None = None
    _text: str | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps from the root; none for the root itself."""
        if self._steps is not None:
            return self._steps
        steps = self._collect_steps()
        if len(steps) <= MOST_REMEMBERED:
            force_setattr(self, "_steps", steps)
        return steps

    def _collect_steps(self) -> tuple[Step, ...]:
        upwards = []
        path: Path | None = self
        while path is not None and path.step is not None:
            upwards.append(path.step)
            path = path.parent
        return tuple(reversed(upwards))

    def __truediv__(self, step: Step) -> "Path":
        return Path(self, step, self.head or step)

    def __str__(self) -> str:
        if self._text is not None:
            return self._text
        text = "".join(map(str, self.steps)) or "/"
        if len(text) <= LONGEST_REMEMBERED:
            force_setattr(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"parse_path({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.steps == other.steps

    def __ne__(self, other: object) -> bool:
        # A Struct has its own `__ne__`, which does not use our `__eq__`.
        return not self == other

    def __hash__(self) -> int:
        return hash(self.steps)


ROOT: Final = Path()
"""The object itself."""


def are_nested(one: Path, other: Path) -> bool:
    """Return whether one of the two paths is the other, or a parent of it."""
    return all(step == beside for step, beside in zip(one.steps, other.steps, strict=False))


def path_of(*steps: Step | str) -> Path:
    """Return the path with *steps*; plain text is the name of a field."""
    path = ROOT
    for step in steps:
        path /= Key(step) if isinstance(step, str) else step
    return path


REPLICAS: Final = path_of("spec", "replicas")
"""The field of an object that its Scale contains."""


def parse_path(text: str) -> Path:
    """Return the path that *text* spells, or raise `PathError`."""
    return path_of(*map(_parse_step, tokens_of(text)))


def parse_item(text: str, position: int) -> Index | Order:
    """Return the step that a lone word in brackets spells, or raise `PathError`."""
    if text == "order":
        return Order()
    if not _INDEX.fullmatch(text):
        raise PathError("expected an index, 'order' or name=value", position)
    return Index(int(text))


def _parse_step(token: Token) -> Step:
    match token:
        case KeyToken():
            return Key(unescape_key(token))
        case SelectorToken(parts=((None, value),)) if value is not None:
            return Member(scalar_of(value, token.position))
        case SelectorToken(parts=((name, None),)) if name is not None and not name.quoted:
            return parse_item(name.text, token.position)
        case _:
            return _parse_select(token)


def _parse_select(token: SelectorToken) -> Select:
    keys = []
    for name, value in token.parts:
        if name is None or value is None:
            raise PathError("expected name=value", token.position)
        keys.append((name.text, scalar_of(value, token.position)))
    return Select(tuple(keys))


T = TypeVar("T")


class Fold(Generic[T]):
    """A value at each path: *start* at the root, then *after* applied to the parent's value."""

    def __init__(self, start: T, after: Callable[[T, Path], T]) -> None:
        self._start = start
        self._after = after
        self._known: dict[int, tuple[Path, T]] = {}
        """The values at parent paths, by `id`: to hash a path takes as long as to walk it. Each
        path is stored here, so that no other path can get the same `id`."""

    def at(self, path: Path) -> T:
        """Return the value at *path*."""
        ahead: list[Path] = []
        node = path
        while node.parent is not None and id(node) not in self._known:
            ahead.append(node)
            node = node.parent
        value = self._start if node.parent is None else self._known[id(node)][1]
        for each in reversed(ahead):
            value = self._after(value, each)
            if each is not path:
                self._known[id(each)] = (each, value)
        return value
