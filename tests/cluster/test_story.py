"""The story end to end, on the real API server, with the real Flux, kubectl, guard and ledger.

What each command says of it is held by golden files; GLASSWARDEN_RENEW=1 writes them anew.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.aftermath import Aftermath
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import serve_repository
from tests.cluster.story import Scene, mend, scene_on, tell

GOLDEN: Final = Path(__file__).with_name("golden") / "story"
RENEW: Final = os.environ.get("GLASSWARDEN_RENEW") == "1"


@pytest.fixture(scope="module")
def aftermath(
    cluster: ControlPlane, flux: Flux, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Aftermath]:
    folder = tmp_path_factory.mktemp("story")
    with (
        serve_repository(folder / "git") as repository,
        scene_on(flux, cluster, folder, repository) as scene,
    ):
        tell(scene)
        yield Aftermath(scene)


def test_incident_is_reported_and_its_backport_leaves_no_drift(aftermath: Aftermath) -> None:
    """One test, because it is one story: what it finds is only so before the last act."""
    scene = aftermath.scene
    assert [step.title for step in scene.steps if "denied the request" in step.said] == [
        "A developer edits what Flux owns, and is told where to change it instead.",
        "The grant has ended; the fix is still live.",
    ]
    said = {
        "drift.txt": aftermath.drift("table"),
        "drift.json": aftermath.drift("json"),
        "blame.txt": aftermath.blame("deploy/web"),
        "blame-settings.txt": aftermath.blame("cm/settings"),
        "history.txt": aftermath.history("deploy/web"),
        "history-settings.txt": aftermath.history("cm/settings"),
        "report.md": aftermath.report("markdown"),
        "report.html": aftermath.report("html"),
        "report.csv": aftermath.report("csv"),
        "report.json": aftermath.report("json"),
        "report-ticket.md": aftermath.report("markdown", "--ticket", "INC-42"),
        "backport.patch": aftermath.backport(),
        "review.md": aftermath.review(),
    }
    differing = [name for name, text in said.items() if not is_golden(name, text, scene)]
    bypassed = [line for line in said["report.md"].splitlines() if "/data/payments" in line]
    assert any('`"primary"` → `"standby"`' in line for line in bypassed)
    assert any("reconcile.fluxcd.io/requestedAt" in line for line in bypassed)
    assert differing == [], f"{GOLDEN} has what was said; look at the difference, then renew it"

    mend(scene, said["backport.patch"])
    assert aftermath.differences() == {"findings": [], "incomplete": []}


def is_golden(name: str, text: str, scene: Scene) -> bool:
    """Return whether *text* is what the golden file says, but for what is never the same."""
    told, file = timeless(text, scene), GOLDEN / name
    if file.suffix == ".txt":
        told = re.sub(_GAP, "  ", told)
    if RENEW:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(told)
    if told == file.read_text():
        return True
    # pytest shows it with the failure.
    print(f"--- {name}\n{told}")
    return False


_UUID: Final = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_TIMELESS: Final = (
    (r"/[^\s\"']*/kustomization-[0-9]+/", "/kustomization/"),
    (r"\beyJ[\w=-]+\.[0-9TZ]+\.[\w=-]+", "STAMP"),
    (_UUID, "UID"),
    (r"\b[0-9a-f]{40}\b", "COMMIT"),
    (r"\b[a-z2-7]{16}\b", "GRANT"),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9.]+)?(Z|\+00:00)?", "TIME"),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b", "DATE"),
    (r"\b[0-9]{2}:[0-9]{2}(:[0-9]{2})?\b", "CLOCK"),
    (r"( c?x| width)=\"[0-9.]+\"", r'\1="0"'),
    (r" d=\"M[0-9.]+ ", ' d="M0 '),
    # The API server may have tried a write again.
    (r"(\n *\"UID\",)+(?=\n *\"UID\")", ""),
    (r", asked [0-9]+ times", ""),
    (r"\b[0-9]+ records in", "N records in"),
    (r"\b[0-9a-f]{12}(?= [\w.-]+\.yaml:)", "COMMIT"),
    (r"\bfrom TIME to (TIME|CLOCK)(?= UTC)", "at TIME"),  # it may all happen within a minute
)
_GAP: Final = r"(?<=[^\s│]) {2,}(?=[^\s│])"
"""Columns are as wide as what differs in them; a patch, though, means its spaces."""


def timeless(text: str, scene: Scene) -> str:
    """Return *text* with a word in place of each id, time, commit, path and place on an axis."""
    text = text.replace(scene.repository.url, "REPOSITORY")
    text = text.replace(str(scene.repository.folder), "GIT")
    for pattern, word in _TIMELESS:
        text = re.sub(pattern, word, text)
    return text
