"""Findings that others have made: one source, one file. All give the same `Finding`.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: their conditions, revisions and inventory |
| `argocd` | Applications: their conditions, revisions and last operation |
| `ignores` | their `ignoreDifferences` |
| `reconcilers` | all of these, for what was scanned |
| `ledger` | direct writes that were let in, and still stand |
| `argocd_api`, `managed_resources` | what Argo CD itself sees, through its API |
| `argocd_core` | the same, by its Applications alone |
| `argocd_people` | who edited an object in Argo CD's web UI |
| `diffs` | the output of `kubectl diff` and `argocd app diff` |
| `flux_diff` | the output of `flux diff kustomization` |
| `json_lines` | findings in the form that we print them, one a line |

`IMPORTS` names those that are read from a file. To add one: a file with a function of text, and its
line here. The others are asked by whoever makes a pass.
"""
