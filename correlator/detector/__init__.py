"""Detection of drift: compares what Git declares with what is live. Pure: objects in, findings out.

| module | question it answers |
| --- | --- |
| `detect` | how does one object differ from its manifest, in all of the ways below? |
| `leaves` | which declared fields have another value live, or none? |
| `additions` | which live fields were added that Git does not declare? |
| `managers` | who holds a field: the owner, Kubernetes itself, or another writer? |
| `defaults` | what does the API server fill in by itself? |
| `orphans` | which objects did Git once declare, and may they be pruned? |
| `rollouts` | are the replicas of an object still changing, and what scales them? |
"""
