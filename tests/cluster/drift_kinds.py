"""One manifest of each of many kinds, and what people do to it: the detector's examination.

Each mutation says which fields the detector must then name, and it must name no others.
"""

# ruff: noqa: E501 - a table reads best with a row a line

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from glasswarden.kube.objects import Object

NAMESPACE: Final = "drift"
FLUX: Final = {
    "kustomize.toolkit.fluxcd.io/name": "exam",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}

Patch = list[dict[str, Any]]


def set_(path: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    return {"op": "add", "path": path, "value": value}


def put(path: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Replace an item of a list, where `set_` would insert one."""
    return {"op": "replace", "path": path, "value": value}


def drop(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


@dataclass(frozen=True, slots=True)
class Mutation:
    """What somebody does to an object, and what must be found afterwards."""

    name: str
    patch: Patch
    finds: tuple[str, ...]
    """The fields; none for what only looks like a change."""
    manager: str = "kubectl-edit"
    delete: bool = False


@dataclass(frozen=True, slots=True)
class Specimen:
    """A kind, its manifest, and mutations of its own."""

    manifest: Object
    mutations: tuple[Mutation, ...]
    deletable: bool = True

    @property
    def label(self) -> str:
        return str(self.manifest["kind"])


@dataclass(frozen=True, slots=True)
class Case:
    """One mutation of one object of its own."""

    manifest: Object
    mutation: Mutation
    name: str = field(default="")


def change(
    name: str,
    path: str,
    value: Any,  # noqa: ANN401 - any JSON value
    found: str = "",
    manager: str = "kubectl-edit",
) -> Mutation:
    """Return a mutation that sets one field; *found* where the detector names it otherwise."""
    return Mutation(name, [set_(path, value)], (found or path,), manager)


def remove(name: str, path: str, found: str = "") -> Mutation:
    return Mutation(name, [drop(path)], (found or path,))


def nothing(name: str, *patch: dict[str, Any]) -> Mutation:
    """Return a mutation that changes how something is written, but not what it means."""
    return Mutation(name, list(patch), ())


def specimen(
    api_version: str,
    kind: str,
    *mutations: Mutation,
    namespaced: bool = True,
    deletable: bool = True,
    **fields: Any,  # noqa: ANN401 - any JSON value
) -> Specimen:
    metadata: Object = {
        "name": kind.lower(),
        "labels": {"team": "shop"},
        "annotations": {"example.com/contact": "shop", "example.com/empty": ""},
    }
    if namespaced:
        metadata["namespace"] = NAMESPACE
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return Specimen(manifest, mutations, deletable)


GENERIC: Final = (
    change("label changed", "/metadata/labels/team", "other", manager="kubectl-label"),
    remove("label removed", "/metadata/labels/team"),
    change("label added", "/metadata/labels/by", "hand", manager="kubectl-label"),
    change(
        "annotation changed", "/metadata/annotations/example.com~1contact", "other",
        manager="kubectl-annotate",
    ),
    remove("empty annotation removed", "/metadata/annotations/example.com~1empty"),
    change(
        "annotation added", "/metadata/annotations/example.com~1note", "x",
        manager="kubectl-annotate",
    ),
    nothing("untouched", set_("/metadata/labels/team", "shop")),
)  # fmt: skip
"""What can be done to an object of any kind."""

DELETED: Final = Mutation("deleted", [], ("/",), delete=True)

CONTAINERS: Final = "/spec/template/spec/containers"
APP: Final = f"{CONTAINERS}[name=app]"


def container(**more: Any) -> Object:  # noqa: ANN401 - any JSON value
    return {
        "name": "app",
        "image": "registry.example/app:1",
        "args": ["--fast"],
        "env": [{"name": "MODE", "value": "prod"}, {"name": "EMPTY", "value": ""}],
        "ports": [{"containerPort": 8080, "name": "http"}],
        "resources": {"requests": {"cpu": "0.5", "memory": "1Gi"}, "limits": {"memory": "1024Mi"}},
        "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - in a container
        **more,
    }


def pod_spec(**more: Any) -> Object:  # noqa: ANN401 - any JSON value
    return {
        "containers": [container()],
        "hostNetwork": False,
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        **more,
    }


def template(**more: Any) -> Object:  # noqa: ANN401 - any JSON value
    return {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(**more)}


SELECTOR: Final = {"matchLabels": {"app": "web"}}


def pod_mutations(prefix: str = "/spec/template") -> tuple[Mutation, ...]:
    """Return what is done to the containers of a workload."""
    pod = f"{prefix}/spec"
    first, app = f"{pod}/containers/0", f"{pod}/containers[name=app]"
    return (
        change("image", f"{first}/image", "registry.example/app:2", f"{app}/image", "kubectl-set"),
        change("args", f"{first}/args", ["--slow"], f"{app}/args"),
        change("env value", f"{first}/env/0/value", "test", f"{app}/env[name=MODE]/value"),
        remove("env removed", f"{first}/env/0", f"{app}/env[name=MODE]"),
        change("env added", f"{first}/env/-", {"name": "DEBUG", "value": "1"}, f"{app}/env[name=DEBUG]"),
        change("cpu", f"{first}/resources/requests/cpu", "2", f"{app}/resources/requests/cpu"),
        nothing("cpu spelled otherwise", set_(f"{first}/resources/requests/cpu", "500m")),
        change("limit added", f"{first}/resources/limits/cpu", "3", f"{app}/resources/limits/cpu"),
        remove(
            "security removed", f"{first}/securityContext/allowPrivilegeEscalation",
            f"{app}/securityContext/allowPrivilegeEscalation",
        ),
        change(
            "security added", f"{first}/securityContext/readOnlyRootFilesystem", True,
            f"{app}/securityContext/readOnlyRootFilesystem",
        ),
        change(
            "container added", f"{pod}/containers/-", {"name": "debug", "image": "shell"},
            f"{pod}/containers[name=debug]",
        ),
        change("port", f"{first}/ports/0/name", "web", f"{app}/ports[containerPort=8080,protocol=TCP]/name"),
        change("probe", f"{first}/readinessProbe/httpGet/path", "/", f"{app}/readinessProbe/httpGet/path"),
        change("probe timing", f"{first}/readinessProbe/periodSeconds", 60, f"{app}/readinessProbe/periodSeconds"),
        change("host network", f"{pod}/hostNetwork", True),
        change("node selector added", f"{pod}/nodeSelector/zone", "a", f"{pod}/nodeSelector/zone"),
        change("tolerations", f"{pod}/tolerations", [], f"{pod}/tolerations"),
        Mutation(
            "volume replaced",
            [put(f"{pod}/volumes/0", {"name": "tmp", "hostPath": {"path": "/"}})],
            (f"{pod}/volumes[name=tmp]/emptyDir", f"{pod}/volumes[name=tmp]/hostPath/path"),
        ),
        change("grace", f"{pod}/terminationGracePeriodSeconds", 5),
        nothing("grace as by default", set_(f"{pod}/terminationGracePeriodSeconds", 30)),
    )  # fmt: skip


WEBHOOK: Final = {
    "name": "check.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "failurePolicy": "Ignore",
    "clientConfig": {"url": "https://check.example.com/"},
    "rules": [
        {
            "apiGroups": ["nothing.example.com"],
            "apiVersions": ["v1"],
            "resources": ["nothings"],
            "operations": ["CREATE"],
        }
    ],
}
WEBHOOK_MUTATIONS: Final = (
    change("failure policy", "/webhooks/0/failurePolicy", "Fail", "/webhooks[name=check.example.com]/failurePolicy"),
    change("url", "/webhooks/0/clientConfig/url", "https://other.example.com/", "/webhooks[name=check.example.com]/clientConfig/url"),
    change("timeout added", "/webhooks/0/timeoutSeconds", 3, "/webhooks[name=check.example.com]/timeoutSeconds"),
    change("rule", "/webhooks/0/rules/0/operations", ["*"], "/webhooks[name=check.example.com]/rules[0]/operations"),
)  # fmt: skip

RULES: Final = [{"apiGroups": ["nothing.example.com"], "resources": ["nothings"], "verbs": ["get"]}]
RULE_MUTATIONS: Final = (
    change("verbs", "/rules/0/verbs", ["*"], "/rules[0]/verbs"),
    change("rule added", "/rules/-", {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, "/rules"),
    remove("rules removed", "/rules/0", "/rules"),
    change("names added", "/rules/0/resourceNames", ["one"], "/rules[0]/resourceNames"),
)  # fmt: skip
SUBJECTS: Final = [{"kind": "Group", "name": "shop", "apiGroup": "rbac.authorization.k8s.io"}]
SUBJECT_MUTATIONS: Final = (
    change("subject", "/subjects/0/name", "everybody", "/subjects[0]/name"),
    change("subject added", "/subjects/-", {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}, "/subjects"),
)  # fmt: skip

WIDGET: Final = {
    "size": 3,
    "ratio": "500m",
    "enabled": False,
    "options": {},
    "rules": [{"id": "a", "to": "x"}, {"id": "b", "to": "y"}],
    "tags": ["one", "two"],
    "hosts": [{"name": "h1"}, {"name": "h2"}],
}
WIDGET_MUTATIONS: Final = (
    change("size", "/spec/size", 5),
    change("ratio is text here", "/spec/ratio", "0.5"),
    change("enabled", "/spec/enabled", True),
    remove("false removed", "/spec/enabled"),
    remove("empty map removed", "/spec/options"),
    change("option added", "/spec/options", {"fast": True}, "/spec/options/fast"),
    change("field added", "/spec/note", "x"),
    change("atomic item", "/spec/hosts/1/name", "h9", "/spec/hosts[1]/name"),
    change("atomic item added", "/spec/hosts/-", {"name": "h3"}, "/spec/hosts"),
    change("inside an atomic item", "/spec/hosts/0/port", 80, "/spec/hosts[0]/port"),
)

SPECIMENS: Final = (
    specimen(
        "v1", "ConfigMap",
        change("value", "/data/mode", "test"),
        change("value added", "/data/extra", "x"),
        remove("empty value removed", "/data/empty"),
        change("text that is a number", "/data/number", "1"),
        remove("all removed", "/data", "/data"),
        change("sealed", "/immutable", True),
        data={"mode": "prod", "empty": "", "number": "1.0"},
    ),
    specimen(
        "v1", "Secret",
        change("value", "/data/password", "b3RoZXI="),
        change("value added", "/data/extra", "eA=="),
        remove("value removed", "/data/token"),
        nothing("the same, as text", set_("/stringData", {"password": "secret"})),
        stringData={"password": "secret"}, data={"token": "dG9r\nZW4="},
    ),
    specimen(
        "v1", "Service",
        change("target", "/spec/ports/0/targetPort", 9090, "/spec/ports[port=80,protocol=TCP]/targetPort"),
        change("port added", "/spec/ports/-", {"port": 53, "protocol": "UDP", "name": "dns"}, "/spec/ports[port=53,protocol=UDP]"),
        change("port removed", "/spec/ports", [{"port": 80, "name": "http", "targetPort": 8080}], "/spec/ports[port=443,protocol=TCP]"),
        change("selector", "/spec/selector/app", "other"),
        change("selector added", "/spec/selector/track", "canary"),
        change("affinity", "/spec/sessionAffinity", "ClientIP"),
        change("name", "/spec/ports/1/name", "tls", "/spec/ports[port=443,protocol=TCP]/name"),
        spec={
            "selector": {"app": "web"},
            "ports": [{"port": 80, "name": "http", "targetPort": 8080}, {"port": 443, "name": "https"}],
        },
    ),
    specimen(
        "v1", "ServiceAccount",
        change("automount", "/automountServiceAccountToken", True),
        remove("automount removed", "/automountServiceAccountToken"),
        change("pull secret", "/imagePullSecrets/0/name", "other", "/imagePullSecrets[0]/name"),
        automountServiceAccountToken=False, imagePullSecrets=[{"name": "registry"}],
    ),
    specimen(
        "apps/v1", "Deployment",
        change("replicas", "/spec/replicas", 1, manager="kubectl"),
        change("strategy", "/spec/strategy", {"type": "Recreate"}, "/spec/strategy/type"),
        change("paused", "/spec/paused", True),
        nothing("history as by default", set_("/spec/revisionHistoryLimit", 10)),
        *pod_mutations(),
        spec={"replicas": 0, "selector": SELECTOR, "template": template()},
    ),
    specimen(
        "apps/v1", "StatefulSet",
        change("replicas", "/spec/replicas", 1, manager="kubectl"),
        change("partition", "/spec/updateStrategy/rollingUpdate/partition", 2),
        *pod_mutations(),
        spec={
            "replicas": 0, "serviceName": "web", "selector": SELECTOR, "template": template(),
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
        },
    ),
    specimen(
        "apps/v1", "DaemonSet",
        change("unavailable", "/spec/updateStrategy/rollingUpdate/maxUnavailable", 3),
        *pod_mutations(),
        spec={"selector": SELECTOR, "template": template()},
    ),
    specimen(
        "batch/v1", "CronJob",
        change("schedule", "/spec/schedule", "0 3 * * *"),
        change("suspend", "/spec/suspend", False),
        change("policy added", "/spec/concurrencyPolicy", "Forbid"),
        *pod_mutations("/spec/jobTemplate/spec/template"),
        spec={
            "schedule": "0 4 * * *", "suspend": True,
            "jobTemplate": {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}},
        },
    ),
    specimen(
        "batch/v1", "Job",
        change("parallelism", "/spec/parallelism", 3),
        change("backoff", "/spec/backoffLimit", 1),
        change("kept", "/spec/ttlSecondsAfterFinished", 60),
        spec={
            "suspend": True, "parallelism": 2,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}},
        },
    ),
    specimen(
        "networking.k8s.io/v1", "Ingress",
        change("host", "/spec/rules/0/host", "other.example.com", "/spec/rules[0]/host"),
        change("path", "/spec/rules/0/http/paths/0/path", "/old", "/spec/rules[0]/http/paths[0]/path"),
        change("rule added", "/spec/rules/-", {"host": "more.example.com"}, "/spec/rules"),
        change("tls added", "/spec/tls", [{"hosts": ["shop.example.com"]}]),
        spec={
            "rules": [
                {
                    "host": "shop.example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/", "pathType": "Prefix",
                                "backend": {"service": {"name": "web", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        },
    ),
    specimen(
        "networking.k8s.io/v1", "NetworkPolicy",
        change("port", "/spec/ingress/0/ports/0/port", 9090, "/spec/ingress[0]/ports[0]/port"),
        Mutation(
            "opened", [put("/spec/ingress/0/from/0", {"ipBlock": {"cidr": "0.0.0.0/0"}})],
            ("/spec/ingress[0]/from[0]/namespaceSelector", "/spec/ingress[0]/from[0]/ipBlock"),
        ),
        Mutation("everything", [set_("/spec/ingress", [{}])], ("/spec/ingress[0]/from", "/spec/ingress[0]/ports")),
        nothing("protocol as by default", set_("/spec/ingress/0/ports/0/protocol", "TCP")),
        spec={
            "podSelector": {}, "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"namespaceSelector": {}}], "ports": [{"port": 8080}]}],
        },
    ),
    specimen(
        "policy/v1", "PodDisruptionBudget",
        change("available", "/spec/minAvailable", 0),
        change("selector", "/spec/selector/matchLabels/app", "other"),
        change("eviction", "/spec/unhealthyPodEvictionPolicy", "AlwaysAllow"),
        nothing("the same as text", set_("/metadata/labels/team", "shop")),
        spec={"minAvailable": 1, "selector": SELECTOR},
    ),
    specimen(
        "autoscaling/v2", "HorizontalPodAutoscaler",
        change("most", "/spec/maxReplicas", 20),
        change("least", "/spec/minReplicas", 1),
        change("target", "/spec/metrics/0/resource/target/averageUtilization", 99, "/spec/metrics[0]/resource/target/averageUtilization"),
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nothing"},
            "minReplicas": 2, "maxReplicas": 5,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                }
            ],
        },
    ),
    specimen("rbac.authorization.k8s.io/v1", "Role", *RULE_MUTATIONS, rules=RULES),
    specimen("rbac.authorization.k8s.io/v1", "ClusterRole", *RULE_MUTATIONS, namespaced=False, rules=RULES),
    specimen(
        "rbac.authorization.k8s.io/v1", "RoleBinding", *SUBJECT_MUTATIONS,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role"},
        subjects=SUBJECTS,
    ),
    specimen(
        "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", *SUBJECT_MUTATIONS, namespaced=False,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "clusterrole"},
        subjects=SUBJECTS,
    ),
    specimen(
        "v1", "LimitRange",
        change("most", "/spec/limits/0/max/storage", "9Ti", "/spec/limits[0]/max/storage"),
        spec={"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "8Ti"}}]},
    ),
    specimen(
        "v1", "ResourceQuota",
        change("hard", "/spec/hard/pods", "20k"),
        change("hard added", "/spec/hard/services", "1k"),
        nothing("spelled otherwise", set_("/spec/hard/pods", "10000")),
        spec={"hard": {"pods": "10k"}},
    ),
    specimen(
        "v1", "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}},
    ),
    specimen(
        "v1", "PersistentVolume",
        change("reclaim", "/spec/persistentVolumeReclaimPolicy", "Delete"),
        change("capacity", "/spec/capacity/storage", "2Gi"),
        nothing("capacity spelled otherwise", set_("/spec/capacity/storage", "1024Mi")),
        namespaced=False,
        spec={
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "none",
            "hostPath": {"path": "/data"},
        },
    ),
    specimen(
        "storage.k8s.io/v1", "StorageClass",
        change("expansion", "/allowVolumeExpansion", True),
        change("option added", "/mountOptions", ["discard"]),
        namespaced=False, provisioner="example.com/none", allowVolumeExpansion=False,
    ),
    specimen(
        "scheduling.k8s.io/v1", "PriorityClass",
        change("description", "/description", "other"),
        namespaced=False, value=1000, description="shop", globalDefault=False,
    ),
    specimen("v1", "Namespace", namespaced=False, deletable=False),
    specimen(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", *WEBHOOK_MUTATIONS,
        namespaced=False, webhooks=[WEBHOOK],
    ),
    specimen(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", *WEBHOOK_MUTATIONS,
        namespaced=False, webhooks=[WEBHOOK],
    ),
    specimen(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy",
        change("expression", "/spec/validations/0/expression", "false", "/spec/validations[0]/expression"),
        change("failure policy", "/spec/failurePolicy", "Fail"),
        namespaced=False,
        spec={
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": WEBHOOK["rules"]},
            "validations": [{"expression": "true"}],
        },
    ),
    specimen(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
        Mutation(
            "actions", [set_("/spec/validationActions", ["Deny"])],
            ("/spec/validationActions[=Warn]", "/spec/validationActions[=Deny]"),
        ),
        namespaced=False, spec={"policyName": "nothing", "validationActions": ["Warn"]},
    ),
    specimen(
        "networking.k8s.io/v1", "IngressClass",
        change("parameters", "/spec/parameters/name", "other"),
        namespaced=False,
        spec={
            "controller": "example.com/none",
            "parameters": {"apiGroup": "example.com", "kind": "Parameters", "name": "one"},
        },
    ),
    specimen(
        "node.k8s.io/v1", "RuntimeClass",
        change("overhead", "/overhead/podFixed/cpu", "2"),
        nothing("overhead spelled otherwise", set_("/overhead/podFixed/cpu", "1000m")),
        namespaced=False, handler="none", overhead={"podFixed": {"cpu": "1"}},
    ),
    specimen(
        "v1", "PodTemplate",
        change("image", "/template/spec/containers/0/image", "other", "/template/spec/containers[name=app]/image"),
        template=template(),
    ),
    specimen(
        "v1", "ReplicationController",
        change("replicas", "/spec/replicas", 1, manager="kubectl"),
        change("image", "/spec/template/spec/containers/0/image", "other", f"{APP}/image"),
        spec={"replicas": 0, "selector": {"app": "web"}, "template": template()},
    ),
    specimen(
        "discovery.k8s.io/v1", "EndpointSlice",
        change("address", "/endpoints/0/addresses", ["10.9.9.9"], "/endpoints[0]/addresses"),
        change("port", "/ports/0/port", 81, "/ports[0]/port"),
        addressType="IPv4", endpoints=[{"addresses": ["10.1.2.3"]}], ports=[{"name": "http", "port": 80}],
    ),
    specimen(
        "v1", "Pod",
        change("image", "/spec/containers/0/image", "other", "/spec/containers[name=app]/image"),
        change("deadline", "/spec/activeDeadlineSeconds", 600),
        spec={"containers": [{"name": "app", "image": "registry.example/app:1"}], "schedulerName": "nobody"},
    ),
    specimen(
        "example.com/v1", "Widget", *WIDGET_MUTATIONS,
        change("keyed item", "/spec/rules/1/to", "z", "/spec/rules[id=b]/to"),
        remove("keyed item removed", "/spec/rules/0", "/spec/rules[id=a]"),
        change("keyed item added", "/spec/rules/-", {"id": "c", "to": "w"}, "/spec/rules[id=c]"),
        change("member added", "/spec/tags/-", "three", "/spec/tags[=three]"),
        remove("member removed", "/spec/tags/0", "/spec/tags[=one]"),
        nothing("in another order", set_("/spec/rules", [{"id": "b", "to": "y"}, {"id": "a", "to": "x"}])),
        spec=WIDGET,
    ),
    specimen(
        "example.com/v1", "Gadget", *WIDGET_MUTATIONS,
        change("item of a list without keys", "/spec/rules/1/to", "z", "/spec/rules[1]/to"),
        change("item removed", "/spec/rules", [{"id": "b", "to": "y"}]),
        change("tags", "/spec/tags", ["one"], "/spec/tags"),
        spec=WIDGET,
    ),
)  # fmt: skip


def definitions() -> list[Object]:
    """Return the custom resource definitions: one with a schema, one that takes everything."""
    text, whole = {"type": "string"}, {"type": "integer"}
    rule = {"type": "object", "required": ["id"], "properties": {"id": text, "to": text}}
    properties = {
        "size": whole, "ratio": text, "enabled": {"type": "boolean"}, "note": text,
        "options": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "rules": {
            "type": "array", "items": rule,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
        },
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "hosts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": text, "port": whole, "weight": {"type": "integer", "default": 1}},
            },
        },
        "level": {"type": "string", "default": "info"},
    }  # fmt: skip
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        _definition("Widget", {"type": "object", "properties": properties}),
        _definition("Gadget", anything),
    ]


def _definition(kind: str, spec: Object) -> Object:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def cases() -> Iterator[Case]:
    """Yield every mutation of every kind, each with an object of its own."""
    for each in SPECIMENS:
        deleted = (DELETED,) if each.deletable else ()
        for number, mutation in enumerate((*GENERIC, *each.mutations, *deleted)):
            manifest = copy.deepcopy(each.manifest)
            manifest["metadata"]["name"] += f"-{number}"
            yield Case(manifest, mutation, f"{each.label}: {mutation.name}")
