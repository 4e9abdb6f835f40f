"""Run the real kubectl as somebody, cut off from the kubectl of whoever runs the tests.

The environment is made from nothing but PATH: no kubeconfig, cache, plug-in setting or proxy of
the surrounding machine is read, and nothing is written outside the control plane's folder.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster import editor as scripted_editor

EDITOR: Final = Path(scripted_editor.__file__)

Edit = tuple[tuple[str, str], ...]
Manifest = Mapping[str, Any]
Manifests = Manifest | Sequence[Manifest]


class KubectlFailed(Exception):
    """kubectl ended with an error that the caller did not expect."""

    def __init__(self, caller: str, result: "Result") -> None:
        super().__init__(f"as {caller}: {result}")
        self.result = result


@dataclass(frozen=True, slots=True)
class Result:
    """How one run of kubectl ended."""

    command: str
    returncode: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return f"{self.command}\nexit {self.returncode}\n{self.stdout}{self.stderr}".rstrip()

    def json(self) -> Any:  # noqa: ANN401  (what the API server sent)
        """Return what was printed with `-o json`."""
        return json.loads(self.stdout)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who talks to the API server: a person or a service account."""

    name: str
    kubeconfig: Path
    program: Path
    home: Path

    def kubectl(
        self,
        *arguments: str,
        stdin: str | Manifests | None = None,
        editor: Edit = (),
        check: bool = True,
        seconds: float = 60,
    ) -> Result:
        """Run `kubectl ARGUMENTS`; raise KubectlFailed if it fails, unless *check* is false.

        *stdin* is a manifest or text, *editor* what to change in the file that `edit` opens.
        """
        completed = subprocess.run(
            [self.program, *arguments],
            input=stdin if isinstance(stdin, str) or stdin is None else as_json(stdin),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self.environment(editor),
            check=False,
        )
        command = shlex.join(["kubectl", *arguments])
        result = Result(command, completed.returncode, completed.stdout, completed.stderr)
        if check and result.returncode != 0:
            raise KubectlFailed(self.name, result)
        return result

    def environment(self, editor: Edit = ()) -> dict[str, str]:
        """Return the environment in which kubectl runs as this caller."""
        environment = isolated_environment(self.home) | {"KUBECONFIG": str(self.kubeconfig)}
        if editor:
            environment["KUBE_EDITOR"] = shlex.join([sys.executable, str(EDITOR)])
            environment[scripted_editor.VARIABLE] = json.dumps(editor)
        return environment


def isolated_environment(home: Path) -> dict[str, str]:
    """Return an environment in which *home* is all that a program knows of its user."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "KUBECACHEDIR": str(home / "kubectl-cache"),
        "LC_ALL": "C.UTF-8",
    }


def replace(old: str, new: str) -> Edit:
    """Return an edit for `editor=`; edits are added with `+`."""
    return ((old, new),)


def as_json(manifest: Manifests) -> str:
    """Return one manifest, or several as the list that kubectl takes."""
    if isinstance(manifest, Mapping):
        return json.dumps(manifest)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifest)})
