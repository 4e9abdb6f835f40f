"""`glasswarden demo`: the product at work, with no cluster."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import click

from glasswarden.cli.main import main
from glasswarden.cli.options import Moment
from glasswarden.demo.play import (
    LAST,
    MENDED,
    QUESTIONS,
    Question,
    Replay,
    open_replay,
    print_introduction,
    print_story,
    show_command,
)
from glasswarden.demo.stage import Layout
from glasswarden.demo.story import DemoFailed, load_recording


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="A new folder for what is left of the story; a temporary one by default.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the webhook; any free one by default."
)
@click.option("--stay", is_flag=True, help="Leave the webhook up after the story, until Ctrl-C.")
def command(folder: Path | None, port: int | None, stay: bool) -> None:  # noqa: FBT001 - a flag
    """Live through a recorded incident: the real webhook, ledger and correlator, no cluster.

    What the API server asked back then is asked again, and the questions of a review are answered;
    reports and all else that they rest on stay in the folder.
    """
    began = time.monotonic()
    try:
        with ExitStack() as stack:
            layout = Layout(folder or Path(tempfile.mkdtemp(prefix="glasswarden-")))
            replay = stack.enter_context(open_replay(load_recording(), layout, port))
            print_introduction(replay.recording)
            print_story(replay)
            replay.write_leftovers(layout)
            _ask(replay, layout)
            _print_next_steps(layout, time.monotonic() - began)
            if stay:
                _stay(replay)
    except KeyboardInterrupt:
        click.echo("\nStopped.")
    except (DemoFailed, OSError) as error:
        raise click.ClickException(str(error)) from error


def _ask(replay: Replay, layout: Layout) -> None:
    """Have each question answered as if it were typed in the folder, at the end of the story."""
    now = Moment(replay.recording.ended)
    with _working_in(layout):
        click.secho("\nAfterwards somebody asks what is left of it:", bold=True)
        for question in QUESTIONS:
            _show(question, now)
        click.secho(f"\n{MENDED}", bold=True)
        _show(LAST, now)


def _show(question: Question, now: Moment) -> None:
    """Show *question* with what of its answer is to be seen here."""
    show_command(f"$ glasswarden {question}")
    output = _run_command(question.words, now)
    if question.into:
        Path(question.into).write_text(output)
    for line in question.shown(output) if question.shown else ():
        click.echo(f"  {line}".rstrip())
    for file in question.more:
        _run_command((*question.words[:-1], file), now)
    if question.more:
        click.echo(f"  and the same as {', '.join(question.more)}")


def _run_command(words: tuple[str, ...], now: Moment) -> str:
    """Return what the command prints."""
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(StringIO()):
        main.main(list(words), "glasswarden", standalone_mode=False, obj=now)
    return printed.getvalue()


@contextmanager
def _working_in(layout: Layout) -> Iterator[None]:
    """Be where somebody would be who goes on asking."""
    before = {name: os.environ.get(name) for name in surroundings(layout)}
    os.environ.update(surroundings(layout))
    try:
        with chdir(layout.folder):
            yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            os.environ.update({name: value} if value is not None else {})


def surroundings(layout: Layout) -> dict[str, str]:
    """Return the variables that save typing."""
    return {"GLASSWARDEN_LEDGER": layout.ledger, "GLASSWARDEN_POLICY": "policy.yaml"}


def _print_next_steps(layout: Layout, seconds: float) -> None:
    click.echo(f"\nTold in {seconds:.1f} s. All of it is in {layout.folder}; ask on from there:")
    variables = " ".join(f"{name}={value}" for name, value in surroundings(layout).items())
    click.echo(f"  cd {layout.folder} && export {variables}")


def _stay(replay: Replay) -> None:
    stage = replay.stage
    click.echo("The webhook stays up; Ctrl-C ends it. Try:")
    click.echo(f"  curl --cacert {stage.certificates.authority} {stage.url}/readyz")
    # Not `signal.pause`: a Ctrl-C just before it would be waited for in vain.
    while True:
        time.sleep(0.5)
