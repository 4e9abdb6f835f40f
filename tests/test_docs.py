"""What the documentation says is true."""

import re
from pathlib import Path

import click
import pytest

from certs import metrics as certs_metrics
from correlator.classify.rules import RULES
from correlator.service import metrics as correlator_metrics
from glasswarden.cli.main import main
from glasswarden.cli.reference import reference
from glasswarden.policy.breakglass import names
from glasswarden.policy.decision import Clause
from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import policy_of
from webhook import metrics
from webhook.registration.configurations import Endpoint, validating_configuration

HEAD = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("manifests/*.md")])


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code_of(page: Path) -> str:
    """Return what stands in code blocks and between backticks."""
    found = re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`", page.read_text(), re.DOTALL)
    return "\n".join("".join(pair) for pair in found)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    local = [link for link in links if not link.startswith("https://")]
    assert [link for link in local if not (page.parent / link).exists()] == []


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of the headings in *page*, by the rules of GitHub."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_heading_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", page.read_text())
    targets = [(page.parent / link if link else page, anchor) for link, anchor in links]
    assert [anchor for target, anchor in targets if anchor not in anchors_of(target)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_documented_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z0-9]+)", code_of(page))) - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_documented_command_exists(page: Path) -> None:
    for line in re.findall(r"\bglasswarden ([a-z][^\n|]*)", code_of(page)):
        words = line.split()
        command: click.Command = main
        while isinstance(command, click.Group):
            if command.invoke_without_command and not (words and words[0].isalpha()):
                break  # a group that does something by itself
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        known = {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if word.startswith("--")} <= known, line


def test_every_path_in_the_contributors_guide_exists() -> None:
    packages = "glasswarden|webhook|correlator|certs|tests|docs|manifests|bench|requirements"
    named = re.findall(rf"(?<![\w./])(?:{packages})/[\w./-]+", code_of(ROOT / "CONTRIBUTING.md"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_full_example_of_the_policy_page_is_valid() -> None:
    [example] = re.findall(
        r"```yaml\n(apiVersion.*?)```", (DOCS / "policy.md").read_text(), re.DOTALL
    )
    assert policy_of(parse_document(example)).cluster == "prod-eu"


def test_every_policy_clause_is_documented() -> None:
    explained = re.findall(r"^\| `([a-z]+)` \|", (DOCS / "policy.md").read_text(), re.MULTILINE)
    assert explained == list(Clause)


def test_every_class_rule_of_drift_is_documented() -> None:
    explained = re.findall(r"^\| `([a-z]+)` \|", (DOCS / "drift.md").read_text(), re.MULTILINE)
    assert explained == [rule.name for rule in RULES]


def test_every_option_of_drift_is_documented() -> None:
    explained = set(re.findall(r"`(--[a-z-]+)", (DOCS / "drift.md").read_text()))
    command = main.get_command(click.Context(main), "drift")
    assert command is not None
    known = {option for each in command.params for option in each.opts if option[:2] == "--"}
    assert known - explained == set()


def test_no_metric_is_documented_twice() -> None:
    named = re.findall(
        r"^\| [`*]*(glasswarden_\w+)", (DOCS / "metrics.md").read_text(), re.MULTILINE
    )
    assert sorted(named) == sorted(set(named))


def test_no_page_and_no_option_is_listed_twice() -> None:
    for page, row in (("README.md", r"^\| \[([^\]]+)\]"), ("correlator.md", r"^\| `(--[a-z-]+)")):
        listed = re.findall(row, (DOCS / page).read_text(), re.MULTILINE)
        assert sorted(listed) == sorted(set(listed)), page


def test_every_metric_of_the_webhook_is_documented() -> None:
    documented = set(re.findall(r"^\| `(\w+)`", (DOCS / "metrics.md").read_text(), re.MULTILINE))
    families = {family.name for family in metrics._REGISTRY.collect()}
    assert {name.removesuffix("_total") for name in documented} == families


def test_every_metric_of_the_certificate_controller_is_documented() -> None:
    documented = set(re.findall(r"^\| (\w+) \|", (DOCS / "metrics.md").read_text(), re.MULTILINE))
    families = {family.name for family in certs_metrics.REGISTRY.collect()}
    assert {name.removesuffix("_total") for name in documented} - {"metric"} == families


def test_reference_of_commands_is_up_to_date() -> None:
    """`make reference` renews it."""
    assert (DOCS / "commands.md").read_text() == reference()


def test_every_glasswarden_annotation_is_documented() -> None:
    documented = set(
        re.findall(r"^\| `([^`]+/[^`]+)` \|", (DOCS / "annotations.md").read_text(), re.MULTILINE)
    )
    policy = policy_of(parse_document(f"{HEAD}breakGlass: {{rules: [{{name: a, users: [b]}}]}}"))
    registered = validating_configuration(policy, Endpoint("", b"", ""))["metadata"]["annotations"]
    assert documented == {*names.ANNOTATIONS, names.ACTIVE, *registered}


def test_every_metric_of_the_correlator_is_documented() -> None:
    text = (DOCS / "metrics.md").read_text()
    documented = set(re.findall(r"^\| \*\*(\w+)\*\* \|", text, re.MULTILINE))
    families = {family.name for family in correlator_metrics.REGISTRY.collect()}
    assert {name.removesuffix("_total") for name in documented} == families


def test_every_option_of_the_correlator_is_documented() -> None:
    explained = set(re.findall(r"`(--[a-z-]+)", (DOCS / "correlator.md").read_text()))
    command = main.get_command(click.Context(main), "correlator")
    assert command is not None
    known = {option for each in command.params for option in each.opts if option[:2] == "--"}
    assert known - explained == set()
