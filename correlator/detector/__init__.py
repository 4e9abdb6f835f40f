"""Where the cluster is not as Git says. Pure: objects in, findings out.

| module | question it answers |
| --- | --- |
| `meaning` | what does a manifest declare, as the API server stores it? |
| `leaves` | which declared fields have another value live, or none? |
| `additions` | which live fields did somebody add that Git does not declare? |
| `managers` | whose are the fields: the owner's, Kubernetes' own, or somebody else's? |
| `defaults` | what does the API server fill in by itself? |
| `orphans` | which objects did Git once declare, and may they be pruned? |
| `detect` | all of it, for one object |
"""
