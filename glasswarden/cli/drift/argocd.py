"""Argo CD as it was named on the command line."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import click

from correlator.finding import Result
from correlator.live.source import Live
from correlator.sources.argocd_api import ArgoCDApi, Asked
from correlator.sources.argocd_core import read_core
from glasswarden.cli.drift.options import Options
from glasswarden.policy.policy import Policy

TOKEN: Final = "ARGOCD_AUTH_TOKEN"  # noqa: S105 - the name of a variable
"""Where Argo CD's own command line looks for a token."""

CORE: Final = "core"
"""Stands for an Argo CD without an API."""

Source: TypeAlias = Callable[[Live], Result]
"""Tells what it knows of the objects that are live."""

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
Function = TypeVar("Function", bound=Callable[..., object])


def argocd_options(function: Function) -> Function:
    """Let a command be told of an Argo CD; `argocd_source` takes the options."""
    options = (
        click.option(
            "--argocd",
            "argocd_url",
            default="",
            metavar="URL|core",
            help="Also what this Argo CD sees, by its API; or by its Applications alone: core.",
        ),
        click.option(
            "--argocd-token", type=_FILE, help=f"The file with the token; else ${TOKEN} holds it."
        ),
        click.option("--argocd-ca", type=_FILE, help="The authority behind its certificate."),
        click.option(
            "--argocd-cluster",
            default="",
            metavar="NAME",
            help="What Argo CD calls the cluster, where it is not its own.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def argocd_source(options: Options, policy: Policy) -> Source | None:
    """Return what asks the Argo CD that *options* name, if they do; raise `ArgoCDUnreachable`."""
    url, asked = options.argocd_url, Asked(options.app, options.argocd_cluster)
    if not url:
        return None
    if url == CORE:
        return lambda live: read_core(live, policy, asked)
    api = ArgoCDApi(url, _token(options.argocd_token), options.argocd_ca)
    return lambda _: api.read(asked)


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        return file.read_text().strip()
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
