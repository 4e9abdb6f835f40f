"""Rendering of Kustomize overlays, Helm charts and plain manifests.

Kustomize is `kustomize build`, or `kubectl kustomize` in its absence. A Helm release has the name
and namespace of the application; hooks and tests are not part of it. In a folder of plain YAML and
JSON, a folder for Kustomize is built, as Flux does; a chart is not rendered, because it needs
values and a name.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from correlator.declared.errors import DeclaredUnreadable, ProgramMissing
from correlator.declared.git import find_program, output_of
from correlator.declared.manifests import Manifests, join_manifests, parse_documents
from correlator.finding import Incomplete
from glasswarden.kube.engines.helm import is_helm_hook

_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def is_kustomization(folder: Path) -> bool:
    """Return whether *folder* is to be built with Kustomize."""
    return any((folder / name).is_file() for name in _FILES)


def build_kustomization(folder: Path) -> Manifests:
    """Return what Kustomize makes of *folder*."""
    return parse_documents(
        output_of([*_build_command(), folder]), f"{folder.name} (kustomize build)"
    )


def _build_command() -> list[str]:
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build"]
    if kubectl := shutil.which("kubectl"):
        return [kubectl, "kustomize"]
    raise ProgramMissing("neither kustomize nor kubectl is installed; one of them builds overlays")


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
    """Return whether *folder* is a Helm chart."""
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


_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


def read_plain(path: Path) -> Manifests:
    """Return what the files at or below *path* declare; hidden ones are passed over."""
    if path.is_file():
        return _read_file(path, path.name)
    if not path.is_dir():
        raise DeclaredUnreadable(f"{path} does not exist")
    return join_manifests(_read_below(path))


def _read_below(root: Path) -> Iterator[Manifests]:
    pending = [root]
    while pending:
        folder = pending.pop()
        name = str(folder.relative_to(root))
        if folder != root and is_chart(folder):
            why = "a Helm chart inside a folder of manifests: give it as --path of its own"
            yield Manifests(incomplete=(Incomplete(name, why),))
        elif folder != root and is_kustomization(folder):
            yield _build(folder, name)
        else:
            entries = [entry for entry in sorted(folder.iterdir()) if entry.name[0] != "."]
            pending += [entry for entry in reversed(entries) if _is_folder(entry)]
            yield from (
                _new_unfollowed(entry, name) for entry in entries if _leads_out(entry, root)
            )
            for file in entries:
                if file.suffix in _SUFFIXES and file.is_file():
                    yield _read_file(file, str(file.relative_to(root)))


def _is_folder(entry: Path) -> bool:
    # A link to a folder above would be walked for ever.
    return entry.is_dir() and not entry.is_symlink()


def _leads_out(entry: Path, root: Path) -> bool:
    """Return whether *entry* is a link to a folder that is not read where it stands itself."""
    if not entry.is_symlink() or not entry.is_dir():
        return False
    target, above = entry.resolve(), root.resolve()
    if not target.is_relative_to(above):
        return True
    return any(part.startswith(".") for part in target.relative_to(above).parts)


def _new_unfollowed(link: Path, folder: str) -> Manifests:
    why = "a link to a folder elsewhere, which no engine follows: what is there is not compared"
    return Manifests(incomplete=(Incomplete(str(Path(folder, link.name)), why),))


def _build(folder: Path, name: str) -> Manifests:
    try:
        return build_kustomization(folder)
    except DeclaredUnreadable as error:
        return Manifests(incomplete=(Incomplete(name, str(error)),))


def _read_file(file: Path, name: str) -> Manifests:
    try:
        return parse_documents(file.read_text("utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        return Manifests(incomplete=(Incomplete(name, f"cannot be read: {error}"),))
