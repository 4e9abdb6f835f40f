"""Where the guard has no say: a webhook that can stop the cluster can stop its own recovery."""

from typing import Final

OUR_NAMESPACE: Final = "glasswarden"

EXEMPT_NAMESPACES: Final = ("kube-system", "kube-node-lease", "kube-public", OUR_NAMESPACE)
"""Where cluster components live, and the guard itself if it is where its manifests put it; the
namespace of the Service that it is reached by is exempt as well."""
