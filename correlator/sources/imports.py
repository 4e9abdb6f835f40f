"""The formats of other programs' findings that can be read from a file.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: their conditions, revisions and inventory |
| `argocd` | Applications: their conditions, revisions and last operation |
| `ignore_rules` | their `ignoreDifferences` |
| `reconcilers` | all of these, for what was scanned |
| `ledger` | direct writes that were allowed and are still live |
| `argocd_api` | what Argo CD itself sees, through its API |
| `argocd_core` | the same, by its Applications alone |
| `argocd_people` | who edited an object in Argo CD's web UI |
| `kubectl_diff` | the output of `kubectl diff` and `argocd app diff` |
| `flux_diff` | the output of `flux diff kustomization` |
| `json_lines` | findings in the form that we print them, one a line |

`IMPORTS` names those that are read from a file. To add one: a file with a function of text, and its
line here. The others are asked by whoever makes a pass.
"""

from collections.abc import Callable, Mapping
from typing import Final

from correlator.finding import Result
from correlator.sources.flux_diff import read_flux_diff
from correlator.sources.json_lines import read_json_lines
from correlator.sources.kubectl_diff import read_diff

IMPORTS: Final[Mapping[str, Callable[[str, str], Result]]] = {
    "argocd-diff": read_diff,
    "flux-diff": read_flux_diff,
    "json": read_json_lines,
    "kubectl-diff": read_diff,
}
"""How each format is read: its text, and the name of the source."""
