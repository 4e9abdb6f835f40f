"""The root of the command line: which commands there are, and where each one lives.

A command's module is imported when the command is asked for: `kubectl glasswarden …` in an
incident must not wait for a web framework to load.
"""

import importlib
from typing import Final

import click

from glasswarden import __version__

COMMANDS: Final = {
    "certs": "glasswarden.cli.certs",
    "demo": "glasswarden.cli.demo",
    "doctor": "glasswarden.cli.doctor",
    "init": "glasswarden.cli.init",
    "install": "glasswarden.cli.install",
    "manifests": "glasswarden.cli.manifests",
    "policy": "glasswarden.cli.policy",
    "uninstall": "glasswarden.cli.uninstall",
    "up": "glasswarden.cli.up",
    "webhook": "glasswarden.cli.webhook",
}
"""Each command by the module that defines it as `command`."""


class _Commands(click.Group):
    """A group whose commands are loaded by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="glasswarden")
def main() -> None:
    """Guard what GitOps owns: who changed which field by hand, when, why, and what to do now."""
