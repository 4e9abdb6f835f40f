"""The GitOps engines: what each of them owns, and everything else that is specific to one.

| module | content |
| --- | --- |
| `registry` | the list of engines, whose object an object is, and how to add an engine |
| `engine` | `Engine`, what a module of an engine provides |
| `settings` | what the policy file can say about an engine |
| `cel` | the expressions that claims are made of |
| `custom` | an engine made from a marker of the policy file |

The other modules are one engine each.
"""
