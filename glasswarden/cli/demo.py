"""`glasswarden demo`: the product at work, with no cluster."""

import signal
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

import click

from glasswarden.demo.errors import StageFailed
from glasswarden.demo.play import play, show_records
from glasswarden.demo.stage import Stage, open_stage
from glasswarden.demo.story import recorded_story
from glasswarden.ledger.address import open_ledger
from glasswarden.ledger.attempts import attempts_in


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep certificates, ledger and log here; otherwise in a temporary folder.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the webhook; any free one by default."
)
@click.option("--exit", "leave", is_flag=True, help="End after the story instead of staying up.")
def command(folder: Path | None, port: int | None, leave: bool) -> None:  # noqa: FBT001 - a flag
    """Show the webhook answering recorded reviews, step by step.

    It is the real webhook, over TLS, with an embedded ledger; it stays up until Ctrl-C.
    """
    try:
        with ExitStack() as stack:
            folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.mkdir(parents=True, exist_ok=True)
            stage = stack.enter_context(open_stage(folder, port))
            _tell(stage)
            if not leave:
                _stay(stage)
    except KeyboardInterrupt:
        click.echo("\nStopped.")
    except (StageFailed, OSError) as error:
        raise click.ClickException(str(error)) from error


def _tell(stage: Stage) -> None:
    story = recorded_story()
    click.echo(f"The webhook listens on {stage.url}, its ledger is {stage.ledger}")
    click.echo(f"These commands were typed at Kubernetes {story.server}; the answers are made now.")
    play(story, stage)
    with closing(open_ledger(stage.ledger)) as ledger:
        show_records(attempts_in(ledger))


def _stay(stage: Stage) -> None:
    click.echo()
    click.echo("The webhook stays up; Ctrl-C ends it. Try:")
    click.echo(f"  curl --cacert {stage.certificates.authority} {stage.url}/readyz")
    signal.pause()
