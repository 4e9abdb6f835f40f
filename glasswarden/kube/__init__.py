"""What Kubernetes objects say about themselves: whose they are, and what a write changed in them.

Everything here is a function of decoded JSON: no client, no clock, no logging, no I/O. The packages
above decide and record; this one only reads objects, and never modifies one that it was given.

| module | question it answers |
| --- | --- |
| `objects` | which object is this? |
| `owners` | which GitOps engine and application owns it? |
| `reconcilers` | is it one of the engines' own objects? |
| `paths` | how is a field named, and which fields does a pattern cover? |
| `quantity` | do two spellings mean the same amount? |
| `managed` | which field manager wrote what, and who made this write? |
| `merge_keys` | how are the items of a list told apart? |
| `noise` | which fields change without anybody deciding so? |
| `diff` | what did the write change? |
"""
