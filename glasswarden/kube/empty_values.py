"""Fields of Kubernetes 1.36 that distinguish an empty value from none.

Written by `tests/kube/renew_empty_values.py` from the API's Go types; do not edit by hand.

Most fields of the built-in types do not: the API server drops ``hostNetwork: false`` and
``args: []``. The pointers below do, and keep ``runAsNonRoot: false``; a name is among them only if
it is a pointer in every type that has it. So do the entries of maps: a label may be empty.
"""

from typing import Final

_POINTERS: Final = """
$ref acquireTime activeDeadlineSeconds additionalItems additionalProperties adminAccess affinity
aggregationRule allocatable allocateLoadBalancerNodePorts allocationMultiplier allocationTimestamp
allowMultipleAllocations allowPrivilegeEscalation allowVolumeExpansion appArmorProfile appProtocol
applyConfiguration attachRequired automountServiceAccountToken averageUtilization averageValue
awsElasticBlockStore azureDisk azureFile backend backoffLimit backoffLimitPerIndex basic behavior
bindsToNode blockOwnerDeletion bool borrowingLimitPercent boundObjectRef cachingMode capabilities
capacityKey cel cephfs cinder claimRef clientConfig clientIP clusterTrustBundle completionMode
completions configMap configMapKeyRef configMapRef configSource containerResource
controllerExpandSecretRef controllerPublishSecretRef controllerRef conversion csi dataSource
dataSourceRef defaultBackend defaultMode deleteOptions deletionGracePeriodSeconds deletionTimestamp
deprecationWarning device deviceSelector disruptionMode distinctAttribute distinguisherMethod
dnsConfig downwardAPI driver emptyDir enableServiceLinks endPort endpointsNamespace ephemeral
errorCode example exec exempt exitCodes expirationSeconds extendedResourceName external externalDocs
failedJobsHistoryLimit failurePolicy fc features fieldRef fieldsV1 fileKeyRef flexVolume flocker
fsGroup fsGroupChangePolicy fsGroupPolicy gang gcePersistentDisk gitRepo glusterfs grpc hints
holderIdentity hostPath hostUsers hostnameOverride http httpGet immutable ingressClassName
initiatorName inlineVolumeSpec int internalTrafficPolicy ipBlock ipFamilyPolicy ipMode iscsi
jsonPatch labelSelector labelSelectorPath leaseDurationSeconds leaseTransitions lendablePercent
lifecycle limit limited linux livenessProbe loadBalancerClass local localhostProfile lun managedBy
manualSelector matchAttribute matchConstraints matchPolicy matchResources maxExpirationSeconds
maxFailedIndexes maxItems maxLength maxProperties maxSurge maxUnavailable maximum maximumVolumeSize
metricSelector minAvailable minDomains minItems minLength minProperties minReplicas minimum mode
mountPropagation multipleOf namespaceSelector nfs nodeAffinity nodeAffinityPolicy
nodeAllocatableUpdatePeriodSeconds nodeExpandSecretRef nodePublishSecretRef nodeStageSecretRef
nodeTaintsPolicy nodeTopology nominalConcurrencyShares nonResourceAttributes not objectSelector
onExitCodes opaque openAPIV3Schema optional optionalOldSelf ordinals os parallelism paramKind
paramRef parameterNotFoundAction parentRef pathType perDeviceNodeSelection persistentVolumeClaim
persistentVolumeClaimRetentionPolicy persistentVolumeName photonPersistentDisk pingTime podAffinity
podAntiAffinity podCertificate podController podFailurePolicy podGroupName podGroupTemplateRef
podInfoOnMount podReplacementPolicy podSelector pods poolName portworxVolume postStart preStop
preemptionPolicy preferredHolder preventPodSchedulingIfMissing privileged procMount
progressDeadlineSeconds projected quobyte rbd readOnlyRootFilesystem readinessProbe ready
reclaimPolicy recursiveReadOnly recursiveReadOnlyMounts related remainingItemCount renewTime
replicas requestPolicy requiresRepublish resourceAttributes resourceClaimName
resourceClaimTemplateName resourceFieldRef responseKind revisionHistoryLimit rollbackTo
rollingUpdate runAsGroup runAsNonRoot runAsUser running runtimeClassName scale scaleDown scaleIO
scaleUp scheduling schedulingConstraints schedulingGroup schema scope scopeSelector
seLinuxChangePolicy seLinuxMount seLinuxOptions seccompProfile secret secretKeyRef secretNamespace
secretRef securityContext selectPolicy series service serviceAccountToken
serviceAccountTokenInSecrets serving sessionAffinityConfig setHostnameAsFQDN shardInfo shareID
shareProcessNamespace sideEffects sizeLimit sleep stabilizationWindowSeconds startingDeadlineSeconds
startupProbe step stopSignal storageCapacity storageos string succeededCount succeededIndexes
successPolicy successfulJobsHistoryLimit supplementalGroupsPolicy suspend swap
targetAverageUtilization targetAverageValue targetCPUUtilizationPercentage targetRef targetValue
tcpSocket terminated terminating terminationGracePeriodSeconds timeAdded timeZone tolerance
tolerationSeconds trafficDistribution ttlSecondsAfterFinished unhealthyPodEvictionPolicy
userNamespaces validRange valueFrom volumeAttributesClassName volumeBindingMode volumeClaimTemplate
volumeMode vsphereVolume waiting webhook windowsOptions workload x-kubernetes-list-type
x-kubernetes-map-type x-kubernetes-preserve-unknown-fields zone
"""

_MAPS: Final = """
annotations attributes binaryData capacity consumedCapacity counters data default defaultRequest
deprecatedTopology extra hard labels limits matchLabels max maxLimitRequestRatio min
nodeAllocatableResourceMappings nodeSelector options overhead parameters patternProperties podFixed
properties requests selector stringData topology unverifiedUserAnnotations updatedAnnotations
userAnnotations volumeAttributes
"""

POINTERS: Final = frozenset(_POINTERS.split())
"""Fields that the API server keeps although their value is empty."""

MAPS: Final = frozenset(_MAPS.split())
"""Fields, in at least one type, whose entries are kept although their values are empty."""
