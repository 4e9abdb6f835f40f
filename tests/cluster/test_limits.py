"""The largest policies that we accept are taken by the real API server, and serve.

A condition that costs more than it allows fails, and with it every write that it is asked about.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import Policy, policy_of
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, guarding
from tests.cluster.kubectl import Caller
from tests.cluster.retries import eventually
from webhook.registration.configurations import Endpoint, PolicyTooLarge, Service, configurations
from webhook.registration.fallback_policy import MOST_TURNS, new_fallback_policy

pytestmark = pytest.mark.e2e

HEAD: Final = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
ENDPOINT: Final = Endpoint(Service("glasswarden", "glasswarden"), b"", "0" * 32)

Maker = Callable[[int], str]


def accounts(count: int, star: str = "") -> str:
    """Return *count* service accounts with long names, as YAML."""
    names = (f"'system:serviceaccount:team-{n:04}{star}:flux-tenant'" for n in range(count))
    return f"[{', '.join(names)}]"


def markers(count: int) -> str:
    lines = (
        f"  - {{name: m{n}, label: m{n}.example.com/managed-by, value: v, controllers: [c{n}]}}"
        for n in range(count)
    )
    return "\n".join(["markers:", *lines])


def modes(count: int, turns: tuple[str, ...] = ("warn",)) -> str:
    lines = (
        f"  - {{mode: {turn}, namespaces: ['team-{n}-*'], labels: {{tier: 't{n}*'}}}}"
        for n, turn in zip(range(count), cycle(turns), strict=False)
    )
    return "\n".join(["modes:", *lines])


LARGE: Final[dict[str, Maker]] = {
    "controllers": lambda n: f"engines: {{flux: {{controllers: {accounts(n)}}}}}",
    "patterns of controllers": lambda n: f"engines: {{flux: {{controllers: {accounts(n, '*')}}}}}",
    "markers": markers,
    "reserved namespaces": lambda n: f"reservedNamespaces: {[f'team-{k}-*' for k in range(n)]}",
    "modes": modes,
    "modes that turn": lambda n: modes(min(n, MOST_TURNS), ("warn", "enforce")),
}


def largest(text_of: Maker) -> str:
    """Return the text of the largest policy of its kind that is accepted, up to a thousand."""
    low, high = 1, 1000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_accepted(text_of(middle)) else (low, middle - 1)
    return text_of(low)


def is_accepted(text: str) -> bool:
    policy: Policy = policy_of(parse_document(f"{HEAD}{text}"))
    try:
        configurations(policy, ENDPOINT)
        new_fallback_policy(policy)
    except PolicyTooLarge:
        return False
    return True


@pytest.mark.parametrize("text_of", LARGE.values(), ids=LARGE)
def test_largest_policy_is_accepted_and_enforced(
    cluster: ControlPlane, flux_account: Caller, namespace: str, tmp_path: Path, text_of: Maker
) -> None:
    text = f"{largest(text_of)}\nbreakGlass: {{rules: [{{name: all, users: [developer]}}]}}"
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=owned(namespace))
    with guarding(cluster, tmp_path, text) as guard:
        developer = cluster.as_("developer")
        developer.kubectl("create", "-f", "-", stdin=deployment("own", namespace))
        developer.kubectl("set", "image", "deployment/own", "app=x", "-n", namespace)
        by_hand = ("set", "image", "deployment/web", "app=x", "-n", namespace)
        with standing(cluster, guard.policy):
            eventually(
                lambda: "is managed by GitOps" in developer.kubectl(*by_hand, check=False).stderr,
                "the floor to hold",
            )
            developer.kubectl("set", "image", "deployment/own", "app=y", "-n", namespace)
        eventually(
            lambda: "is managed by Flux" in developer.kubectl(*by_hand, check=False).stderr,
            "the webhook to be asked again",
        )


def owned(namespace: str) -> dict[str, object]:
    return dict(by_flux(deployment("web", namespace), "shop"))


@contextmanager
def standing(cluster: ControlPlane, policy: Path) -> Iterator[None]:
    """Have the floor stand beside the webhook."""
    command = [*GLASSWARDEN, "manifests", "fallback-policy", "--policy", str(policy)]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    admin = cluster.as_("admin")
    admin.kubectl("apply", "--server-side", "-f", "-", stdin=json.loads(printed))
    try:
        yield
    finally:
        admin.kubectl("delete", "-f", "-", stdin=json.loads(printed))
