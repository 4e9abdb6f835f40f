"""Run a control plane to play with: it says how to talk to it and stays up until Ctrl-C."""

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.cache import PackageOutOfReach
from tests.cluster.argocd import ArgoCD, RedisMissing
from tests.cluster.build import BuildFailed
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository, serve_repository
from tests.cluster.people import PEOPLE
from tests.cluster.processes import ProcessFailed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--gitops", action="store_true", help="with Flux, Argo CD and a repository")
    parser.add_argument("--dir", type=Path, help="an empty folder for its files, which are kept")
    chosen = parser.parse_args(arguments)
    if chosen.dir and chosen.dir.exists() and any(chosen.dir.iterdir()):
        print(f"{chosen.dir} is not empty: name another folder", file=sys.stderr)
        return 2
    # A polite end from outside is the same as Ctrl-C, also where a shell had that one ignored.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.default_int_handler)
    try:
        run(chosen.dir and chosen.dir.resolve(), gitops=chosen.gitops)
    except (BuildFailed, PackageOutOfReach, ProcessFailed, RedisMissing, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
    return 0


def run(folder: Path | None, *, gitops: bool) -> None:
    """Run everything until a signal comes."""
    with ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(folder))
        describe(cluster)
        if gitops:
            repository = stack.enter_context(serve_repository(cluster.folder / "git"))
            repository.commit({"README": "Commit here.\n"}, "Begin")
            stack.enter_context(Flux(cluster))
            describe_gitops(repository, stack.enter_context(ArgoCD(cluster)))
        print("\nCtrl-C stops it.", flush=True)
        # A pause that ends without a KeyboardInterrupt was some other signal, such as a resize.
        while True:
            signal.pause()


def describe(cluster: ControlPlane) -> None:
    """Print who may talk to *cluster*, and how."""
    print(f"Kubernetes at {cluster.server}, its logs in {cluster.folder / 'logs'}\n")
    for person in PEOPLE.values():
        groups = ", ".join(person.groups)
        print(f"{person.name:<10} {cluster.kubeconfig(person.name)}  ({groups})")
    kubectl = cluster.as_("developer").program
    print(f"\n  export KUBECONFIG={cluster.kubeconfig('developer')}")
    print(f"  {kubectl} auth whoami", flush=True)


def describe_gitops(repository: GitRepository, argocd: ArgoCD) -> None:
    """Print where the reconcilers look."""
    print(f"\nFlux and Argo CD run. Argo CD's API: {argocd.server}")
    print(f"Git: {repository.url} (commit in {repository.folder})")


if __name__ == "__main__":
    sys.exit(main())
