"""How commands reach a cluster, and where in it the product is."""

import os
from pathlib import Path

import click

from glasswarden.cluster.apiserver import Access, access_in_cluster
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.cluster.objects import ClusterUnreachable, Objects, objects_from

KUBECONFIG = click.option(
    "--kubeconfig",
    envvar="GLASSWARDEN_KUBECONFIG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="How to reach the API server; by default as kubectl does, or as a pod.",
)
NAMESPACE = click.option(
    "--namespace",
    "-n",
    default="glasswarden",
    show_default=True,
    help="Where the product is installed.",
)


def connect(kubeconfig: Path | None) -> Objects:
    """Return the cluster, or end with why there is none."""
    try:
        return objects_from(kubeconfig)
    except ClusterUnreachable as error:
        raise click.ClickException(str(error)) from error


def access_to(kubeconfig: Path | None) -> Access:
    """Return how to reach the API server, as kubectl finds it or as a pod. Raises `NoAccess`."""
    if kubeconfig is not None:
        return access_from(kubeconfig)
    own = Path.home() / ".kube" / "config"
    if own.exists() and not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return access_from(own)
    return access_in_cluster()
