"""What Kubernetes objects say about themselves: whose they are, and what a write changed in them.

Everything here is a function of decoded JSON: no client, no clock, no logging, no I/O. The packages
above decide and record; this one only reads objects, and never modifies one that it was given.

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

What `diff` is made of: `compare` walks both versions with the help of `schema` (how a list's items
are told apart, what is an amount), `identity`, `equality` and `quantity`; `noise` says what does
not count; `lookup` finds the value at a path; `path_syntax` is the text of paths.
"""
