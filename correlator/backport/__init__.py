"""The way back into Git: a patch that declares what was changed by hand and is to stay.

| module | what it does |
| --- | --- |
| `spans` | where each value of a YAML or JSON document stands in its text |
| `scalars` | a value as YAML or JSON text |
| `rewrite` | a text that means another value, with no other line touched |
| `values` | a value with one field set, by the path that a record gives it |
| `manifests` | the objects that a file holds, and where |
| `choose`, `wanted` | what is to be written back, out of a report |
| `tree` | the files of a repository, as they are and as they would be |
| `plain`, `overlays`, `charts` | where a field could be declared: candidates, best first |
| `kustomization`, `images`, `patches`, `generators` | what overlays are made of |
| `candidate` | one such place, tried out on the files |
| `place` | the candidate that renders to exactly what is live, or why there is none |
| `unified` | the patch |
| `message` | what is said about it: on the terminal, and in the commit |
| `workshop`, `repository` | the edges: a copy to render in, and Git |

No candidate is trusted: each one is rendered, and counts only if what was wanted changes to its
live value and nothing else changes at all.
"""
