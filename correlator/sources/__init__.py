"""Findings of other programs, and of the reconcilers: one module for each source.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: conditions, revisions and inventory |
| `argocd` | Applications: conditions, revisions and the last operation; compared objects |
| `argocd_api` | what Argo CD compares, through its API |
| `argocd_core` | the same, from its Applications alone |
| `argocd_people` | who edited an object in the web UI of Argo CD |
| `reconcilers` | all of these, for the objects of a scan |
| `ignore_rules` | the fields that an Application ignores |
| `ledger`, `ledger_writes` | allowed direct writes that are still live |
| `kubectl_diff` | the output of `kubectl diff` and `argocd app diff` |
| `flux_diff` | the output of `flux diff kustomization` |
| `json_lines` | findings as `drift` prints them, one a line |
| `imports` | the formats that `--import` reads from a file |

All of them return the same `Finding`. `correlator.inspection.sources` makes each one a `Source`.
"""
