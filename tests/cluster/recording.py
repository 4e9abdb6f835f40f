"""Records the demo's story: it really happens, and what the API server asks is kept.

`python -m tests.cluster.recording` renews `glasswarden/demo/recording.json`. The webhook's answers
are kept only to tell which ids and stamps they gave: the demo has them made anew.
"""

import base64
import json
import re
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from glasswarden.demo.story import INCIDENT, Recording
from tests.cluster.aftermath import Aftermath
from tests.cluster.catalogue import KUSTOMIZE_CONTROLLER
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository, git_environment, serve_repository
from tests.cluster.story import Manifest, Scene, mend, scene_on, tell

RECORDING: Final = Path(__file__).parents[2] / "glasswarden" / "demo" / "recording.json"
REPOSITORY: Final = "https://git.example/shop.git"

_LOOPBACK: Final = re.compile(r"http://127\.0\.0\.1:[0-9]+/")
_SCRATCH: Final = re.compile(r"/[^\s\"']*/kustomization-[0-9]+/")


def recording_of(scene: Scene) -> Recording:
    """Return the story as told on *scene*, and have it brought to its end."""
    aftermath = Aftermath(scene)
    version = scene.cluster.as_("admin").kubectl("version", "-o", "json").json()
    ended, live, audit = datetime.now(UTC), scene.objects(), aftermath.events()
    scene.repository.tag(INCIDENT)
    mend(scene, aftermath.backport())
    return Recording(
        server=version["serverVersion"]["gitVersion"],
        flux=KUSTOMIZE_CONTROLLER.version,
        began=scene.steps[0].time,
        ended=ended,
        policy=scene.guard.policy.read_text(),
        steps=scene.steps,
        first=raw(scene.first),
        live=raw(live),
        mended=raw(scene.objects()),
        audit=raw(audit),
        repository=base64.b64encode(bundle_of(scene.repository)).decode(),
    )


def bundle_of(repository: GitRepository) -> bytes:
    """Return the whole repository as Git bundles it."""
    command = ["git", "-C", str(repository.folder), "bundle", "create", "--quiet", "-", "--all"]
    environment = git_environment(repository.folder)
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def raw(objects: list[Manifest]) -> list[msgspec.Raw]:
    return [msgspec.Raw(json.dumps(each).encode()) for each in objects]


def impersonal(text: str, scene: Scene) -> str:
    """Return *text* without what is this machine's: its ports, and where its Flux builds."""
    text = _SCRATCH.sub("/kustomization/", text.replace(scene.repository.url, REPOSITORY))
    return _LOOPBACK.sub("http://source-controller.flux-system.svc/", text)


def written(recording: Recording, scene: Scene) -> str:
    """Return the recording's file: a line for each review and object, so that diffs can be read."""
    plain: dict[str, Any] = json.loads(impersonal(msgspec.json.encode(recording).decode(), scene))
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane() as cluster,
        Flux(cluster) as flux,
        serve_repository(Path(folder, "git")) as repository,
        scene_on(flux, cluster, Path(folder), repository) as scene,
    ):
        tell(scene)
        recording = recording_of(scene)
        RECORDING.write_text(written(recording, scene))
    asked = sum(len(step.exchanges) for step in recording.steps)
    size = RECORDING.stat().st_size
    print(f"{RECORDING.name}: {len(recording.steps)} steps, {asked} questions, {size:,} bytes")


if __name__ == "__main__":
    main()
