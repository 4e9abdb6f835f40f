"""The defaults of the API server: a live field that equals its default is not a difference.

Defaults appear among the fields of the manager that created an object, and inside lists that
another manager replaced as a whole. Elsewhere they have no manager and are never compared.
"""

from typing import Any, Final, NamedTuple

from glasswarden.kube.compare import Value
from glasswarden.kube.equality import is_identical
from glasswarden.kube.paths import Key, Path, Select
from glasswarden.kube.patterns import PathPattern, parse_pattern

_IN_POD: Final[dict[str, tuple[Any, ...]]] = {
    "/**/spec/dnsPolicy": ("ClusterFirst",),
    "/**/spec/enableServiceLinks": (True,),
    "/**/spec/preemptionPolicy": ("PreemptLowerPriority",),
    "/**/spec/priority": (0,),
    "/**/spec/restartPolicy": ("Always",),
    "/**/spec/schedulerName": ("default-scheduler",),
    "/**/spec/securityContext": ({},),
    "/**/spec/serviceAccount": ("default",),
    "/**/spec/serviceAccountName": ("default",),
    "/**/spec/terminationGracePeriodSeconds": (30,),
    "/**/volumes[*]/*/defaultMode": (420,),
    "/**/volumes[*]/hostPath/type": ("",),
    "/**/sources[*]/serviceAccountToken/expirationSeconds": (3600,),
    "/**/fieldRef/apiVersion": ("v1",),
    "/**/resourceFieldRef/divisor": ("0",),
}
_IN_CONTAINER: Final[dict[str, tuple[Any, ...]]] = {
    "/**/resources": ({},),
    "/**/terminationMessagePath": ("/dev/termination-log",),
    "/**/terminationMessagePolicy": ("File",),
    "/**/*Probe/failureThreshold": (3,),
    "/**/*Probe/periodSeconds": (10,),
    "/**/*Probe/successThreshold": (1,),
    "/**/*Probe/timeoutSeconds": (1,),
    "/**/httpGet/scheme": ("HTTP",),
    "/**/grpc/service": ("",),
}
_IN_WORKLOAD: Final[dict[str, tuple[Any, ...]]] = {
    "/spec/minReadySeconds": (0,),
    "/spec/replicas": (1,),
    "/spec/revisionHistoryLimit": (10,),
}
_IN_DEPLOYMENT: Final[dict[str, tuple[Any, ...]]] = {
    "/spec/progressDeadlineSeconds": (600,),
    "/spec/strategy/type": ("RollingUpdate",),
    "/spec/strategy/rollingUpdate/*": ("25%",),
}
_IN_DAEMON_SET: Final[dict[str, tuple[Any, ...]]] = {
    "/spec/updateStrategy/type": ("RollingUpdate",),
    "/spec/updateStrategy/rollingUpdate/maxSurge": (0,),
    "/spec/updateStrategy/rollingUpdate/maxUnavailable": (1,),
}
_IN_STATEFUL_SET: Final[dict[str, tuple[Any, ...]]] = {
    "/spec/podManagementPolicy": ("OrderedReady",),
    "/spec/updateStrategy/type": ("RollingUpdate",),
    "/spec/updateStrategy/rollingUpdate/maxUnavailable": (1,),
    "/spec/updateStrategy/rollingUpdate/partition": (0,),
    "/spec/persistentVolumeClaimRetentionPolicy/*": ("Retain",),
    "/spec/volumeClaimTemplates[*]/apiVersion": ("v1",),
    "/spec/volumeClaimTemplates[*]/kind": ("PersistentVolumeClaim",),
    "/spec/volumeClaimTemplates[*]/status": ({"phase": "Pending"},),
}
_IN_JOB: Final[dict[str, tuple[Any, ...]]] = {
    "/**/backoffLimit": (6,),
    "/**/completionMode": ("NonIndexed",),
    "/**/completions": (1,),
    "/**/manualSelector": (False,),
    "/**/parallelism": (1,),
    "/**/podReplacementPolicy": ("TerminatingOrFailed",),
    "/**/suspend": (False,),
    "/spec/concurrencyPolicy": ("Allow",),
    "/spec/failedJobsHistoryLimit": (1,),
    "/spec/successfulJobsHistoryLimit": (3,),
}
_IN_SERVICE: Final[dict[str, tuple[Any, ...]]] = {
    "/spec/internalTrafficPolicy": ("Cluster",),
    "/spec/externalTrafficPolicy": ("Cluster",),
    "/spec/ipFamilyPolicy": ("SingleStack",),
    "/spec/sessionAffinity": ("None",),
    "/spec/sessionAffinityConfig/clientIP/timeoutSeconds": (10800,),
    "/spec/type": ("ClusterIP",),
    "/spec/allocateLoadBalancerNodePorts": (True,),
}
_ELSEWHERE: Final[dict[str, tuple[Any, ...]]] = {
    "/**/protocol": ("TCP",),
    "/**/volumeMode": ("Filesystem",),
    "/spec/parameters/scope": ("Cluster",),
    "/**/rules[*]/scope": ("*",),
    "/**/resourceRules[*]/scope": ("*",),
    "/webhooks[*]/timeoutSeconds": (10,),
    "/**/matchPolicy": ("Equivalent",),
    "/**/failurePolicy": ("Fail",),
    "/**/reinvocationPolicy": ("Never",),
    "/webhooks[*]/namespaceSelector": ({},),
    "/webhooks[*]/objectSelector": ({},),
    "/spec/matchConstraints/namespaceSelector": ({},),
    "/spec/matchConstraints/objectSelector": ({},),
    "/**/clientConfig/service/port": (443,),
    "/subjects[*]/apiGroup": ("rbac.authorization.k8s.io",),
    "/reclaimPolicy": ("Delete",),
    "/volumeBindingMode": ("Immediate",),
    "/spec/persistentVolumeReclaimPolicy": ("Retain",),
    "/spec/conversion/strategy": ("None",),
    "/spec/finalizers": (["kubernetes"],),
}
_ALLOCATED: Final = (
    "/spec/clusterIP",
    "/spec/clusterIPs",
    "/spec/healthCheckNodePort",
    "/spec/ipFamilies",
    "/spec/volumeName",
    "/spec/selector/matchLabels/batch.kubernetes.io~1*",
    "/spec/template/metadata/labels/batch.kubernetes.io~1*",
    "/spec/template/metadata/labels/controller-uid",
    "/spec/template/metadata/labels/job-name",
    "/metadata/labels/kubernetes.io~1metadata.name",
)
"""Fields that get a value of their own in every object."""


class _Default(NamedTuple):
    """A field that is filled in."""

    pattern: PathPattern
    values: tuple[Any, ...]
    kinds: tuple[str, ...]
    """The only kinds that it is filled in for; all of them where it is empty."""


def _index_by_last_key(
    *tables: tuple[dict[str, tuple[Any, ...]], str],
) -> dict[str, list[_Default]]:
    """Return the tables by the name at the end of each pattern, so that few are ever tried."""
    sorted_: dict[str, list[_Default]] = {}
    for table, kinds in tables:
        for text, values in table.items():
            last = text.rpartition("/")[2]
            name = "*" if "*" in last else last.replace("~1", "/")
            found = _Default(parse_pattern(text), values, tuple(kinds.split()))
            sorted_.setdefault(name, []).append(found)
    return sorted_


_DEFAULTS: Final = _index_by_last_key(
    (_IN_POD, ""),
    (_IN_CONTAINER, ""),
    (_IN_WORKLOAD, "DaemonSet Deployment ReplicaSet ReplicationController StatefulSet"),
    (_IN_DEPLOYMENT, "Deployment"),
    (_IN_DAEMON_SET, "DaemonSet"),
    (_IN_STATEFUL_SET, "StatefulSet"),
    (_IN_JOB, "CronJob Job"),
    (_IN_SERVICE, "Service"),
    (_ELSEWHERE, ""),
)
_OWN_VALUES: Final = _index_by_last_key((dict.fromkeys(_ALLOCATED, ()), ""))


def is_default(path: Path, value: Value, kind: str, around: Value = None) -> bool:
    """Return whether the API server would put *value* at *path* of a built-in *kind* by itself.

    A map is such a value if all that it holds is. *around* is the map that *value* stands in.
    """
    pending = [(path, value, around)]
    while pending:
        path, value, around = pending.pop()
        if _is_filled_in(path, value, kind) or _is_pull_policy(path, value, around):
            continue
        if not isinstance(value, dict) or not value:
            return False
        pending += [(path / Key(key), each, value) for key, each in value.items()]
    return True


def _is_filled_in(path: Path, value: Value, kind: str) -> bool:
    step = path.step
    if not isinstance(step, Key):
        return False
    names = (step.name, "*")
    if any(
        each.pattern.matches(path) for name in names for each in _OWN_VALUES.get(name, ())
    ) or _is_own_port(path, value):
        return True
    return any(
        (not each.kinds or kind in each.kinds)
        and each.pattern.matches(path)
        and any(is_identical(value, other) for other in each.values)
        for name in names
        for each in _DEFAULTS.get(name, ())
    )


def _is_pull_policy(path: Path, value: Value, around: Value) -> bool:
    """Return whether *value* is how images are pulled where nobody says: by what their tag is."""
    if path.step != Key("imagePullPolicy"):
        return False
    image = around.get("image") if isinstance(around, dict) else None
    if not isinstance(image, str):
        return value in ("Always", "IfNotPresent")
    name, _, digest = image.rpartition("/")[2].partition("@")
    tag = name.partition(":")[2] or ("" if digest else "latest")
    return bool(value == ("Always" if tag == "latest" else "IfNotPresent"))


def _is_own_port(path: Path, value: Value) -> bool:
    # A Service forwards to the port that it listens on, unless it is told otherwise.
    item = path.parent.step if path.parent else None
    return (
        path.step == Key("targetPort")
        and isinstance(item, Select)
        and dict(item.keys).get("port") == value
    )
