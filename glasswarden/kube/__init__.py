"""Pure functions that read Kubernetes objects: who owns one, and what a write changed in it.

Everything here is a function of decoded JSON: no client, no clock, no logging, no I/O. The packages
above decide and record; this one only reads objects, and never modifies one that it receives.

| module | question it answers |
| --- | --- |
| `objects` | which object is this? |
| `engines` | which GitOps engine and application owns it, and does it steer an engine? |
| `diff` | what did a write change, and who wrote it? |
| `apply` | what does an object look like with these changes made? |
| `hold`, `release`, `fields` | what if some fields stay as they are live, and until when? |
| `json_patch` | how is the API server told to make one object of another? |
| `paths`, `path_patterns` | how is a field named, and which fields does a rule speak about? |
| `notation` | how do kubectl, jq and JSON pointers name an object or a field? |
| `managed`, `authors`, `scaled` | what do managedFields tell about the writer? |

`diff` uses `compare`, which walks both versions. `schema` identifies the items of a list and the
fields that are quantities; `equality` compares values. `builtin_types` and `empty_values` are
generated tables.
"""
