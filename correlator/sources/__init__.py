"""Findings that others have made: one source, one file. All give the same `Finding`.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: their conditions, revisions and inventory |
| `argocd` | Applications: their conditions, revisions and last operation |
| `ignores` | their `ignoreDifferences` |
| `reconcilers` | all of these, for what was scanned |
| `diffs` | the output of `kubectl diff` and `argocd app diff` |
| `json_lines` | findings in the form that we print them, one a line |

`IMPORTS` names those that are read from a file. To add one: a file with a function of text, and its
line here.
"""

from collections.abc import Callable, Mapping
from typing import Final

from correlator.finding import Result
from correlator.sources.diffs import read_diff
from correlator.sources.json_lines import read_json_lines

IMPORTS: Final[Mapping[str, Callable[[str, str], Result]]] = {
    "argocd-diff": read_diff,
    "json": read_json_lines,
    "kubectl-diff": read_diff,
}
"""How each format is read: its text, and the name of the source."""
