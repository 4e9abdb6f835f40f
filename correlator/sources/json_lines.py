"""Findings that another program made, one JSON object a line, in the form that we print them."""

from typing import Any, Final

import msgspec

from correlator.finding import Finding, Incomplete, Result, parse_time
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Ref, split_api_version
from glasswarden.kube.paths import PathError, parse_path


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    """Which object; what is not known is left out."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class _Line(msgspec.Struct, frozen=True):
    """One finding; null stands for what is not there."""

    object: _Object
    field: str
    declared: Any = None
    live: Any = None
    since: str | None = None
    source: str = ""
    revision: str = ""


_decode: Final = msgspec.json.Decoder(_Line).decode


def read_json_lines(text: str, source: str) -> Result:
    """Return the findings in *text*; a line that is none costs itself."""
    findings: list[Finding] = []
    incomplete: list[Incomplete] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            findings.append(_finding(_decode(line), source))
        except (msgspec.DecodeError, PathError, UnicodeEncodeError) as error:
            what = f"{source}, line {number}"
            incomplete.append(Incomplete(what, f"not a finding: {error}"))
    return Result(tuple(findings), tuple(incomplete))


def _finding(line: _Line, source: str) -> Finding:
    group, version = split_api_version(line.object.api_version)
    each = line.object
    return Finding(
        Ref(group, version, each.kind, each.namespace, each.name, each.uid),
        parse_path(line.field),
        _value(line.declared),
        _value(line.live),
        parse_time(line.since or ""),
        line.source or source,
        line.revision,
    )


def _value(value: Any) -> Value:  # noqa: ANN401 - any JSON value
    return ABSENT if value is None else value
