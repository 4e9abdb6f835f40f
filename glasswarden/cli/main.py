"""The root of the command line: which commands there are, and where each one lives."""

from typing import Final

import click

from glasswarden import __version__
from glasswarden.cli.lazy import LazyGroup

COMMANDS: Final = {
    "approve": "glasswarden.cli.breakglass.approve",
    "backport": "glasswarden.cli.backport",
    "blame": "glasswarden.cli.blame",
    "break": "glasswarden.cli.breakglass.ask",
    "certs": "glasswarden.cli.certs",
    "close": "glasswarden.cli.breakglass.close",
    "correlator": "glasswarden.cli.correlator",
    "demo": "glasswarden.cli.demo",
    "doctor": "glasswarden.cli.doctor",
    "drift": "glasswarden.cli.drift.command",
    "extend": "glasswarden.cli.breakglass.extend",
    "grants": "glasswarden.cli.grants.listing",
    "history": "glasswarden.cli.history",
    "init": "glasswarden.cli.init",
    "install": "glasswarden.cli.install",
    "keys": "glasswarden.cli.keys",
    "ledger": "glasswarden.cli.ledger",
    "manifests": "glasswarden.cli.manifests",
    "policy": "glasswarden.cli.policy",
    "report": "glasswarden.cli.report",
    "review": "glasswarden.cli.review",
    "status": "glasswarden.cli.breakglass.status",
    "uninstall": "glasswarden.cli.uninstall",
    "up": "glasswarden.cli.up",
    "webhook": "glasswarden.cli.webhook",
}
"""Each command by the module that defines it as `command`."""


@click.command(
    cls=LazyGroup,
    modules=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="glasswarden")
def main() -> None:
    """Guard what GitOps owns: who changed which field by hand, when, why, and what to do now."""
