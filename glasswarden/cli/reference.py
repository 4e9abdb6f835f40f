"""The reference of all commands, docs/commands.md: `make reference` renews it."""

import inspect
from collections.abc import Iterator
from typing import Final

import click

from glasswarden.cli.main import main

KEPT: Final = "\b\n"
"""The mark that keeps click from joining the lines of a paragraph."""

HEAD: Final = """\
# Commands

Every command, as `--help` shows it; `kubectl glasswarden` is the same. An option that can be set by
the environment names the variable. Made by `make reference`.
"""


def reference() -> str:
    """Return docs/commands.md."""
    return "\n".join([HEAD, *_sections(main, click.Context(main, info_name="glasswarden"))])


def _sections(command: click.Command, ctx: click.Context) -> Iterator[str]:
    if ctx.parent is not None:
        yield from _section(command, ctx)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            if below is not None and not below.hidden:
                yield from _sections(below, click.Context(below, info_name=name, parent=ctx))


def _section(command: click.Command, ctx: click.Context) -> Iterator[str]:
    depth = len(ctx.command_path.split())
    yield f"{'#' * min(depth, 4)} {ctx.command_path}\n"
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if arguments:
        words = " ".join(each.make_metavar(ctx) for each in arguments)
        yield f"`{ctx.command_path} {words}`\n"
    yield f"{_paragraphs(command.help or '')}\n"
    options = [each for each in command.params if isinstance(each, click.Option)]
    shown = [each for each in options if not each.hidden]
    if shown:
        yield "| option | |"
        yield "| --- | --- |"
        yield from (_row(each, ctx) for each in shown)
        yield ""


def _paragraphs(text: str) -> str:
    """Return a help text as Markdown: a block that keeps its lines becomes code."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```\n{part.removeprefix(KEPT)}\n```" if part.startswith((KEPT, "  ")) else part
        for part in parts
    )


def _row(option: click.Option, ctx: click.Context) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    metavar = "" if option.is_flag or option.count else f" {option.make_metavar(ctx)}"
    parts = [option.help or ""]
    if option.required:
        parts.append("Required.")
    if isinstance(option.show_default, str):
        parts.append(f"By default {option.show_default}.")
    elif option.show_default and option.default is not None:
        parts.append(f"By default `{option.default}`.")
    if option.envvar:
        parts.append(f"`{option.envvar}`.")
    words = " ".join(filter(None, parts)).replace("|", "\\|").replace("\n", " ")
    return f"| `{names}{metavar}` | {words} |".replace("`|", "`\\|")


if __name__ == "__main__":
    click.echo(reference(), nl=False)
