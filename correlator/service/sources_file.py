"""The file that says which repositories a cluster is compared with.

A file, because each repository comes with more than its address: the path inside, the application
and namespace that it is for, and the team to be told.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from glasswarden.policy.typed_yaml import TextInvalid, parse_typed

MOST: Final = 100
"""More would be as many labels in the metrics, and as many watches of each kind."""


class SourcesUnreadable(Exception):
    """The file cannot be read, or does not say which sources there are; mend it."""


class Declares(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One repository, and what it is for."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    """How findings and metrics call it."""
    git: Annotated[str, Meta(min_length=1)]
    """DIR or URL, with @REV if need be."""
    path: str = ""
    """The folder inside: all of an application, or the rest of it looks orphaned."""
    app: str = ""
    """The application; also the name of a Helm release."""
    namespace: str = ""
    """The only namespace that is looked at; all of them without it."""
    values: tuple[str, ...] = ()
    """Files with values for a Helm chart."""
    team: str = ""
    """Who is told what is found."""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file."""

    apiVersion: Literal["glasswarden.io/v1"]  # noqa: N815 - as Kubernetes spells it
    kind: Literal["Sources"]
    sources: Annotated[tuple[Declares, ...], Meta(max_length=MOST)] = ()


def read_sources(file: Path) -> tuple[Declares, ...]:
    """Return the sources that *file* names; raises `SourcesUnreadable`."""
    try:
        return parse_sources(file.read_text())
    except TextInvalid as error:
        at = error.mistake
        raise SourcesUnreadable(f"{file}:{at.line}:{at.column}: {at.message}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourcesUnreadable(f"{file}: {error}") from error


def parse_sources(text: str) -> tuple[Declares, ...]:
    """Return the sources that *text* names; raises `TextInvalid`."""
    typed = parse_typed(text, Document, "file of sources")
    known: set[str] = set()
    for number, each in enumerate(typed.value.sources):
        if each.name in known:
            place = f".sources[{number}].name"
            raise TextInvalid(typed.mistake(place, f"two sources are called {each.name}"))
        known.add(each.name)
    return typed.value.sources
