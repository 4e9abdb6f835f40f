"""The file that names the repositories."""

from pathlib import Path

import pytest

from correlator.service.model import MOST, SourcesUnreadable, parse_sources, read_sources

HEAD = "apiVersion: glasswarden.io/v1\nkind: Sources\n"


def test_source_with_all_keys_is_parsed() -> None:
    [source] = parse_sources(
        HEAD
        + """sources:
  - name: shop
    git: https://git.example/shop@main
    path: deploy
    app: shop
    namespace: prod
    values: [prod.yaml]
    team: checkout
"""
    )
    assert (source.name, source.git) == ("shop", "https://git.example/shop@main")
    assert (source.path, source.app, source.namespace) == ("deploy", "shop", "prod")
    assert (source.values, source.team) == (("prod.yaml",), "checkout")


def test_file_without_sources_is_valid() -> None:
    assert parse_sources(HEAD) == ()


MISTAKES = [
    pytest.param("kind: Sources\n", "apiVersion", id="no version"),
    pytest.param(HEAD.replace("Sources", "Policy"), "kind", id="another kind"),
    pytest.param(HEAD + "sources: [{git: x}]\n", "name", id="no name"),
    pytest.param(HEAD + "sources: [{name: A B, git: x}]\n", "name", id="no label's value"),
    pytest.param(HEAD + "sources: [{name: a, git: ''}]\n", "git", id="no address"),
    pytest.param(HEAD + "sources: [{name: a, git: x, pth: y}]\n", "pth", id="misspelt"),
    pytest.param(
        HEAD + "sources: [{name: a, git: x}, {name: a, git: y}]\n", "called a", id="one name twice"
    ),
    pytest.param(
        HEAD + "sources:\n" + "".join(f"  - {{name: s-{n}, git: x}}\n" for n in range(MOST + 1)),
        "length",
        id="too many",
    ),
    pytest.param("\t:", "", id="no YAML"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_mistake_is_reported_with_line_and_column(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(text)
    with pytest.raises(SourcesUnreadable, match=rf"sources\.yaml:\d+:\d+: .*{said}"):
        read_sources(file)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourcesUnreadable, match="No such file"):
        read_sources(tmp_path / "sources.yaml")
