"""`glasswarden policy`: checks a policy, explains its verdicts, tests it, and simulates it.

Explanations and counts are printed as text for people, or as JSON for programs; results of tests
also as JUnit XML. Nothing here asks an API server.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import click
import msgspec
import yaml

from glasswarden.audit.files import Flaw, read_events
from glasswarden.cli.options import FILE, read_bytes, read_keys, read_object, read_policy
from glasswarden.keys.ring import Ring
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.policy.case import Case
from glasswarden.policy.decide import Explanation, explain
from glasswarden.policy.decision import Decision, Verdict
from glasswarden.policy.document import Benign
from glasswarden.policy.expectations import ExpectationFile, ExpectedReview, find_mismatches
from glasswarden.policy.load import document_schema
from glasswarden.policy.messages import render_denial, render_warnings
from glasswarden.policy.policy import DEFAULT, Policy, enforce_everywhere
from glasswarden.policy.write import Write
from webhook.registration.configurations import Endpoint, PolicyTooLarge, configurations
from webhook.review import ReviewMalformed, parse_review
from webhook.simulation import Judged, Unjudged, simulate
from webhook.write_builder import NO_KEYS, write_of


def explain_review(
    body: bytes, policy: Policy, parent: dict[str, Any] | None, ring: Ring = NO_KEYS
) -> Explanation:
    """Return the explanation of the verdict on the review in *body*."""
    try:
        request = parse_review(body)
        if request.sub_resource == "scale" and parent is None:
            raise click.ClickException(
                "a Scale does not name the object that it scales; give that object with --parent"
            )
        write = write_of(request, policy, parent, ring=ring)
    except ReviewMalformed as error:
        raise click.ClickException(str(error)) from error
    return explain(Case(write, policy, datetime.now(UTC)))


def explanation_as_json(explanation: Explanation) -> dict[str, Any]:
    """Return *explanation* with the keys that scripts rely on."""
    decision, case = explanation.decision, explanation.case
    write, policy = case.write, case.policy
    return {
        "verdict": decision.verdict,
        "mode": explanation.mode,
        "clause": decision.clause,
        "owner": _owner(write),
        "changes": [_change(write, change, policy) for change in write.changes],
        "message": render_denial(decision, case),
        "warnings": list(render_warnings(decision, case)),
        "grant": _grant(decision),
        "clauses": [
            {
                "clause": step.clause,
                "asked": step.asked,
                "applies": step.applies,
                "why": step.why,
            }
            for step in explanation.steps
        ],
    }


def explanation_as_text(explanation: Explanation) -> str:
    """Return *explanation* for a terminal."""
    decision, case = explanation.decision, explanation.case
    write, policy = case.write, case.policy
    lines = [
        f"object   {write.target}",
        f"writer   {write.actor.name}  manager {write.manager or '(unknown)'}",
        f"owner    {_owner_in_words(write)}",
        *_changes_in_words(write, policy),
        "",
        *(
            f"{'→' if step.applies else ' '} {step.clause:<11} {step.why}"
            for step in explanation.steps
        ),
        "",
        f"verdict  {decision.verdict} by {decision.clause} (mode here: {explanation.mode})",
    ]
    answer = render_denial(decision, case).splitlines() or render_warnings(decision, case)
    return "\n".join([*lines, *(f"         {line}" for line in answer)])


def _grant(decision: Decision) -> dict[str, Any] | None:
    """Return what the write did with a grant, if anything."""
    if decision.grant is None:
        return None
    found: dict[str, Any] = msgspec.to_builtins(decision.grant)
    return found


def _owner(write: Write) -> dict[str, str | None] | None:
    if write.owner is None:
        return None
    return {
        "engine": write.owner.engine,
        "app": write.owner.app,
        "namespace": write.owner.namespace,
    }


def _owner_in_words(write: Write) -> str:
    owner = write.owner
    if owner is None:
        return "nobody"
    place = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    steers = " (the engine's own object)" if write.steers else ""
    return f"{owner.engine} {owner.kind} {place}{steers}".replace("  ", " ")


def _changes_in_words(write: Write, policy: Policy) -> list[str]:
    if not write.changes:
        return [f"changes  {write.operation.lower()}"]
    texts = [_change_in_words(write, change, policy) for change in write.changes]
    return [f"changes  {texts[0]}", *(f"         {text}" for text in texts[1:])]


def _change_in_words(write: Write, change: Change, policy: Policy) -> str:
    if policy.hides(write.target, change):
        return f"{change.path}: (hidden)"
    old, new = (
        "(none)" if value is ABSENT else json.dumps(value, ensure_ascii=False)
        for value in (change.old, change.new)
    )
    return f"{change.path}: {old} → {new}"


def _change(write: Write, change: Change, policy: Policy) -> dict[str, Any]:
    """Return *change* as JSON, in which a value that was not there is null."""
    hidden = policy.hides(write.target, change)
    old, new = (
        None if value is ABSENT else "(hidden)" if hidden else value
        for value in (change.old, change.new)
    )
    return {"path": str(change.path), "old": old, "new": new, "manager": change.manager}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one case ended."""

    file: Path
    name: str
    seconds: float
    failures: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether the policy did what was expected."""
        return not self.failures and not self.error


def run_all(folder: Path) -> Iterator[Outcome]:
    """Run the cases of every YAML file below *folder* that has some."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".yaml", ".yml"})
    for file in files:
        try:
            content = yaml.safe_load(read_bytes(file))
        except yaml.YAMLError as error:
            yield Outcome(file, file.name, 0.0, error=f"not YAML: {error}")
            continue
        if isinstance(content, dict) and "cases" in content:
            yield from _run_file(file, content)


def _run_file(file: Path, content: object) -> Iterator[Outcome]:
    try:
        expected = msgspec.convert(content, ExpectationFile)
        policy = read_policy(file.parent / expected.policy) if expected.policy else DEFAULT
    except (msgspec.ValidationError, click.ClickException) as error:
        yield Outcome(file, file.name, 0.0, error=str(error))
        return
    for each in expected.cases:
        yield _run_case(file, each, policy)


def _run_case(file: Path, expected: ExpectedReview, policy: Policy) -> Outcome:
    start = time.perf_counter()
    try:
        parent = read_object(file.parent / expected.parent) if expected.parent else None
        explanation = explain_review(read_bytes(file.parent / expected.review), policy, parent)
    except click.ClickException as error:
        return Outcome(file, expected.name, time.perf_counter() - start, error=error.message)
    failures = find_mismatches(expected.expect, explanation)
    return Outcome(file, expected.name, time.perf_counter() - start, failures)


def as_junit(outcomes: list[Outcome]) -> bytes:
    """Return *outcomes* in the form that CI systems read."""
    suite = ET.Element(
        "testsuite",
        name="glasswarden policy",
        tests=str(len(outcomes)),
        failures=str(sum(bool(each.failures) for each in outcomes)),
        errors=str(sum(bool(each.error) for each in outcomes)),
    )
    for each in outcomes:
        case = ET.SubElement(
            suite, "testcase", classname=str(each.file), name=each.name, time=f"{each.seconds:.6f}"
        )
        for failure in each.failures:
            ET.SubElement(case, "failure", message=failure)
        if each.error:
            ET.SubElement(case, "error", message=each.error)
    text: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text


MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """Writes that are alike: the same person, doing the same to objects of the same application."""

    actor: str
    verb: str
    manager: str
    kind: str
    namespace: str
    engine: str
    application: str
    clause: str


@dataclass(slots=True)
class Tally:
    """The writes of an audit log, counted."""

    denied: Counter[Row] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)

    def take(self, outcome: Judged | Unjudged) -> None:
        """Count *outcome*."""
        if isinstance(outcome, Unjudged):
            self.unjudged[outcome.reason] += 1
            return
        self.clauses[outcome.decision.clause] += 1
        if outcome.decision.verdict is Verdict.DENY:
            self.denied[_row(outcome)] += 1


def tally(files: tuple[Path, ...], policy: Policy, since: datetime | None = None) -> Tally:
    """Return what *policy* would have made of the audit logs in *files*, shown while it works.

    What happened before *since* is read too, for the earlier state of objects; it is not counted.
    """
    counted = Tally()
    size = sum(file.stat().st_size for file in files)
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        for outcome in simulate(read_events(files, _end, bar.update), policy):
            if since is None or outcome.event.request_received_timestamp >= since:
                counted.take(outcome)
    return counted


def _end(flaw: Flaw) -> None:
    """Judge nothing by a log that has holes: what a policy would do is asked before enforcing."""
    raise click.ClickException(str(flaw))


def _row(outcome: Judged) -> Row:
    write = outcome.case.write
    return Row(
        actor=write.actor.name,
        verb=outcome.event.verb,
        manager=write.manager,
        kind=write.target.kind,
        namespace=write.target.namespace,
        engine=write.owner.engine if write.owner else "",
        application=write.owner.app if write.owner else "",
        clause=outcome.decision.clause,
    )


def tally_as_json(counted: Tally) -> dict[str, Any]:
    """Return *counted* for programs."""
    return {
        "denied": [
            {"count": count, **{name: getattr(row, name) for name in Row.__slots__}}
            for row, count in counted.denied.most_common()
        ],
        "clauses": dict(counted.clauses),
        "unjudged": dict(counted.unjudged),
    }


def tally_as_text(counted: Tally) -> str:
    """Return *counted* for a terminal."""
    judged, denied = sum(counted.clauses.values()), sum(counted.denied.values())
    lines = [f"{judged} writes judged, {denied} would have been denied"]
    for row, count in counted.denied.most_common(MOST_ROWS):
        application = f"{row.engine} {row.application}".strip()
        lines.append(
            f"{count:>7}  {row.actor:<24}  {row.verb:<6}  {row.manager:<26}  "
            f"{row.kind} in {row.namespace or '(cluster)'} of {application}"
        )
    if len(counted.denied) > MOST_ROWS:
        lines.append(f"         … and {len(counted.denied) - MOST_ROWS} more kinds of write")
    for reason, count in counted.unjudged.most_common():
        lines.append(f"{count:>7}  not judged: {reason}")
    return "\n".join(lines)


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
    """Show what the verdict on the AdmissionReview in REVIEW is, and why.

    REVIEW is a file with JSON, or - for the standard input.
    """
    policy = read_policy(policy_file) if policy_file else DEFAULT
    owner = read_object(parent) if parent else None
    explanation = explain_review(read_bytes(review), policy, owner, read_keys(keys))
    if form == "json":
        click.echo(json.dumps(explanation_as_json(explanation), indent=2))
    else:
        click.echo(explanation_as_text(explanation))


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
    """Show what the policy would have denied among the writes in the API server's audit LOGS.

    Give rotated logs in the order they were written; files that end in .gz are unpacked. Writes are
    judged as if every mode were `enforce`.
    """
    policy = read_policy(policy_file) if policy_file else DEFAULT
    counted = tally(logs, enforce_everywhere(policy))
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
        f"the rule {each.name!r} lets everybody use break-glass"
        for each in policy.document.break_glass.rules
        if "*" in each.users or not {"*", "system:authenticated"}.isdisjoint(each.groups)
    )
    undo = (
        "rollout-undo lets through every change of a workload's template by whoever calls his "
        "program kubectl: nothing in the write distinguishes an undo from it"
        for _ in policy.document.benign
        if _ is Benign.ROLLOUT_UNDO
    )
    return [*delegations, *rules, *undo]
