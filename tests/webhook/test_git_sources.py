"""Where in Git an application is declared: looked up in a thread, by names that may be forged."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from glasswarden.cluster.client import NotFound
from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.policy.policy import DEFAULT
from tests.ledger.builders import KEYS
from tests.policy.builders import a_policy
from tests.webhook.builders import FLUX_LABELS, a_deployment, a_request, as_review
from tests.webhook.test_fuzz import Forgetful
from webhook import git_sources
from webhook.admission import Admission
from webhook.git_sources import GitSources, source_of, with_namespace
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import Rules

KUSTOMIZATIONS = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"
SHOP = Owner("flux", "shop", "flux-system", "Kustomization")
REPOSITORY = GitLocation("https://git.example/shop", "deploy", "main")


class Objects:
    """An API server that has some objects, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.specs: dict[str, dict[str, Any]] = {
            f"{KUSTOMIZATIONS}/shop": {
                "path": "./deploy",
                "sourceRef": {"kind": "GitRepository", "name": "git"},
            },
            "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/git": {
                "url": "https://git.example/shop",
                "ref": {"branch": "main"},
            },
        }

    def get(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        if path not in self.specs:
            raise NotFound(path)
        return {"spec": self.specs[path]}


@pytest.fixture
def server() -> Objects:
    return Objects()


def looking(server: Objects) -> GitSources:
    return GitSources(server)  # type: ignore[arg-type]  # as far as it is used here


def eventually(test: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not test():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_first_query_starts_a_lookup_for_the_next(server: Objects) -> None:
    found = looking(server)
    assert found.find_known(SHOP) is None
    eventually(lambda: found.find_known(SHOP) == REPOSITORY)
    asked = len(server.asked)
    assert found.find_known(SHOP) == REPOSITORY
    assert len(server.asked) == asked


def test_name_cannot_change_the_path_of_the_request(server: Objects) -> None:
    """A label's value has no slash in it; a tracking id, an annotation, may have anything."""
    for owner in (
        Owner("argocd", "../../../../api/v1/secrets?x=", "argocd", "Application"),
        Owner("flux", "a/b", "flux-system", "Kustomization"),
    ):
        with pytest.raises(NotFound):
            source_of(owner, server)  # type: ignore[arg-type]
    assert [path.count("/") for path in server.asked] == [7, 7]
    assert not any("?" in path for path in server.asked)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_empty_or_dotted_name_is_not_requested(server: Objects, name: str) -> None:
    with pytest.raises(LookupError):
        source_of(Owner("argocd", name, "argocd", "Application"), server)  # type: ignore[arg-type]
    assert server.asked == []


def test_forged_names_do_not_exhaust_the_lookups(
    server: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_sources, "MOST", 10)
    found = looking(server)
    for number in range(30):
        forged = Owner("flux", f"forged-{number}", "flux-system", "Kustomization")
        found.find_known(forged)
        eventually(lambda: server.asked[-1:] == [f"{KUSTOMIZATIONS}/{forged.app}"])  # noqa: B023
    found.find_known(SHOP)
    eventually(lambda: found.find_known(SHOP) == REPOSITORY)


@pytest.mark.parametrize(
    ("policy", "namespace"),
    [
        pytest.param("", "argocd", id="the usual place"),
        pytest.param(
            "engines: {argocd: {controllers: ['system:serviceaccount:*:deployer', "
            "'system:serviceaccount:gitops:argocd-application-controller']}}",
            "gitops",
            id="where its controller is",
        ),
        pytest.param("engines: {argocd: {controllers: [root]}}", "argocd", id="nowhere"),
    ],
)
def test_application_without_a_namespace_is_in_that_of_argocd(policy: str, namespace: str) -> None:
    owner = Owner("argocd", "shop", None, "Application")
    assert with_namespace(owner, a_policy(policy)).namespace == namespace


def test_owner_with_a_namespace_is_unchanged() -> None:
    elsewhere = Owner("argocd", "shop", "team", "Application")
    assert with_namespace(elsewhere, DEFAULT) is elsewhere
    assert with_namespace(SHOP, DEFAULT) is SHOP


class TestAdmission:
    """Whose denial names the repository, and for whom it is looked up."""

    def answered(self, server: Objects, **differing: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the answer to a write, made when everything that it wants to know is known."""
        recorder = Recorder(InlineLink(Forgetful), "sources", "test", KEYS)
        found = looking(server)
        admission = Admission(Rules(None), recorder, sources=found)
        body = as_review(a_request(**differing))

        async def asked() -> bytes:
            await admission.validate(body)
            # What a review wants to know waits from then on: there is no later.
            await asyncio.to_thread(eventually, lambda: not found._waiting)
            return await admission.validate(body)

        response: dict[str, Any] = json.loads(asyncio.run(asked()))["response"]
        return response

    def test_denial_names_the_repository(self, server: Objects) -> None:
        message = self.answered(server)["status"]["message"]
        assert "Change it in https://git.example/shop at main, path deploy instead." in message

    def test_write_of_the_controller_causes_no_lookup(self, server: Objects) -> None:
        flux = {"username": "system:serviceaccount:flux-system:kustomize-controller"}
        assert self.answered(server, userInfo=flux)["allowed"]
        assert server.asked == []

    def test_reconciler_object_is_not_looked_up_in_its_own_repository(
        self, server: Objects
    ) -> None:
        """What a Kustomization deploys is in that repository; it itself need not be."""
        new, old = (self.kustomization(suspend=suspend) for suspend in (True, False))
        warnings = self.answered(server, object=new, oldObject=old)["warnings"]
        assert "Change it in Git instead." in warnings
        assert server.asked == []

    def test_marked_reconciler_object_is_looked_up_in_the_repository_of_its_owner(
        self, server: Objects
    ) -> None:
        new, old = (self.kustomization(suspend=each, marked=True) for each in (True, False))
        warnings = self.answered(server, object=new, oldObject=old)["warnings"]
        assert any("https://git.example/shop" in warning for warning in warnings)

    def kustomization(self, *, suspend: bool, marked: bool = False) -> dict[str, Any]:
        obj = a_deployment(labels=FLUX_LABELS if marked else {})
        obj |= {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}
        obj["metadata"] |= {"name": "shop", "namespace": "flux-system"}
        return obj | {"spec": {"suspend": suspend}}
