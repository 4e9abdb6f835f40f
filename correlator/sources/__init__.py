"""Findings from other programs and from the ledger. All sources return the same `Finding`.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: their conditions, revisions and inventory |
| `argocd` | Applications: their conditions, revisions, last operation and managed resources |
| `ignore_rules` | their `ignoreDifferences` |
| `reconcilers` | all of these, for what was scanned |
| `ledger`, `ledger_writes` | direct writes that were allowed and are still live |
| `argocd_api` | the comparison of Argo CD itself, through its API |
| `argocd_core` | the same, from its Applications alone |
| `argocd_people` | who edited an object in Argo CD's web UI |
| `kubectl_diff` | the output of `kubectl diff` and `argocd app diff` |
| `flux_diff` | the output of `flux diff kustomization` |
| `json_lines` | findings in the JSON format of this project, one per line |

`imports` lists the formats that are read from a file.
"""
