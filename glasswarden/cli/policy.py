"""`glasswarden policy`: check a policy, ask it, test it, and see what it would have done."""

import json
from pathlib import Path

import click

from glasswarden.cli.explanation import explained, explanation_as_json, explanation_as_text
from glasswarden.cli.inputs import FILE, read_bytes, read_keys, read_object, read_policy
from glasswarden.cli.policy_test import as_junit, run_all
from glasswarden.cli.simulation import tally, tally_as_json, tally_as_text
from glasswarden.policy.document import Benign
from glasswarden.policy.file import document_schema
from glasswarden.policy.policy import DEFAULT, Policy, enforced
from webhook.registration import Endpoint, PolicyTooLarge, configurations

policy_option = click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=FILE,
    help="The policy file; the built-in rules without it.",
)


@click.group("policy")
def command() -> None:
    """Check a policy, ask it, test it, and see what it would have done."""


@command.command("check")
@click.argument("file", type=FILE)
def check(file: Path) -> None:
    """Check that FILE is a policy which the webhook and the API server will take.

    FILE is YAML, or - for the standard input.
    """
    policy = read_policy(file)
    try:
        configurations(policy, Endpoint("https://webhook.invalid", b"", ""))
    except PolicyTooLarge as error:
        raise click.ClickException(f"{file}: {error}") from error
    click.echo(f"{file}: a valid policy for cluster {policy.cluster!r} ({policy.digest[:12]})")
    for caution in _cautions(policy):
        click.echo(f"note: {caution}", err=True)


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of a policy file, for editors."""
    click.echo(json.dumps(document_schema(), indent=2))


@command.command("explain")
@click.argument("review", type=FILE)
@policy_option
@click.option(
    "--parent",
    type=FILE,
    help="For a review of `scale`: the object that is scaled, as JSON.",
)
@click.option(
    "--keys",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the keys that grants are signed with; without it, no grant counts.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def explain_command(
    review: Path, policy_file: Path | None, parent: Path | None, keys: Path | None, form: str
) -> None:
    """Say what the verdict on the AdmissionReview in REVIEW is, and why.

    REVIEW is a file with JSON, or - for the standard input.
    """
    policy = read_policy(policy_file) if policy_file else DEFAULT
    owner = read_object(parent) if parent else None
    explanation = explained(read_bytes(review), policy, owner, read_keys(keys))
    if form == "json":
        click.echo(json.dumps(explanation_as_json(explanation, policy), indent=2))
    else:
        click.echo(explanation_as_text(explanation, policy))


@command.command("test")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--junit", type=FILE, help="Also write the results here, as JUnit XML.")
@click.pass_context
def test(ctx: click.Context, folder: Path, junit: Path | None) -> None:
    """Run the cases in the YAML files below FOLDER.

    Exits with 1 if the policy does not do what they expect, with 2 if a case cannot be run.
    """
    outcomes = []
    for outcome in run_all(folder):
        outcomes.append(outcome)
        click.echo(f"{'ok    ' if outcome.passed else 'FAILED'}  {outcome.file}: {outcome.name}")
        for line in (*outcome.failures, *filter(None, [outcome.error])):
            click.echo(f"        {line}")
    if junit:
        junit.write_bytes(as_junit(outcomes))
    passed = sum(outcome.passed for outcome in outcomes)
    click.echo(f"{passed} passed, {len(outcomes) - passed} failed")
    if not outcomes:
        raise click.UsageError(f"{folder} holds no file with cases")
    ctx.exit(2 if any(each.error for each in outcomes) else int(passed < len(outcomes)))


@command.command("simulate")
@click.argument(
    "logs", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@policy_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def simulate_command(logs: tuple[Path, ...], policy_file: Path | None, form: str) -> None:
    """Say what the policy would have denied among the writes in the API server's audit LOGS.

    Give rotated logs in the order they were written; files that end in .gz are unpacked. Writes are
    judged as if every mode were `enforce`.
    """
    policy = read_policy(policy_file) if policy_file else DEFAULT
    counted = tally(logs, enforced(policy))
    if form == "json":
        click.echo(json.dumps(tally_as_json(counted), indent=2))
    else:
        click.echo(tally_as_text(counted))


def _cautions(policy: Policy) -> list[str]:
    """Return what is allowed in a policy, but may not be meant."""
    delegations = (
        f"the delegation {each.name!r} trusts a field manager, a name that anybody can choose"
        for each in policy.document.delegations
        if each.managers and not each.actors
    )
    rules = (
        f"the rule {each.name!r} lets everybody break the glass"
        for each in policy.document.break_glass.rules
        if "*" in each.users or not {"*", "system:authenticated"}.isdisjoint(each.groups)
    )
    undo = (
        "rollout-undo lets through every change of a workload's template by whoever calls his "
        "program kubectl: nothing in the write tells an undo from it"
        for _ in policy.document.benign
        if _ is Benign.ROLLOUT_UNDO
    )
    return [*delegations, *rules, *undo]
