"""What is left of the story's incident, for somebody to ask about who may read everything."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.guard import GLASSWARDEN
from tests.cluster.retries import eventually
from tests.cluster.story import FOLDER, NAMESPACE, Manifest, Scene


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The scene after the last act."""

    scene: Scene

    def ask(self, *words: str) -> str:
        """Return what a command of ours prints."""
        admin = self.scene.cluster.as_("admin")
        environment = admin.environment() | {
            "COLUMNS": "400",  # so that nothing is cut where it differs
            "GLASSWARDEN_LEDGER": self.scene.guard.ledger,
            "GLASSWARDEN_KEYS": str(self.scene.guard.keys),
            "KUBECTL": str(admin.program),
        }
        done = subprocess.run(
            [*GLASSWARDEN, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def events(self) -> list[Manifest]:
        """Return who wrote to the application's own objects, from their creation on."""
        return list(filter(is_about_the_shop, self.scene.cluster.audit_events()))

    def drift(self, form: str) -> str:
        # While Flux tries again, it says neither that it failed nor that it did not.
        eventually(self._is_between_tries, "the end of a try of Flux")
        return self.ask("drift", *self._git, *self._seen, "-n", NAMESPACE, "--format", form)

    def differences(self) -> object:
        """Return what is not as Git says now; the ledger and the audit log remember all of it."""
        return json.loads(self.drift("json"))

    def blame(self, target: str) -> str:
        return self.ask("blame", target, "-n", NAMESPACE, *self._git, *self._seen)

    def history(self, target: str) -> str:
        return self.ask("history", target, "-n", NAMESPACE, *self._seen)

    def report(self, form: str, *about: str) -> str:
        """Return the report on the namespace, or on what *about* names."""
        named = about or ("-n", NAMESPACE)
        return self.ask("report", *named, *self._git, *self._seen, "--verify", "--format", form)

    def backport(self) -> str:
        """Return the patch that brings to Git what the incident needed."""
        repository = ("--repo", str(self.scene.repository.folder), "--path", FOLDER)
        return self.ask("backport", "--ticket", "INC-42", *repository)

    def review(self) -> str:
        """Return what the next weekly review says."""
        about = ("review", "--since", "7d", "-n", NAMESPACE, *self._git, *self._seen)
        return self.ask(*about, "--format", "markdown")

    def _is_between_tries(self) -> bool:
        conditions = self.scene.deployed.get().get("status", {}).get("conditions", [])
        states = {each["type"]: each["status"] for each in conditions}
        return states.get("Ready") in ("True", "False")

    @property
    def _git(self) -> tuple[str, ...]:
        return ("--git", str(self.scene.repository.folder), "--path", FOLDER)

    @property
    def _seen(self) -> tuple[str, ...]:
        """What the API server's audit log shows, and the rules by which it is judged."""
        guard = self.scene.guard
        log = Path(guard.ledger.removeprefix("sqlite://")).with_name("audit.log")
        log.write_text("".join(f"{json.dumps(event)}\n" for event in self.events()))
        return ("--audit-log", str(log), "--policy", str(guard.policy))


def is_about_the_shop(event: Manifest) -> bool:
    """Return whether *event* is a write in earnest to what the application consists of."""
    about = event.get("objectRef", {})
    return (
        about.get("namespace") == NAMESPACE
        and about.get("resource") in {"deployments", "configmaps", "horizontalpodautoscalers"}
        and about.get("subresource") != "status"
        and "dryRun=" not in event["requestURI"]
    )
