"""The programs that the tests run for real: where each comes from and how it is built.

The versions are those of the Go modules in `programs/`, which hold no code: a `go.mod` that names
the programs as tools, and a `go.sum`. This module only knows; `build` acts.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cache import cache_folder, digest

MODULES: Final = Path(__file__).resolve().parent / "programs"

# The same for every program: no C compiler needed, no path of this machine inside.
BUILD_FLAGS: Final = ("-mod=readonly", "-buildvcs=false", "-trimpath")
VERSION_VARIABLES: Final = (
    "k8s.io/component-base/version.gitVersion",
    "k8s.io/client-go/pkg/version.gitVersion",  # the version in the user agent
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a module."""

    name: str
    package: str
    seconds: int
    """What its first build takes on two cores, the programs above it being built."""


@dataclass(frozen=True, slots=True)
class Module:
    """A Go module under `programs/`."""

    name: str
    source: str
    """The Go module that it is about, whose version is the programs' version."""
    programs: tuple[Program, ...]
    versioned: bool = False
    """Whether the programs are told their version: the API server refuses to be without one."""
    manifests: str | None = None
    """The folder of *source* that holds the custom resource definitions, if it has any."""
    lacking: tuple[str, ...] = ()
    """Files that *source* embeds and its Go module lacks, for its makers fetch them first: empty
    ones take their place."""
    oldest_packaged: str = ""
    """From which version on the machine's own program serves as well, if any does."""

    @property
    def folder(self) -> Path:
        return MODULES / self.name

    @property
    def version(self) -> str:
        """The version of *source* that go.mod requires."""
        text = (self.folder / "go.mod").read_text()
        found = re.search(rf"^(?:require|\t)\s*{re.escape(self.source)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.folder / 'go.mod'} does not require {self.source}")
        return found[1]

    @property
    def go_version(self) -> str:
        """The oldest Go that can build it."""
        return parse_go_line((self.folder / "go.mod").read_text())

    @property
    def ldflags(self) -> str:
        variables = VERSION_VARIABLES if self.versioned else ()
        return " ".join(("-s -w", *(f"-X {name}={self.version}" for name in variables)))

    @property
    def built(self) -> Path:
        """The folder in the cache that holds, or will hold, what is built of it."""
        recipe = " ".join((*BUILD_FLAGS, self.ldflags, *self.lacking)).encode()
        contents = ((self.folder / name).read_bytes() for name in ("go.mod", "go.sum"))
        return cache_folder() / "programs" / f"{self.name}-{digest(recipe, *contents)}"

    @property
    def definitions(self) -> Path:
        """The folder in the cache with the custom resource definitions."""
        return self.built / "definitions"


def parse_go_line(text: str) -> str:
    """Return the version in the `go` line of a go.mod."""
    found = re.search(r"^go (\S+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError("a go.mod without a go line")
    return found[1]


KUBERNETES: Final = (
    Module(
        "kubernetes",
        "k8s.io/kubernetes",
        (
            Program("etcd", "go.etcd.io/etcd/server/v3", 52),
            Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", 209),
            Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", 28),
            Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", 63),
        ),
        versioned=True,
    ),
)
SOURCE_CONTROLLER: Final = Module(
    "source-controller",
    "github.com/fluxcd/source-controller",
    (Program("source-controller", "github.com/fluxcd/source-controller", 144),),
    manifests="config/crd/bases",
)
KUSTOMIZE_CONTROLLER: Final = Module(
    "kustomize-controller",
    "github.com/fluxcd/kustomize-controller",
    (Program("kustomize-controller", "github.com/fluxcd/kustomize-controller", 106),),
    manifests="config/crd/bases",
)
ARGOCD: Final = Module(
    "argocd",
    "github.com/argoproj/argo-cd/v3",
    (Program("argocd", "github.com/argoproj/argo-cd/v3/cmd", 221),),
    manifests="manifests/crds",
)
FLUX: Final = Module(
    "flux",
    "github.com/fluxcd/flux2/v2",
    (Program("flux", "github.com/fluxcd/flux2/v2/cmd/flux", 60),),
    lacking=("cmd/flux/manifests/none.yaml",),
)
GITOPS: Final = (SOURCE_CONTROLLER, KUSTOMIZE_CONTROLLER, FLUX, ARGOCD)
KUSTOMIZE: Final = Module(
    "kustomize",
    "sigs.k8s.io/kustomize/kustomize/v5",
    (Program("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", 10),),
)
HELM: Final = Module(
    "helm",
    "helm.sh/helm/v4",
    (Program("helm", "helm.sh/helm/v4/cmd/helm", 104),),
)
RENDER: Final = (KUSTOMIZE, HELM)
PROMTOOL: Final = Module(
    "promtool",
    "github.com/prometheus/prometheus",
    (Program("promtool", "github.com/prometheus/prometheus/cmd/promtool", 386),),
    oldest_packaged="2.42",  # Debian 12's
)
GROUPS: Final = {
    "kubernetes": KUBERNETES,
    "gitops": GITOPS,
    "render": RENDER,
    "promtool": (PROMTOOL,),
}
