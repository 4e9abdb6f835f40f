"""What the policy file can say about one engine.

The classes are part of the policy document: the JSON Schema is generated from them, with their
names and descriptions. An engine with settings of its own derives a class from `Engine`, in its
own module.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

Pattern = Annotated[str, Meta(min_length=1, description="Text; `*` stands for any part of it.")]
Patterns = tuple[Pattern, ...]


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of the policy file: an unknown key in it is a mistake, not something for later."""


class Engine(Part, frozen=True, kw_only=True):
    """One GitOps engine."""

    enabled: Annotated[bool, Meta(description="Whether its marks count.")] = True
    controllers: Annotated[
        Patterns | None,
        Meta(description="User names that reconcile for it, in place of the usual ones."),
    ] = None


class OptionalEngine(Engine, frozen=True, kw_only=True):
    """An engine whose marks are too common to count unasked."""

    enabled: Annotated[bool, Meta(description="Whether its marks count.")] = False
