"""Helm: what `helm template` makes of a chart.

The release is named and placed as the application is; hooks and tests are not part of what stays.
"""

from dataclasses import dataclass
from pathlib import Path

from correlator.declared.documents import Manifests, parse_documents
from correlator.declared.hooks import is_helm_hook
from correlator.declared.programs import find_program, output_of


@dataclass(frozen=True, slots=True)
class Release:
    """How a chart is installed."""

    name: str = ""
    """The release's name; empty for the folder's."""
    namespace: str = ""
    """Its namespace; empty for `default`."""
    values: tuple[Path, ...] = ()
    """Files with values, later ones winning."""


def is_chart(folder: Path) -> bool:
    """Tell whether *folder* is a Helm chart."""
    return (folder / "Chart.yaml").is_file()


def render_chart(folder: Path, release: Release) -> Manifests:
    """Return what Helm makes of the chart in *folder*."""
    helm = find_program("helm", "it renders charts")
    name = release.name or folder.resolve().name
    values = [argument for file in release.values for argument in ("--values", file)]
    output = output_of(
        [
            *(helm, "template", name, folder, "--include-crds"),
            *("--namespace", release.namespace or "default"),
            *values,
        ]
    )
    rendered = parse_documents(output, f"{folder.name} (helm template)")
    kept = tuple(each for each in rendered.objects if not is_helm_hook(each.manifest))
    return Manifests(kept, rendered.incomplete)
