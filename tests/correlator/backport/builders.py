"""A repository, somebody's edits to what it declares, and the way back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from correlator.backport.edit import set_value
from correlator.backport.model import Wanted
from correlator.backport.output import render_patch
from correlator.backport.place import Outcome, RenderSource, place_all
from correlator.backport.working_copy import WorkingCopy
from correlator.declared.render import Release
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import parse_path

IMAGE = "/spec/template/spec/containers[name=web]/image"
REPLICAS = "/spec/replicas"

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3 # as many as zones
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        # the shop itself
        - name: web
          image: "registry.example/web:1"
          env:
            - name: MODE
              value: calm
"""


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


def edit(live: Object, *fields: tuple[str, Value]) -> list[Wanted]:
    """Return what somebody set by hand in *live*."""
    ref = ref_of(live)
    for path, value in fields:
        if path != "/":
            live = set_value(live, parse_path(path).steps, value)
    named = Ref(ref.group, ref.version, ref.kind, ref.namespace, ref.name)
    return [
        Wanted(named, parse_path(path), value, live, ("r1",), "responder", "INC-42")
        for path, value in fields
    ]


def back(
    folder: Path,
    path: str,
    *fields: tuple[str, Value],
    name: str = "web",
    values: tuple[str, ...] = (),
    **differing: Any,  # noqa: ANN401 - of the place
) -> Outcome:
    """Return what becomes of *fields*, set by hand in the object *name* of *path*."""
    release = Release("web", "shop", tuple(folder / each for each in values))
    workshop = WorkingCopy(folder, path, release)
    objects = workshop.render(workshop.tree)
    [live] = [each for each in objects if ref_of(each).name.startswith(name)]
    wanted = edit(live, *fields)
    return place_all(
        wanted, workshop.tree, RenderSource(path, values, **differing), workshop.render
    )


def changed_lines(outcome: Outcome) -> list[str]:
    """Return the lines that the patch removes and adds, each file's below its name."""
    lines = []
    for path, texts in outcome.tree.changed.items():
        lines.append(path)
        patch = render_patch({path: texts}).splitlines()
        body = patch[next(i for i, line in enumerate(patch) if line.startswith("@@")) :]
        lines += [line for line in body if line[:1] in "+-"]
    return lines


def reasons(outcome: Outcome) -> list[str]:
    return [each.why for each in outcome.unplaced]


GONE = ABSENT
