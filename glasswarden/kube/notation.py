"""Field paths and objects as other programs write them: JSON pointers, jq paths, kubectl."""

import json
import shlex

from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Index, Key, Member, Path, Scalar, Select


def json_pointer(path: Path) -> str | None:
    """Return *path* as RFC 6901 writes it; nothing where it selects items by what they hold."""
    parts = []
    for step in path.steps:
        match step:
            case Key(name=name):
                parts.append(pointer_part(name))
            case Index(index=index):
                parts.append(str(index))
            case _:
                return None
    return "".join(f"/{part}" for part in parts)


def pointer_part(name: str) -> str:
    """Return *name* as one part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def jq_path(path: Path) -> str:
    """Return *path* as jq writes it."""
    return "".join(_jq_step(step) for step in path.steps) or "."


def _jq_step(step: object) -> str:
    match step:
        case Key(name=name):
            key = _jq_key(name)
            return key if _is_plain(name) else key.removeprefix(".")
        case Index(index=index):
            return f"[{index}]"
        case Select(keys=keys):
            tests = " and ".join(f"{_jq_key(name)} == {_json(value)}" for name, value in keys)
            return f"[] | select({tests})"
        case Member(value=value):
            return f"[] | select(. == {_json(value)})"
        case _:
            return ""


def _jq_key(name: str) -> str:
    return f".{name}" if _is_plain(name) else f".[{_json(name)}]"


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()


def _json(value: Scalar) -> str:
    return json.dumps(value)


def kubectl(verb: str, ref: Ref, *more: str) -> str:
    """Return the kubectl command that does *verb* to *ref*."""
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    place = ["-n", ref.namespace] if ref.namespace else []
    return shlex.join(["kubectl", *verb.split(), f"{kind.lower()}/{ref.name}", *place, *more])
