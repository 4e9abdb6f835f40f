"""What the API server fills in by itself: a field that says the same is no difference.

Defaults appear among the fields of whoever created an object, and inside lists that somebody else
replaced as a whole. Elsewhere nobody holds them and they never show.
"""

from typing import Any, Final

from glasswarden.kube.equality import identical
from glasswarden.kube.path_patterns import PathPattern, parse_pattern
from glasswarden.kube.paths import Key, Path, Select

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
    "/**/imagePullPolicy": ("Always", "IfNotPresent"),
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
    "/spec/podManagementPolicy": ("OrderedReady",),
    "/spec/progressDeadlineSeconds": (600,),
    "/spec/replicas": (1,),
    "/spec/revisionHistoryLimit": (10,),
    "/spec/strategy/type": ("RollingUpdate",),
    "/spec/strategy/rollingUpdate/*": ("25%",),
    "/spec/updateStrategy/type": ("RollingUpdate",),
    "/spec/updateStrategy/rollingUpdate/maxSurge": (0,),
    "/spec/updateStrategy/rollingUpdate/maxUnavailable": (1,),
    "/spec/updateStrategy/rollingUpdate/partition": (0,),
    "/spec/persistentVolumeClaimRetentionPolicy/*": ("Retain",),
    "/spec/volumeClaimTemplates[*]/apiVersion": ("v1",),
    "/spec/volumeClaimTemplates[*]/kind": ("PersistentVolumeClaim",),
    "/spec/volumeClaimTemplates[*]/status": ({"phase": "Pending"},),
    "/**/volumeMode": ("Filesystem",),
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
_IN_NETWORK: Final[dict[str, tuple[Any, ...]]] = {
    "/**/protocol": ("TCP",),
    "/spec/internalTrafficPolicy": ("Cluster",),
    "/spec/externalTrafficPolicy": ("Cluster",),
    "/spec/ipFamilyPolicy": ("SingleStack",),
    "/spec/sessionAffinity": ("None",),
    "/spec/sessionAffinityConfig/clientIP/timeoutSeconds": (10800,),
    "/spec/type": ("ClusterIP",),
    "/spec/allocateLoadBalancerNodePorts": (True,),
    "/spec/parameters/scope": ("Cluster",),
}
_ELSEWHERE: Final[dict[str, tuple[Any, ...]]] = {
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


def _by_last_key(tables: dict[str, tuple[Any, ...]]) -> dict[str, list[tuple[PathPattern, Any]]]:
    """Return the table by the name at the end of each pattern, so that few are ever tried."""
    sorted_: dict[str, list[tuple[PathPattern, Any]]] = {}
    for text, values in tables.items():
        last = text.rpartition("/")[2]
        name = "*" if "*" in last else last.replace("~1", "/")
        sorted_.setdefault(name, []).append((parse_pattern(text), values))
    return sorted_


_DEFAULTS: Final = _by_last_key(
    {**_IN_POD, **_IN_CONTAINER, **_IN_WORKLOAD, **_IN_JOB, **_IN_NETWORK, **_ELSEWHERE}
)
_OWN_VALUES: Final = _by_last_key(dict.fromkeys(_ALLOCATED, ()))


def is_default(path: Path, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether the API server would put *value* at *path* of a built-in kind by itself.

    A map is such a value if all that it holds is.
    """
    pending = [(path, value)]
    while pending:
        path, value = pending.pop()
        if _is_filled_in(path, value):
            continue
        if not isinstance(value, dict) or not value:
            return False
        pending += [(path / Key(key), each) for key, each in value.items()]
    return True


def _is_filled_in(path: Path, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    step = path.step
    if not isinstance(step, Key):
        return False
    names = (step.name, "*")
    if any(
        pattern.matches(path) for name in names for pattern, _ in _OWN_VALUES.get(name, ())
    ) or _is_own_port(path, value):
        return True
    return any(
        pattern.matches(path) and any(identical(value, each) for each in values)
        for name in names
        for pattern, values in _DEFAULTS.get(name, ())
    )


def _is_own_port(path: Path, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    # A Service forwards to the port that it listens on, unless it is told otherwise.
    item = path.parent.step if path.parent else None
    return (
        path.step == Key("targetPort")
        and isinstance(item, Select)
        and dict(item.keys).get("port") == value
    )
