"""Pure functions that read Kubernetes objects: who owns one, and what a write changed in it.

Everything here is a function of decoded JSON: no client, no clock, no logging, no I/O. The packages
above decide and record; this one only reads objects, and never modifies one that it receives.

| module | question it answers |
| --- | --- |
| `objects` | which object is this? |
| `engines` | which GitOps engine and application owns it, and is it an engine's own object? |
| `diff` | what did a write change, which of it counts, and who wrote it? |
| `patch` | what is the object with these changes applied, and as which JSON Patch? |
| `hold` | what is a write in which some fields keep their live values, and when does that end? |
| `paths`, `patterns` | how is a field named, and which fields does a rule cover? |
| `managed_fields` | what do managedFields show about the writer? |
| `verbs` | which command did a person probably use? |
| `events` | what is the manifest of a Kubernetes Event? |

`diff` uses `compare`, which walks both versions. `schema` identifies the items of a list and the
fields that are quantities; `equality` compares values. `builtin_types` and `empty_values` are
generated tables.
"""
