"""The program that explains drift: what is not as Git says, what kind of difference, and why.

| module | what it does |
| --- | --- |
| `finding` | what every source of findings gives |
| `declared` | what Git says: plain YAML, Kustomize, Helm, from a folder or a revision |
| `live` | what the cluster holds, kind by kind, or what a folder holds of it |
| `detector` | pure: where the two differ |
| `classify` | pure: what kind of difference that is, whose, and what to do |
| `scan` | one pass over all of it |
"""
