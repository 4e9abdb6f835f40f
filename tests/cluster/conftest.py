"""Fixtures: a control plane per worker, a namespace per test, Flux and Argo CD where asked for.

A test is marked `cluster` or `gitops` by the fixtures that it uses, so that what needs no API
server stays among the fast tests. What is missing is built before the first test, outside of any
test's time limit.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.cache import PackageOutOfReach
from tests.cluster.argocd import ArgoCD, RedisMissing, find_redis
from tests.cluster.build import BuildFailed, build, missing, programs
from tests.cluster.catalogue import (
    ARGOCD,
    GITOPS,
    KUBERNETES,
    KUSTOMIZE_CONTROLLER,
    RENDER,
    SOURCE_CONTROLLER,
    Module,
)
from tests.cluster.clock import clock_in
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository, serve_repository
from tests.cluster.kubectl import Caller

HERE = Path(__file__).resolve().parent
RECONCILERS = {"flux", "argocd", "engine"}
BUILD_FAILURE = pytest.StashKey[str]()
LOOPBACK_NAMES = "127.0.0.1,localhost,::1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder by what they run on."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if HERE in item.path.parents and "cluster" in fixtures:
            item.add_marker(pytest.mark.cluster)
        if HERE in item.path.parents and "renderers" in fixtures:
            item.add_marker(pytest.mark.render)
        if HERE in item.path.parents and fixtures & RECONCILERS:
            item.add_marker(pytest.mark.gitops)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the chosen tests need and this machine lacks; a failure fails those tests."""
    if session.config.option.collectonly:
        return
    marks = {mark.name for item in session.items for mark in item.iter_markers()}
    wanted = [
        *(KUBERNETES if "cluster" in marks else ()),
        *(RENDER if "render" in marks else ()),
        *(GITOPS if "gitops" in marks and nothing_is_skipped() else ()),
    ]
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        try:
            build(wanted)
        except (BuildFailed, PackageOutOfReach) as error:
            session.config.stash[BUILD_FAILURE] = str(error)


def nothing_is_skipped() -> bool:
    """Return whether what cannot be had is a failure."""
    return os.environ.get("CI") == "true"


@pytest.fixture(scope="session", autouse=True)
def _no_proxy_on_loopback() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, ",".join(filter(None, (os.environ.get(name), LOOPBACK_NAMES))))
        yield


@pytest.fixture(scope="session")
def _programs(pytestconfig: pytest.Config) -> None:
    if failure := pytestconfig.stash.get(BUILD_FAILURE, None):
        pytest.fail(failure, pytrace=False)


@pytest.fixture(scope="session")
def cluster(_programs: None) -> Iterator[ControlPlane]:
    """Return a control plane of this worker's own."""
    with ControlPlane() as running:
        yield running


@pytest.fixture
def namespace(cluster: ControlPlane) -> Iterator[str]:
    """Return the name of a fresh namespace; its deletion is not waited for."""
    admin = cluster.as_("admin")
    created = admin.kubectl(
        "create",
        "-f",
        "-",
        "-o",
        "name",
        stdin={"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}},
    )
    name = created.stdout.strip().removeprefix("namespace/")
    yield name
    admin.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def flux_account(cluster: ControlPlane) -> Caller:
    """Return Flux's kustomize-controller, for tests that write in its name without running it."""
    return cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")


@pytest.fixture(scope="session")
def argocd_account(cluster: ControlPlane) -> Caller:
    """Return Argo CD's application controller, likewise."""
    return cluster.service_account("argocd", "argocd-application-controller", "cluster-admin")


@pytest.fixture
def git_repository(tmp_path: Path) -> Iterator[GitRepository]:
    """Return an empty Git repository that is served on loopback."""
    with serve_repository(tmp_path / "git") as repository:
        yield repository


@pytest.fixture
def renderers(_programs: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Put the real kustomize and helm before all other programs; return where they are."""
    found = programs(RENDER)
    folders = [str(program.parent) for program in found.values()]
    monkeypatch.setenv("PATH", os.pathsep.join((*folders, os.environ.get("PATH", os.defpath))))
    return found


@pytest.fixture(scope="session")
def flux(cluster: ControlPlane) -> Iterator[Flux]:
    """Return the real Flux on this worker's control plane."""
    skip_unless_built(SOURCE_CONTROLLER, KUSTOMIZE_CONTROLLER)
    with Flux(cluster) as running:
        yield running


@pytest.fixture(scope="session")
def argocd(cluster: ControlPlane) -> Iterator[ArgoCD]:
    """Return the real Argo CD on this worker's control plane."""
    skip_unless_built(ARGOCD)
    try:
        find_redis()
    except RedisMissing as error:
        (pytest.fail if nothing_is_skipped() else pytest.skip)(str(error))
    with ArgoCD(cluster) as running:
        yield running


@pytest.fixture
def settable_clock(tmp_path: Path) -> dict[str, str]:
    """Return the environment of programs whose clock is off by what the file `clock` says."""
    return clock_in(tmp_path)


@pytest.fixture(params=["flux", "argocd"])
def engine(request: pytest.FixtureRequest) -> Flux | ArgoCD:
    """Return each of the two in turn."""
    running: Flux | ArgoCD = request.getfixturevalue(request.param)
    return running


def skip_unless_built(*modules: Module) -> None:
    """Skip the test if its programs are missing, saying how to get them."""
    if lacking := ", ".join(program.name for program in missing(modules)):
        if nothing_is_skipped():
            pytest.fail(f"{lacking} could not be built")
        pytest.skip(f"NOT TESTED: {lacking} not built on this machine; run `make gitops` once")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the logs of a control plane on which a test failed, and say beside it where they are."""
    report = yield
    running = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and isinstance(running, ControlPlane):
        running.keep = True
        report.sections.append(("control plane", f"its logs are kept in {running.folder}"))
    return report
