"""`glasswarden history`: the writes to an object's fields, one after another."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from correlator.audit.sighting import Sighting
from correlator.history.chain import Step, chain_of
from correlator.link.knowledge import knowledge_of
from glasswarden.cli.audit import audit_log_from, audit_log_option
from glasswarden.cli.breakglass.options import on_history
from glasswarden.cli.history_shown import document_of, show_table
from glasswarden.cli.inputs import read_policy
from glasswarden.cli.kinds import KindUnknown, kind_of
from glasswarden.cli.ledger.clusters import cluster_of
from glasswarden.cli.ledger.masks import masks_at
from glasswarden.cli.ledger.options import keys_option, ledger_option, opened
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.path_syntax import PathError
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.attempts import asked
from glasswarden.ledger.question import Question, is_within
from glasswarden.policy.policy import DEFAULT


@click.command("history")
@on_history
@ledger_option
@keys_option
@audit_log_option
@click.option("--field", metavar="PATH", help="Only this field, what is in it, or contains it.")
@click.option("--cluster", metavar="NAME", help="Its cluster, where the ledger has several.")
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The policy, for who the emergency group is and what is guarded; with --audit-log.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
def command(
    target: str,
    namespace: str | None,
    live: Object | None,
    address: str,
    keys: Path | None,
    audit_logs: tuple[Path, ...],
    field: str | None,
    cluster: str | None,
    policy_file: Path | None,
    form: str,
) -> None:
    """Show the writes to an object, field by field: who, from what to what, and was it stored.

    \b
      glasswarden history deploy/web -n shop --field /spec/replicas

    A write is *attempted* until a later record, the live object or the audit log confirms it.
    What nobody recorded shows in what came after; a name in brackets is a field manager's, which
    anybody can choose. With --audit-log, what got past the webhook is told too.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    wanted = _path(field) if field else ""
    policy = read_policy(policy_file) if policy_file else DEFAULT
    with opened(address) as ledger, audit_log_from(audit_logs, policy) as audit:
        name = cluster_of(ledger, cluster)
        question = replace(_question(target, namespace, live), cluster=name)
        attempts = sorted(asked(ledger, question), key=lambda each: each.id)
        known = knowledge_of(ledger, name)
        known = known.and_also(audit.knowledge) if audit else known
        past = filter(partial(_names, question), audit.watch.sightings if audit else ())
        steps = chain_of(attempts, live, known, masks_at(keys, address), past)
        for each in audit.incomplete if audit else ():
            click.echo(f"Not looked at: {each.what}: {each.why}", err=True)
    shown = [step for step in steps if _is_about(step, wanted)]
    if form == "json":
        click.echo(json.dumps([document_of(step) for step in shown], indent=2))
    else:
        show_table(shown)


def _path(text: str) -> str:
    try:
        return str(parse_path(text))
    except PathError as error:
        raise click.BadParameter(str(error), param_hint="--field") from error


def _is_about(step: Step, wanted: str) -> bool:
    return not wanted or is_within(step.path, wanted) or is_within(wanted, step.path)


def _names(question: Question, sighting: Sighting) -> bool:
    """Tell whether *sighting* is of the object that *question* asks for."""
    ref = sighting.ref
    return (ref.kind, ref.name) == (question.kind, question.name) and all(
        asked in (None, found)
        for asked, found in ((question.group, ref.group), (question.namespace, ref.namespace))
    )


def _question(target: str, namespace: str | None, live: Object | None) -> Question:
    """Return what asks for the object's records; of one that is gone only its name is known."""
    if live is not None:
        ref = ref_of(live)
        return Question(group=ref.group, kind=ref.kind, namespace=ref.namespace, name=ref.name)
    word, _, name = target.partition("/")
    try:
        return Question(kind=kind_of(word), namespace=namespace, name=name)
    except KindUnknown as error:
        raise click.UsageError(str(error)) from error
