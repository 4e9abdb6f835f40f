"""The person's own kubectl: it knows their contexts, credentials and proxies best."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from glasswarden.kube.objects import Ref

FIELD_MANAGER = "kubectl-glasswarden"
PATIENCE = "10s"
"""How long one object may take to be looked up."""

_NAMESPACE = "--namespace="


_PREFIX: Final = re.compile(r"^(error: |Error from server \(Forbidden\): (?=admission webhook))")
"""What kubectl puts before a refusal of ours, or an error of its own: click says so as well."""


class KubectlFailed(click.ClickException):
    """kubectl ended with an error; the message is its own."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl, with the flags that every call of one command shares."""

    program: str
    flags: tuple[str, ...]

    @property
    def namespace(self) -> str | None:
        """The namespace that was named, if one was."""
        named = (flag for flag in self.flags if flag.startswith(_NAMESPACE))
        return next((flag.removeprefix(_NAMESPACE) for flag in named), None)

    def get(self, target: str) -> dict[str, Any]:
        """Return the object that *target* names, or end with kubectl's own words."""
        completed = self._run("get", target, "-o", "json", "--show-managed-fields")
        found: dict[str, Any] = json.loads(completed.stdout)
        return found

    def look(self, target: str) -> dict[str, Any] | None:
        """Return the object that *target* names, none where there is none; or end."""
        try:
            return self.get(target)
        except KubectlFailed as error:
            if "(NotFound)" not in error.message:
                raise
            return None

    def find(self, ref: Ref) -> dict[str, Any] | None:
        """Return the object *ref*, none where there is none; or end with kubectl's own words."""
        wanted = ("-o", "json", "--ignore-not-found", f"--request-timeout={PATIENCE}")
        said = self._run("get", *named(ref), *wanted).stdout
        found: dict[str, Any] | None = json.loads(said) if said.strip() else None
        return found

    def whoami(self) -> str | None:
        """Return as whom the API server knows the person; none where it does not say."""
        try:
            said = json.loads(self._run("auth", "whoami", "-o", "json").stdout)
            return str(said["status"]["userInfo"]["username"])
        except (KubectlFailed, ValueError, KeyError, TypeError):
            return None

    def strip(self, ref: Ref, version: str, annotations: Sequence[str]) -> None:
        """Take *annotations* off *ref*, if it is still at resource version *version*."""
        options = (f"--resource-version={version}", f"--field-manager={FIELD_MANAGER}")
        self._run("annotate", *named(ref), *options, "--", *(f"{name}-" for name in annotations))

    def unlabel(self, ref: Ref, label: str) -> None:
        """Take *label* off *ref*."""
        self._run("label", *named(ref), f"--field-manager={FIELD_MANAGER}", "--", f"{label}-")

    def annotate(self, target: str, annotations: dict[str, str | None]) -> None:
        """Set annotations, and take off those that are none; a refusal ends with its reason."""
        words = [
            f"{key}-" if value is None else f"{key}={value}" for key, value in annotations.items()
        ]
        manager = f"--field-manager={FIELD_MANAGER}"
        completed = self._run("annotate", target, "--overwrite", manager, "--", *words)
        if completed.stderr:  # warnings that came with the answer
            click.echo(completed.stderr.rstrip(), err=True)

    def hand_over(self, arguments: Sequence[str]) -> int:
        """Run *arguments* as if typed, in the person's terminal; return how it ended."""
        command = [self.program, *self.flags, *arguments]
        return subprocess.run(command, check=False).returncode  # noqa: S603 - the person's own words

    def typed(self, *words: str) -> str:
        """Return the command of ours that a person would type, with the same flags."""
        return " ".join(["kubectl glasswarden", *words, *self.flags])

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self.program, *self.flags, *arguments]
        try:
            # Every word is kubectl's own argument; no shell reads it.
            return subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        except subprocess.CalledProcessError as error:
            said = _PREFIX.sub("", error.stderr.strip())
            raise KubectlFailed(said or f"kubectl ended with {error.returncode}") from error
        except OSError as error:
            raise KubectlFailed(f"kubectl could not be run: {error}") from error


def named(ref: Ref) -> tuple[str, ...]:
    """Return the arguments that name *ref* exactly, whatever else is called like its kind."""
    target = f"{ref.kind}.{ref.version}.{ref.group}/{ref.name}"
    return (target, f"--namespace={ref.namespace}") if ref.namespace else (target,)


def find_kubectl(flags: Sequence[str]) -> Kubectl:
    """Return kubectl as the environment names it, or as the PATH has it."""
    program = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if program is None:
        raise click.ClickException("kubectl is not on the PATH; name it with KUBECTL=FILE")
    return Kubectl(program, tuple(flags))
