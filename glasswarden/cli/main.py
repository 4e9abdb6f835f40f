"""The root of the command line: which commands there are, and where each one is defined.

A command's module is imported only when the command is called: `kubectl glasswarden …` in an
incident must not wait for a web framework to load.
"""

import importlib
from collections.abc import Mapping
from typing import Final

import click

from glasswarden import __version__


class LazyGroup(click.Group):
    """A group that knows its commands by the modules which define them."""

    def __init__(self, *args: object, modules: Mapping[str, str], **settings: object) -> None:
        super().__init__(*args, **settings)  # type: ignore[arg-type]  # passed on as they came
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *self._modules])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command *cmd_name*, loaded."""
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._modules[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name or "command")
        return command


COMMANDS: Final = {
    "approve": "glasswarden.cli.breakglass:approve",
    "backport": "glasswarden.cli.backport",
    "blame": "glasswarden.cli.blame",
    "break": "glasswarden.cli.breakglass:break_glass",
    "certs": "glasswarden.cli.certs",
    "close": "glasswarden.cli.breakglass:close",
    "correlator": "glasswarden.cli.correlator",
    "demo": "glasswarden.cli.demo",
    "doctor": "glasswarden.cli.doctor",
    "drift": "glasswarden.cli.drift",
    "extend": "glasswarden.cli.breakglass:extend",
    "grants": "glasswarden.cli.grants:grants",
    "history": "glasswarden.cli.history",
    "init": "glasswarden.cli.install:init",
    "install": "glasswarden.cli.install:install",
    "keys": "glasswarden.cli.keys",
    "ledger": "glasswarden.cli.ledger.group",
    "manifests": "glasswarden.cli.manifests",
    "policy": "glasswarden.cli.policy",
    "report": "glasswarden.cli.report",
    "review": "glasswarden.cli.review",
    "status": "glasswarden.cli.breakglass:status",
    "uninstall": "glasswarden.cli.install:uninstall",
    "up": "glasswarden.cli.up",
    "webhook": "glasswarden.cli.webhook",
}
"""Each command by the module that defines it as `command`, or by module and name."""


@click.command(
    cls=LazyGroup,
    modules=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="glasswarden")
def main() -> None:
    """Guard what GitOps owns: who changed which field by hand, when, why, and what to do now."""
