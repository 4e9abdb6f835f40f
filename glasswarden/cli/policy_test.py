"""Running the tests of a policy, and reporting on them as test runners do."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import msgspec
import yaml

from glasswarden.cli.explanation import explained
from glasswarden.cli.inputs import read_bytes, read_object, read_policy
from glasswarden.policy.cases import Case, Cases, disappointments
from glasswarden.policy.policy import DEFAULT, Policy


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
        cases = msgspec.convert(content, Cases)
        policy = read_policy(file.parent / cases.policy) if cases.policy else DEFAULT
    except (msgspec.ValidationError, click.ClickException) as error:
        yield Outcome(file, file.name, 0.0, error=str(error))
        return
    for case in cases.cases:
        yield _run_case(file, case, policy)


def _run_case(file: Path, case: Case, policy: Policy) -> Outcome:
    start = time.perf_counter()
    try:
        parent = read_object(file.parent / case.parent) if case.parent else None
        explanation = explained(read_bytes(file.parent / case.review), policy, parent)
    except click.ClickException as error:
        return Outcome(file, case.name, time.perf_counter() - start, error=error.message)
    failures = disappointments(case.expect, explanation)
    return Outcome(file, case.name, time.perf_counter() - start, failures)


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
