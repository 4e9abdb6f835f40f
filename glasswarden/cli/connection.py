"""How commands reach a cluster."""

from pathlib import Path

import click

from glasswarden.cluster.objects import ClusterUnreachable, Objects, objects_from


def connect(kubeconfig: Path | None) -> Objects:
    """Return the cluster, or end with why there is none."""
    try:
        return objects_from(kubeconfig)
    except ClusterUnreachable as error:
        raise click.ClickException(str(error)) from error
