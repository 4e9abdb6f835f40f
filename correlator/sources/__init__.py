"""Findings that others have made: one source, one file. All give the same `Finding`.

| module | what it reads |
| --- | --- |
| `flux` | Kustomizations and HelmReleases: their conditions, revisions and inventory |
| `argocd` | Applications: their conditions, revisions and last operation |
| `ignores` | their `ignoreDifferences` |
| `reconcilers` | all of these, for what was scanned |
"""
