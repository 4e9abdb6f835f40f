"""Other projects' custom resource definitions, from their Go modules: the real ones, pinned."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.catalogue import KUBERNETES
from tests.cluster.toolchain import environment, find_go


class DefinitionsOutOfReach(Exception):
    """The module cannot be had; the message says why."""


@dataclass(frozen=True, slots=True)
class Definitions:
    """A folder of a Go module, with the definitions in it that are wanted."""

    module: str
    version: str
    checksum: str
    """What go.sum would hold."""
    folder: str
    files: tuple[str, ...]

    def paths(self) -> list[Path]:
        """Return the files, downloaded if need be."""
        asked = subprocess.run(
            [find_go(KUBERNETES[0].go_version), "mod", "download", "-json", self._query],
            # Outside of any module: nothing but this one is downloaded.
            cwd=tempfile.gettempdir(),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        found = json.loads(asked.stdout or "{}")
        if asked.returncode != 0:
            raise DefinitionsOutOfReach(f"{self._query}: {found.get('Error') or asked.stderr}")
        if found["Sum"] != self.checksum:
            raise DefinitionsOutOfReach(f"{self._query} is not what it was: {found['Sum']}")
        return [Path(found["Dir"]) / self.folder / name for name in self.files]

    @property
    def _query(self) -> str:
        return f"{self.module}@{self.version}"


CERT_MANAGER: Final = Definitions(
    "github.com/cert-manager/cert-manager",
    "v1.21.2",
    "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
    "deploy/crds",
    ("cert-manager.io_certificates.yaml", "cert-manager.io_issuers.yaml"),
)
PROMETHEUS_OPERATOR: Final = Definitions(
    "github.com/prometheus-operator/prometheus-operator",
    "v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
    "example/prometheus-operator-crd",
    tuple(
        f"monitoring.coreos.com_{name}.yaml"
        for name in ("podmonitors", "prometheusrules", "servicemonitors")
    ),
)
