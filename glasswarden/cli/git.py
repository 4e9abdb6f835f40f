"""What Git declares, for commands that ask what it has taken over by now."""

from collections.abc import Callable
from typing import TypeVar

import click

from correlator.declared import (
    DeclaredUnreadable,
    Manifests,
    Release,
    parse_address,
    read_declared,
)
from correlator.declared.lookup import lookup_in
from correlator.standing import Lookup

Function = TypeVar("Function", bound=Callable[..., object])


def git_options(function: Function) -> Function:
    """Let a command be told where Git's files are."""
    git = click.option(
        "--git", metavar="DIR|URL@REV", help="What is declared, to see what it took over."
    )
    path = click.option("--path", default="", metavar="FOLDER", help="The folder in --git.")
    return git(path(function))


def declared_in(git: str, path: str) -> tuple[Lookup, list[str]]:
    """Return a look into what Git declares, and what of it could not be read."""
    manifests = manifests_in(git, path)
    incomplete = [f"{each.what}: {each.why}" for each in manifests.incomplete]
    return lookup_in(manifests), incomplete


def manifests_in(git: str, path: str) -> Manifests:
    """Return what Git declares, or end with why it cannot be read."""
    try:
        return read_declared(parse_address(git), path, Release())
    except DeclaredUnreadable as error:
        raise click.ClickException(str(error)) from error
