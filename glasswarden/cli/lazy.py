"""Groups of commands whose modules are imported only when a command is asked for.

`kubectl glasswarden …` in an incident must not wait for a web framework to load.
"""

import importlib
from collections.abc import Mapping

import click


class LazyGroup(click.Group):
    """A group that knows its commands by the modules which define them as `command`."""

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
        command: click.Command = importlib.import_module(self._modules[cmd_name]).command
        return command
