"""Findings that others have made: one source, one file. All give the same `Finding`.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: their conditions, revisions and inventory |
| `argocd` | Applications: their conditions, revisions and last operation |
| `reconcilers` | which of these own what was scanned |
| `kubectl_diff` | the output of `kubectl diff` |
| `flux_diff` | the output of `flux diff kustomization` |
| `json_lines` | findings in our own JSON, one a line |
"""
