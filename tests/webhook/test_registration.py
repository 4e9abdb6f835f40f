"""The webhook configuration asks about guarded objects and nothing else."""

import base64

from webhook.registration import validating_configuration


def test_it_fails_closed_within_bounds_and_records_no_dry_run() -> None:
    [hook] = validating_configuration("https://webhook.example:8443/", b"PEM")["webhooks"]
    assert hook["clientConfig"] == {
        "url": "https://webhook.example:8443/validate",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }
    assert (hook["failurePolicy"], hook["sideEffects"]) == ("Fail", "NoneOnDryRun")
    assert hook["timeoutSeconds"] <= 10


def test_controllers_and_cluster_components_are_kept_away() -> None:
    [hook] = validating_configuration("https://x", b"")["webhooks"]
    conditions = {each["name"]: each["expression"] for each in hook["matchConditions"]}
    assert "'argocd.argoproj.io/tracking-id' in o.metadata.annotations" in conditions["managed"]
    assert "'kustomize.toolkit.fluxcd.io/name' in o.metadata.labels" in conditions["managed"]
    assert (
        "'system:serviceaccount:flux-system:kustomize-controller'" in conditions["not-a-controller"]
    )
    assert "kube-system" in hook["namespaceSelector"]["matchExpressions"][0]["values"]
