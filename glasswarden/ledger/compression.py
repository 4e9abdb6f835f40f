"""Compression of record bodies: each body is deflated separately, with a shared dictionary.

A record's JSON consists mostly of names that every record repeats. With a dictionary of these names
a body takes about a third of its size, and inflating it costs less than hashing and decoding it.
The dictionary is stored in the database, so that a later version can use a better one for new
ledgers.
"""

import zlib
from typing import Final

LARGEST: Final = 64 * 2**20
"""The size limit of a body in bytes; a larger one was not written by us."""

_LEVEL: Final = 3
_WINDOW: Final = -13  # raw deflate, 8 kB: the dictionary, and a record of some size
_MEMORY: Final = 8

# The likeliest come last: deflate encodes near matches with fewer bits.
DICTIONARY: Final = (
    b'"unlisted":"subresource":"scale","status"'
    b'"actor_uid":"extra":{"authentication.kubernetes.io/credential-id":["X509SHA256='
    b'"authentication.kubernetes.io/pod-name":["system:serviceaccount:kube-system:'
    b'"approver":"grant":"grant_act":"requestedapprovedissuedusedextendedclosed'
    b'"grant_expires":"grant_rule":"outcome":"reason":"ticket":"INC-'
    b'"heads":[{"digest":"sequence":"writer":"}],"program":"glasswarden '
    b'"public_key":"type":"opened"type":"closed"type":"gap"type":"tombstone"'
    b'"old_cut":{"length":,"sha256":"new_cut":{"old_masked":"1:"new_masked":"1:'
    b'"path":"/metadata/labels/app.kubernetes.io~1/metadata/annotations/kubernetes.io~1'
    b'"path":"/data/"path":"/spec/template/spec/containers[name=app]/resources/limits/memory'
    b"requests/cpu/env[name=]/value/spec/ports[port=80,protocol=TCP]/targetPort"
    b'"kind":"ConfigMap"resource":"configmaps"kind":"Secret"resource":"secrets'
    b'"kind":"Service"resource":"services"kind":"StatefulSet"resource":"statefulsets'
    b'"kind":"Kustomization"kind":"HelmRelease"group":"kustomize.toolkit.fluxcd.io'
    b'"manager":"kubectl-patch"kubectl-scale"kubectl-client-side-apply"kubectl-set"helm'
    b'"operation":"CREATE"operation":"DELETE"clause":"benign"breakglass"emergency'
    b'"mode":"warn"mode":"audit"verdict":"allow"engine":"argocd"app_kind":"Application'
    b'{"actor":"system:admin","app":"","app_kind":"Kustomization","app_namespace":"flux-system",'
    b'"changes":[{"manager":"kubectl-edit","new":,"old":,"path":"/spec/replicas"},'
    b'{"manager":"kubectl-edit","new":"registry.","old":"registry.",'
    b'"path":"/spec/template/spec/containers[name=app]/image"}],'
    b'"clause":"guard","cluster":"default","engine":"flux","fingerprint":"","format":1,'
    b'"generation":1,"group":"apps","groups":["developers","system:authenticated"],'
    b'"id":"019","inferred_verb":"edit","kind":"Deployment","manager":"kubectl-edit",'
    b'"manager_operation":"Update","mode":"enforce","name":"","namespace":"",'
    b'"new_resource_version":"1","object_uid":"-4","old_resource_version":"1",'
    b'"operation":"UPDATE","policy":"","prev":"","resource":"deployments","sequence":1,'
    b'"time":"2026-01-01T00:00:00Z","type":"attempt","verdict":"deny","version":"v1",'
    b'"writer":"glasswarden-webhook-"}'
)


class Bodies:
    """Packs and unpacks bodies with one dictionary."""

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = dictionary

    def pack(self, body: bytes) -> bytes:
        """Return *body* as it is stored."""
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=self._dictionary)
        return packer.compress(body) + packer.flush()

    def unpack(self, stored: bytes) -> bytes:
        """Return the body that *stored* was packed from; other bytes are returned unchanged.

        Such bytes do not match their digest, so verification finds them.
        """
        try:
            return zlib.decompressobj(_WINDOW, self._dictionary).decompress(stored, LARGEST)
        except zlib.error:
            return stored
