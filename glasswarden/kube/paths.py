"""Field paths: which field of an object, for people to read and programs to parse back.

    /spec/template/spec/containers[name=app]/image
    /spec/ports[port=80,protocol=TCP]/targetPort
    /metadata/finalizers[=foregroundDeletion]
    /metadata/annotations/example.com~1owner

`path_syntax` gives the grammar. A path says where, never whether anything is there.
"""

import re
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from glasswarden.kube.path_syntax import (
    KeyToken,
    PathError,
    Scalar,
    SelectorToken,
    Token,
    escape_key,
    render_name,
    render_scalar,
    scalar_of,
    tokens_of,
    unescape_key,
)

MOST_REMEMBERED: Final = 64
LONGEST_REMEMBERED: Final = 1000
"""Steps, and characters, that a path keeps once it was asked for them. An object may have a hundred
thousand fields at the end of a thousand steps."""

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
    """A way into an object. Sharing the parent makes the paths of one walk cheap, however deep."""

    parent: "Path | None" = None
    step: Step | None = None
    head: Step | None = None
    """The first step from the root: most rules are done with a path when they know it."""

    # Every rule asks for the steps of a change; its text is shown and recorded.
    _steps: tuple[Step, ...] | None = None
    _text: str | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps from the root; none for the root itself."""
        if self._steps is not None:
            return self._steps
        steps = self._walked()
        if len(steps) <= MOST_REMEMBERED:
            force_setattr(self, "_steps", steps)
        return steps

    def _walked(self) -> tuple[Step, ...]:
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
        # A Struct has one of its own, which knows nothing of ours.
        return not self == other

    def __hash__(self) -> int:
        return hash(self.steps)


ROOT: Final = Path()
"""The object itself."""


def are_nested(one: Path, other: Path) -> bool:
    """Tell whether one of the two leads to, or through, where the other does."""
    return all(step == beside for step, beside in zip(one.steps, other.steps, strict=False))


def path_of(*steps: Step | str) -> Path:
    """Return the path that takes *steps*, where plain text is a field's name."""
    path = ROOT
    for step in steps:
        path /= Key(step) if isinstance(step, str) else step
    return path


REPLICAS: Final = path_of("spec", "replicas")
"""What a Scale shows of the object behind it."""


def parse_path(text: str) -> Path:
    """Return the path that *text* spells, or raise `PathError`."""
    return path_of(*map(_step, tokens_of(text)))


def parse_item(text: str, position: int) -> Index | Order:
    """Return the step that a lone word in brackets spells, or raise `PathError`."""
    if text == "order":
        return Order()
    if not _INDEX.fullmatch(text):
        raise PathError("expected an index, 'order' or name=value", position)
    return Index(int(text))


def _step(token: Token) -> Step:
    match token:
        case KeyToken():
            return Key(unescape_key(token))
        case SelectorToken(parts=((None, value),)) if value is not None:
            return Member(scalar_of(value, token.position))
        case SelectorToken(parts=((name, None),)) if name is not None and not name.quoted:
            return parse_item(name.text, token.position)
        case _:
            return _select(token)


def _select(token: SelectorToken) -> Select:
    keys = []
    for name, value in token.parts:
        if name is None or value is None:
            raise PathError("expected name=value", token.position)
        keys.append((name.text, scalar_of(value, token.position)))
    return Select(tuple(keys))
