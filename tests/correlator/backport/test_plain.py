"""Backports into plain manifests: rendered in this process, so that no program is needed."""

import json
import subprocess
from pathlib import Path

import pytest

from correlator.backport.output import render_patch
from correlator.backport.place import RenderSource, place_all
from correlator.backport.working_copy import WorkingCopy
from correlator.declared.render import Release
from tests.correlator.backport.builders import (
    GONE,
    IMAGE,
    REPLICAS,
    WEB,
    back,
    changed_lines,
    edit,
    reasons,
    written,
)

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: calm}\n"
SEVERAL = f"# all of it\n{SETTINGS}---\n# the shop\n{WEB}"
LISTED = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
    f"{'- ' if i == 0 else '  '}{line}\n" for i, line in enumerate(WEB.splitlines())
)


@pytest.mark.parametrize("text", [WEB, SEVERAL, LISTED], ids=["one", "several", "a list"])
def test_field_is_changed_in_the_file_of_its_object(tmp_path: Path, text: str) -> None:
    outcome = back(written(tmp_path, {"deploy/all.yaml": text}), "deploy", (REPLICAS, 8))
    assert reasons(outcome) == []
    [name, gone, come] = changed_lines(outcome)
    assert name == "deploy/all.yaml"
    assert gone.strip("- ") == "replicas: 3 # as many as zones"
    assert come.strip("+ ") == "replicas: 8 # as many as zones"


def test_json_file_is_edited_as_json(tmp_path: Path) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {}}
    folder = written(tmp_path, {"web.json": json.dumps(manifest, indent=2)})
    outcome = back(folder, "", ("/data/mode", "calm"))
    after = outcome.tree.read_text("web.json")
    assert json.loads(after) == manifest | {"data": {"mode": "calm"}}


def test_list_items_are_added_and_removed_by_their_keys(tmp_path: Path) -> None:
    env = "/spec/template/spec/containers[name=web]/env"
    fields = [(f"{env}[name=MODE]", GONE), (f"{env}[name=LEVEL]", {"name": "LEVEL", "value": "2"})]
    outcome = back(written(tmp_path, {"web.yaml": WEB}), "", *fields)
    assert changed_lines(outcome) == [
        "web.yaml",
        "-            - name: MODE",
        "-              value: calm",
        "+            - name: LEVEL",
        '+              value: "2"',
    ]


def test_field_already_declared_is_not_changed(tmp_path: Path) -> None:
    outcome = back(written(tmp_path, {"web.yaml": WEB}), "", (REPLICAS, 3))
    assert (outcome.tree.changed, len(outcome.already)) == ({}, 1)


def test_object_missing_from_git_is_reported(tmp_path: Path) -> None:
    folder = written(tmp_path, {"deploy/web.yaml": WEB, "deploy/.settings.yaml": SETTINGS})
    workshop = WorkingCopy(folder, "deploy", Release())
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    wanted = edit(settings, ("/data/mode", "alert"))
    outcome = place_all(wanted, workshop.tree, RenderSource("deploy"), workshop.render)
    assert reasons(outcome) == ["deploy does not declare ConfigMap settings"]


def test_file_with_a_shared_anchor_is_not_changed(tmp_path: Path) -> None:
    text = WEB.replace("replicas: 3 #", "replicas: &n 3 #").replace(
        "metadata:\n  name: web\n", "metadata:\n  name: web\n  annotations: {n: 'x'}\n"
    )
    shared = f"{text}  minReadySeconds: *n\n"
    outcome = back(written(tmp_path, {"web.yaml": shared}), "", (REPLICAS, 8))
    assert reasons(outcome) == [
        "web.yaml: an anchor, an alias or an uncommon notation is in the way"
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [(SEVERAL, f"# all of it\n{SETTINGS}"), (WEB, None)],
    ids=["one of several", "the only one"],
)
def test_document_of_a_deleted_object_is_removed(
    tmp_path: Path, text: str, left: str | None
) -> None:
    folder = written(tmp_path, {"all.yaml": text})
    assert len(reasons(back(folder, "", ("/", GONE)))) == 1
    outcome = back(folder, "", ("/", GONE), prune=True)
    assert reasons(outcome) == []
    assert outcome.tree.changed["all.yaml"][1] == left


@pytest.mark.parametrize(
    "change",
    [
        {"a b/ü.yaml": ("a: 1\r\nb: 2\r\n", "a: 1\r\nb: 3\r\n")},
        {"x.yaml": ("a: 1", "a: 2"), "new/y.yaml": (None, "b: 1\n")},
        {"x.yaml": ("a: 1\n", None)},
        {"x.yaml": ("".join(f"{n}\n" for n in range(40)), "".join(f"{n}\n" for n in range(1, 42)))},
        {'quo"te.yaml': ("a: 1\n", "a: 2\n")},
    ],
    ids=["line endings and spaces", "no newline, new file", "gone", "two hunks", "quotes"],
)
def test_patch_is_accepted_by_git_apply(
    tmp_path: Path, change: dict[str, tuple[str | None, str | None]]
) -> None:
    folder = written(tmp_path, {name: old for name, (old, _) in change.items() if old is not None})
    subprocess.run(["git", "init", "-q", folder], check=True)
    apply = ["git", "-C", str(folder), "apply", "--whitespace=nowarn", "-"]
    subprocess.run(apply, input=render_patch(change).encode(), check=True)
    for name, (_, new) in change.items():
        file = folder / name
        assert (file.read_bytes().decode() if file.exists() else None) == new


def test_two_fields_of_one_object_are_in_one_patch(tmp_path: Path) -> None:
    fields = [(REPLICAS, 8), (IMAGE, "registry.example/web:2")]
    outcome = back(written(tmp_path, {"web.yaml": WEB}), "", *fields)
    assert [each.where for each in outcome.placed] == ["web.yaml", "web.yaml"]
    assert len(changed_lines(outcome)) == 5
