"""The real `flux diff kustomization`, read back."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from tests.cluster.build import programs
from tests.cluster.catalogue import FLUX
from tests.cluster.conftest import skip_unless_built
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import NAMESPACE, Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.test_gitops import deployment

SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"level": "5", "app.properties": "a=1\nb=2\n", "gone": "x"},
}


@pytest.fixture(scope="session")
def flux_program() -> Path:
    skip_unless_built(FLUX)
    return programs([FLUX])["flux"]


def test_each_field_of_flux_diff_is_a_finding(
    cluster: ControlPlane,
    flux: Flux,
    flux_program: Path,
    git_repository: GitRepository,
    namespace: str,
    tmp_path: Path,
) -> None:
    files: dict[str, str | None] = {
        "shop/web.yaml": deployment("registry.example/web:1"),
        "shop/settings.yaml": json.dumps(SETTINGS),
    }
    revision = git_repository.commit(files, "first")
    with flux.deploy(git_repository, "shop", namespace, interval="10m") as deployed:
        deployed.wait_synced(revision)
        by_hand = (
            ("set", "image", "deployment/web", "web=registry.example/web:by-hand"),
            ("scale", "deployment/web", "--replicas=4"),
            ("patch", "configmap/settings", "-p", '{"data": {"level": "7", "gone": null}}'),
            ("patch", "configmap/settings", "-p", '{"data": {"app.properties": "a=1\\nb=3\\n"}}'),
        )
        for command in by_hand:
            cluster.as_("developer").kubectl(*command, "-n", namespace)
        git_repository.commit(
            {"shop/new.yaml": json.dumps({**SETTINGS, "metadata": {"name": "new"}})}, "second"
        )
        admin = cluster.as_("admin")
        where = ("-n", NAMESPACE, "--path", str(git_repository.folder / "shop"))
        printed = subprocess.run(
            [flux_program, "diff", "kustomization", deployed.name, *where, "--progress-bar=false"],
            env=admin.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert printed.returncode == 1, printed.stderr
    (tmp_path / "printed").write_text(printed.stdout)
    arguments = ["drift", "--import", f"flux-diff={tmp_path / 'printed'}", "--format", "json"]
    result = json.loads(CliRunner().invoke(main, arguments, catch_exceptions=False).stdout)
    told = {
        (each["object"]["name"], each["field"]): (each["declared"], each["live"])
        for each in result["findings"]
    }
    assert told == {
        ("settings", "/data/level"): ("5", "7"),
        ("settings", "/data/gone"): ("x", None),
        ("settings", "/data/app.properties"): ("… b=2", "… b=3"),
        ("new", "/"): ("(not known)", None),
        ("web", "/spec/replicas"): (1, 4),
        ("web", "/spec/template/spec/containers[name=web]/image"): (
            "registry.example/web:1",
            "registry.example/web:by-hand",
        ),
    }
    assert result["incomplete"] == []
