"""The dashboard can be read by Grafana and Prometheus, and asks for what there is."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.manifests.files import known_metrics, read_panels, run_promtool

WIDTH = 24
"""Of Grafana's grid."""


def queries() -> list[str]:
    return [target["expr"] for panel in read_panels() for target in panel["targets"]]


@pytest.mark.parametrize("panel", read_panels(), ids=lambda panel: str(panel["title"]))
def test_every_panel_has_a_description(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["targets"]
    assert all(target["legendFormat"] for target in panel["targets"])
    assert panel["datasource"] == {"type": "prometheus", "uid": "${source}"}


def test_no_two_panels_have_the_same_number() -> None:
    numbers = [panel["id"] for panel in read_panels()]
    assert len(numbers) == len({*numbers})


@pytest.mark.parametrize("query", queries())
def test_panels_query_only_existing_metrics(query: str) -> None:
    asked = set(re.findall(r"\b(?:glasswarden|apiserver)_\w+", query))
    assert asked
    assert asked <= known_metrics()


def test_prometheus_parses_every_query(promtool: Path, tmp_path: Path) -> None:
    texts = [query.replace("$__rate_interval", "5m") for query in queries()]
    rules = [{"record": f"dashboard:{number}", "expr": text} for number, text in enumerate(texts)]
    groups = {"groups": [{"name": "dashboard", "rules": rules}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(groups))
    run_promtool(promtool, tmp_path, "check", "rules", "--lint=none", "rules.yaml")


def test_panels_do_not_overlap() -> None:
    cells = [
        (x, y)
        for panel in read_panels()
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < WIDTH
