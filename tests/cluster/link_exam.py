"""The link's examination: a seeded history of many hands, and who did what, kept by the script.

What was done is not taken from the ledger: after every write the object is read, and whoever made
the write is noted for each field that it changed. Nothing of the product decides what is right.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from glasswarden.kube.objects import Object
from tests.cluster.api import Api, WriteFailed
from tests.cluster.controlplane import ControlPlane
from tests.cluster.drift_exam import marked
from tests.cluster.kubectl import Caller

OWNER: Final = "kustomize-controller"
STRATEGIC: Final = "application/strategic-merge-patch+json"
BETWEEN_ROUNDS: Final = 4.0
"""Seconds between two writes to an object: managedFields count whole ones."""

OPEN, CLOSED = "links-open", "links-closed"
PEOPLE: Final = ("responder", "developer", "lead")
VERBS: Final = ("kubectl-edit", "kubectl-patch", "kubectl-set")
PREFIX: Final = "breakglass.glasswarden.io"
GLASS: Final = {f"{PREFIX}/reason": "checkout is down for everybody", f"{PREFIX}/ttl": "1h"}
AUTOSCALER: Final = "horizontal-pod-autoscaler"

REPLICAS = "/spec/replicas"
IMAGE = "/spec/template/spec/containers[name=web]/image"
DEBUG = "/spec/template/spec/containers[name=web]/env[name=DEBUG]"
MODE = "/spec/template/spec/containers[name=web]/env[name=MODE]"
NOTE = "/metadata/annotations/note"
REMOVABLE: Final = (MODE, "/data/b")
"""What Git declares and people take away."""

Fields = dict[str, Any]
Place = tuple[str, str, str]
"""Kind, namespace and name."""


class Sort(StrEnum):
    """What the script knows about the last change of a field."""

    PLAIN = "recorded, and nobody unrecorded wrote since"
    GONE = "recorded, a removal that nothing on the object can tell"
    DISTURBED = "recorded, and somebody unrecorded wrote since"
    EMERGENCY = "by the emergency group"
    CONTROLLER = "by the reconciler"
    AUTOSCALER = "by the autoscaler"
    DENIED = "denied"


@dataclass(slots=True)
class Deed:
    """Who last changed a field."""

    actor: str
    sort: Sort


def a_deployment(namespace: str, name: str) -> Object:
    labels = {"app": name}
    # One that nobody touches, so that the list stays when the other is taken away.
    env = [{"name": "HOME", "value": "/"}, {"name": "MODE", "value": "1"}]
    container = {"name": "web", "image": "registry.example/web:1", "env": env}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {}},
        "spec": {
            "replicas": 1,
            "paused": True,  # or every change would be rolled out
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def a_config(namespace: str, name: str) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": {}}
    data = {"a": "1", "b": "1"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def fields_of(obj: Object | None) -> Fields:
    """Return what the script looks at; a field that is not there is left out."""
    if obj is None:
        return {}
    notes = obj["metadata"].get("annotations", {})
    found: Fields = {NOTE: notes["note"]} if "note" in notes else {}
    if obj["kind"] == "ConfigMap":
        return found | {f"/data/{key}": value for key, value in obj.get("data", {}).items()}
    container = obj["spec"]["template"]["spec"]["containers"][0]
    found |= {REPLICAS: obj["spec"]["replicas"], IMAGE: container["image"]}
    variables = {each["name"]: each["value"] for each in container.get("env", ())}
    paths = {"DEBUG": DEBUG, "MODE": MODE}
    return found | {paths[name]: value for name, value in variables.items() if name in paths}


def patch_of(obj: Object, path: str, value: Any) -> Object:  # noqa: ANN401 - any JSON value
    """Return the strategic merge patch that sets *path*; none takes it away."""
    if path == NOTE:
        return {"metadata": {"annotations": {"note": value}}}
    if obj["kind"] == "ConfigMap":
        return {"data": {path.removeprefix("/data/"): value}}
    if path == REPLICAS:
        return {"spec": {"replicas": value}}
    container: Object = {"name": "web"}
    if path == IMAGE:
        container["image"] = value
    else:
        given = {"value": value} if value is not None else {"$patch": "delete"}
        container["env"] = [{"name": "MODE" if path == MODE else "DEBUG", **given}]
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


@dataclass(slots=True)
class Stage:
    """One cluster, its people, and the truth about its fields."""

    name: str
    cluster: ControlPlane
    flux: Api
    people: dict[str, Api]
    autoscaler: Caller
    chance: random.Random
    objects: list[Object] = field(default_factory=list)
    truth: dict[Place, dict[str, Deed]] = field(default_factory=dict)
    seen: dict[Place, Fields] = field(default_factory=dict)
    past: dict[tuple[Place, str], list[Any]] = field(default_factory=dict)
    """The values that people gave a field: what somebody may restore."""

    writes: Counter[str] = field(default_factory=Counter)

    def deploy(self, objects: Iterable[Object]) -> None:
        """Apply what Git declares, as Flux does."""
        for obj in objects:
            self.objects.append(obj)
            self.flux.apply(marked(obj), OWNER)
            self.seen[place_of(obj)] = fields_of(self.live(obj))

    def live(self, obj: Object) -> Object | None:
        return self.people["admin"].get(obj)

    def play(self, rounds: int) -> None:
        """Let something happen to every object, round after round."""
        for _ in range(rounds):
            start = time.monotonic()
            for obj in self.objects:
                self.act(self.chance.choices(*ACTS)[0], obj)
            time.sleep(max(0.0, BETWEEN_ROUNDS - (time.monotonic() - start)))

    def act(self, act: "Act", obj: Object) -> None:
        """Let *act* happen to *obj*, and note who changed what."""
        actor, sort = act(self, obj)
        self.writes[act.__name__.strip("_").replace("_", " ")] += 1
        if sort is Sort.DENIED:
            self.writes["of these denied"] += 1
        else:
            self.note(obj, actor, sort)

    def note(self, obj: Object, actor: str, sort: Sort) -> None:
        place = place_of(obj)
        before, after = self.seen[place], fields_of(self.live(obj))
        deeds = self.truth.setdefault(place, {})
        # A write that changes nothing is not recorded either, and leaves its name all the same.
        if sort is not Sort.PLAIN or before == after:
            for deed in deeds.values():
                if deed.sort is Sort.PLAIN:
                    deed.sort = Sort.DISTURBED
        for path in before.keys() | after.keys():
            if before.get(path) != after.get(path):
                deeds[path] = Deed(actor, self._as_of(sort, deeds.get(path), before.get(path)))
                self.past.setdefault((place, path), []).append(after.get(path))
        self.seen[place] = after

    def _as_of(self, sort: Sort, last: Deed | None, before: Any) -> Sort:  # noqa: ANN401 - JSON
        """Return *sort*, unless a person changed a part of what somebody unrecorded put there."""
        onto = before is not None and last is not None and last.sort is not Sort.PLAIN
        return Sort.DISTURBED if sort is Sort.PLAIN and onto else sort

    def sort_of(self, place: Place, path: str) -> Sort:
        """Return what is known about the last change of a field."""
        sort = self.truth[place][path].sort
        is_gone = path == "/" or path not in self.seen[place]
        # What is counted is the writes to a spec; a reconciler under a grant may raise that too.
        is_counted = path.startswith("/spec/") and place[1] != CLOSED
        return Sort.GONE if sort is Sort.PLAIN and is_gone and not is_counted else sort

    def some_change(self, obj: Object) -> tuple[str, Any]:
        """Return a field and a value that it may get."""
        if obj["kind"] == "ConfigMap":
            path = self.chance.choice(["/data/a", "/data/b", "/data/extra", NOTE])
            return path, self.chance.choice(["2", "3", "4", None if path in REMOVABLE else "5"])
        path = self.chance.choice([REPLICAS, IMAGE, DEBUG, MODE, NOTE])
        number = self.chance.randint(2, 5)
        if path == MODE:
            return path, self.chance.choice(["1", None])
        return path, {REPLICAS: number, IMAGE: f"registry.example/web:{number}"}.get(
            path, str(number)
        )

    def change_of_old(self, obj: Object) -> tuple[str, Any]:
        """Return a value that somebody gave a field before, if it was ever changed."""
        place = place_of(obj)
        known = [(path, values) for (where, path), values in self.past.items() if where == place]
        if not known:
            return self.some_change(obj)
        path, values = self.chance.choice(known)
        value = self.chance.choice(values)
        return (path, value) if value is not None or path in REMOVABLE else self.some_change(obj)

    def drifted(self) -> Iterator[tuple[Place, str]]:
        """Yield the fields that are not as Git says, by the script's own look at them."""
        for obj in self.objects:
            place, declared = place_of(obj), fields_of(obj)
            if self.live(obj) is None:
                yield place, "/"
                continue
            now = self.seen[place]
            for path in declared.keys() | now.keys():
                if declared.get(path) != now.get(path):
                    yield place, path


Act = Callable[[Stage, Object], tuple[str, Sort]]


def place_of(obj: Object) -> Place:
    return obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"]


def _person(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Edit by hand; in the closed namespace, that is refused unless they break the glass."""
    who = stage.chance.choice(PEOPLE)
    path, value = stage.some_change(obj)
    patch = patch_of(obj, path, value)
    if obj["metadata"]["namespace"] == CLOSED and who == "responder":
        asked = {**GLASS, f"{PREFIX}/ticket": f"INC-{stage.chance.randint(1, 9)}"}
        patch.setdefault("metadata", {}).setdefault("annotations", {}).update(asked)
    try:
        stage.people[who].patch(obj, patch, stage.chance.choice(VERBS), STRATEGIC)
    except WriteFailed:
        if obj["metadata"]["namespace"] != CLOSED:
            raise
        return who, Sort.DENIED
    return who, Sort.PLAIN


def _reconciler(stage: Stage, obj: Object) -> tuple[str, Sort]:
    stage.flux.apply(marked(obj), OWNER)
    return OWNER, Sort.CONTROLLER


def _emergency(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Bypass the webhook, mostly to set what a person had set before."""
    path, value = stage.change_of_old(obj)
    manager = stage.chance.choice(VERBS)
    stage.people["admin"].patch(obj, patch_of(obj, path, value), manager, STRATEGIC)
    return "admin", Sort.EMERGENCY


def _emergency_apply(stage: Stage, obj: Object) -> tuple[str, Sort]:
    path, value = stage.change_of_old(obj)
    head = {key: obj[key] for key in ("apiVersion", "kind")}
    name = {key: obj["metadata"][key] for key in ("name", "namespace")}
    if value is None:
        return _emergency(stage, obj)  # what is applied takes nothing of others away
    body = patch_of(obj, path, value)
    body["metadata"] = {**body.get("metadata", {}), **name}
    stage.people["admin"].apply(head | body, "kubectl")
    return "admin", Sort.EMERGENCY


def _emergency_scale(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Scale past the webhook, mostly to where somebody had scaled before."""
    kind, namespace, name = place_of(obj)
    if kind != "Deployment":
        return _emergency(stage, obj)
    past = stage.past.get((place_of(obj), REPLICAS)) or [2]
    words = ("scale", f"deployment/{name}", f"--replicas={stage.chance.choice(past)}")
    stage.cluster.as_("admin").kubectl(*words, "-n", namespace)
    return "admin", Sort.EMERGENCY


def _revert_and_restore(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Let the reconciler put everything back, and the emergency group put it back again."""
    wanted = stage.seen[place_of(obj)]
    stage.flux.apply(marked(obj), OWNER)
    stage.note(obj, OWNER, Sort.CONTROLLER)
    now = stage.seen[place_of(obj)]
    for path in sorted(wanted.keys() | now.keys()):
        if now.get(path) != wanted.get(path):
            patch, manager = patch_of(obj, path, wanted.get(path)), stage.chance.choice(VERBS)
            stage.people["admin"].patch(obj, patch, manager, STRATEGIC)
    return "admin", Sort.EMERGENCY


def _recreation(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Delete the object and make it anew: the same name, another object."""
    who = stage.chance.choice(["admin", "developer"])
    try:
        stage.people[who].delete(obj)
    except WriteFailed:
        return who, Sort.DENIED
    stage.flux.apply(marked(obj), OWNER)
    return OWNER, Sort.CONTROLLER


def _kubectl(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Type what people type."""
    kind, namespace, name = place_of(obj)
    who = stage.chance.choice(PEOPLE)
    target, number = f"{kind}/{name}", str(stage.chance.randint(2, 5))
    typed = [["annotate", "--overwrite", target, f"note={number}"]]
    if kind == "Deployment":
        typed += [
            ["scale", target, f"--replicas={number}"],
            ["set", "image", target, f"web=registry.example/web:{number}"],
            ["set", "env", target, f"DEBUG={number}"],
        ]
    words = stage.chance.choice(typed)
    result = stage.cluster.as_(who).kubectl(*words, "-n", namespace, check=namespace == OPEN)
    return who, Sort.PLAIN if result.returncode == 0 else Sort.DENIED


def _impersonation(stage: Stage, obj: Object) -> tuple[str, Sort]:
    """Act as an administrator in the name of a robot, which is all that the webhook is told."""
    kind, namespace, name = place_of(obj)
    as_ = ("--as=release-bot", "--as-group=developers")
    words = ("annotate", "--overwrite", f"{kind}/{name}", f"note={stage.chance.randint(6, 9)}")
    admin = stage.cluster.as_("admin")
    result = admin.kubectl(*as_, *words, "-n", namespace, check=namespace == OPEN)
    return "release-bot", Sort.PLAIN if result.returncode == 0 else Sort.DENIED


def _autoscaler(stage: Stage, obj: Object) -> tuple[str, Sort]:
    kind, namespace, name = place_of(obj)
    if kind != "Deployment":
        return _reconciler(stage, obj)
    patch = json.dumps({"spec": {"replicas": stage.chance.randint(2, 5)}})
    words = ("patch", f"deployment/{name}", "--subresource=scale", "--type=merge", f"-p={patch}")
    stage.autoscaler.kubectl(*words, f"--field-manager={AUTOSCALER}", "-n", namespace)
    return AUTOSCALER, Sort.AUTOSCALER


ACTS: Final[tuple[list[Act], list[int]]] = (
    [_person, _kubectl, _reconciler, _emergency, _emergency_apply, _emergency_scale,
     _revert_and_restore, _recreation, _impersonation, _autoscaler],
    [46, 12, 9, 8, 3, 4, 7, 4, 3, 3],
)  # fmt: skip
"""What may happen, and how often."""


def write_declared(folder: Path, objects: Iterable[Object]) -> Path:
    """Write what Git declares."""
    folder.mkdir()
    for number, each in enumerate(objects):
        (folder / f"{number}.json").write_text(json.dumps(each))
    return folder
