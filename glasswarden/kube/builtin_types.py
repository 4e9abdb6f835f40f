"""The types of Kubernetes 1.36, as far as a comparison of two objects needs them.

Written by `tests/kube/renew_builtin_types.py` from the API's OpenAPI document; do not edit by hand.

    apps/v1 Deployment              a kind, and the types of its fields
        spec        DeploymentSpec
    Container                       a type that kinds share
        args        atomic          a list that is replaced as a whole
        env         [name] EnvVar   a list whose items are identified by their name
        ...
    ObjectMeta
        finalizers  set             a list of distinct values
    ResourceRequirements
        limits      *quantity       a map whose values are quantities
"""

from typing import Final

BUILTIN_TYPES: Final = """\
v1 Binding
v1 ComponentStatus
    conditions [type]
v1 ConfigMap
v1 Endpoints
    subsets atomic
v1 Event
v1 LimitRange
    spec LimitRangeSpec
v1 Namespace
    spec NamespaceSpec
v1 Node
    spec NodeSpec
v1 PersistentVolume
    spec PersistentVolumeSpec
v1 PersistentVolumeClaim
    spec PersistentVolumeClaimSpec
v1 Pod
    spec PodSpec
v1 PodTemplate
    template PodTemplateSpec
v1 ReplicationController
    spec ReplicationControllerSpec
v1 ResourceQuota
    spec ResourceQuotaSpec
v1 Secret
v1 Service
    spec ServiceSpec
v1 ServiceAccount
    imagePullSecrets atomic
    secrets [name]
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy
    spec MutatingAdmissionPolicySpec
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding
    spec MutatingAdmissionPolicyBindingSpec
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration
    webhooks [name] MutatingWebhook
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy
    spec ValidatingAdmissionPolicySpec
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding
    spec ValidatingAdmissionPolicyBindingSpec
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration
    webhooks [name] ValidatingWebhook
admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy
    spec MutatingAdmissionPolicySpec
admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding
    spec MutatingAdmissionPolicyBindingSpec
admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy
    spec MutatingAdmissionPolicySpec
admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding
    spec MutatingAdmissionPolicyBindingSpec
apiextensions.k8s.io/v1 CustomResourceDefinition
    spec CustomResourceDefinitionSpec
apiregistration.k8s.io/v1 APIService
apps/v1 ControllerRevision
apps/v1 DaemonSet
    spec DaemonSetSpec
apps/v1 Deployment
    spec DeploymentSpec
apps/v1 ReplicaSet
    spec ReplicaSetSpec
apps/v1 StatefulSet
    spec StatefulSetSpec
autoscaling/v1 HorizontalPodAutoscaler
autoscaling/v1 Scale
autoscaling/v2 HorizontalPodAutoscaler
    spec HorizontalPodAutoscalerSpec
batch/v1 CronJob
    spec CronJobSpec
batch/v1 Job
    spec JobSpec
certificates.k8s.io/v1 CertificateSigningRequest
    spec CertificateSigningRequestSpec
certificates.k8s.io/v1alpha1 ClusterTrustBundle
certificates.k8s.io/v1beta1 ClusterTrustBundle
certificates.k8s.io/v1beta1 PodCertificateRequest
coordination.k8s.io/v1 Lease
coordination.k8s.io/v1alpha2 LeaseCandidate
coordination.k8s.io/v1beta1 LeaseCandidate
discovery.k8s.io/v1 EndpointSlice
    endpoints atomic
    ports atomic
events.k8s.io/v1 Event
flowcontrol.apiserver.k8s.io/v1 FlowSchema
    spec FlowSchemaSpec
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration
internal.apiserver.k8s.io/v1alpha1 StorageVersion
networking.k8s.io/v1 IPAddress
networking.k8s.io/v1 Ingress
    spec IngressSpec
networking.k8s.io/v1 IngressClass
networking.k8s.io/v1 NetworkPolicy
    spec NetworkPolicySpec
networking.k8s.io/v1 ServiceCIDR
    spec ServiceCIDRSpec
networking.k8s.io/v1beta1 IPAddress
networking.k8s.io/v1beta1 ServiceCIDR
    spec ServiceCIDRSpec
node.k8s.io/v1 RuntimeClass
    overhead Overhead
    scheduling Scheduling
policy/v1 Eviction
    deleteOptions DeleteOptions
policy/v1 PodDisruptionBudget
    spec PodDisruptionBudgetSpec
rbac.authorization.k8s.io/v1 ClusterRole
    aggregationRule AggregationRule
    rules atomic
rbac.authorization.k8s.io/v1 ClusterRoleBinding
    subjects atomic
rbac.authorization.k8s.io/v1 Role
    rules atomic
rbac.authorization.k8s.io/v1 RoleBinding
    subjects atomic
resource.k8s.io/v1 DeviceClass
    spec DeviceClassSpec
resource.k8s.io/v1 ResourceClaim
    spec ResourceClaimSpec
resource.k8s.io/v1 ResourceClaimTemplate
    spec ResourceClaimTemplateSpec
resource.k8s.io/v1 ResourceSlice
    spec ResourceSliceSpec
resource.k8s.io/v1alpha3 DeviceTaintRule
resource.k8s.io/v1alpha3 ResourcePoolStatusRequest
resource.k8s.io/v1beta1 DeviceClass
    spec DeviceClassSpec
resource.k8s.io/v1beta1 ResourceClaim
    spec ResourceClaimSpec
resource.k8s.io/v1beta1 ResourceClaimTemplate
    spec ResourceClaimTemplateSpec
resource.k8s.io/v1beta1 ResourceSlice
    spec ResourceSliceSpec
resource.k8s.io/v1beta2 DeviceClass
    spec DeviceClassSpec
resource.k8s.io/v1beta2 DeviceTaintRule
resource.k8s.io/v1beta2 ResourceClaim
    spec ResourceClaimSpec
resource.k8s.io/v1beta2 ResourceClaimTemplate
    spec ResourceClaimTemplateSpec
resource.k8s.io/v1beta2 ResourceSlice
    spec ResourceSliceSpec
scheduling.k8s.io/v1 PriorityClass
scheduling.k8s.io/v1alpha2 PodGroup
    spec PodGroupSpec
scheduling.k8s.io/v1alpha2 Workload
    spec WorkloadSpec
storage.k8s.io/v1 CSIDriver
    spec CSIDriverSpec
storage.k8s.io/v1 CSINode
    spec CSINodeSpec
storage.k8s.io/v1 CSIStorageCapacity
    capacity quantity
    maximumVolumeSize quantity
    nodeTopology LabelSelector
storage.k8s.io/v1 StorageClass
    allowedTopologies atomic
    mountOptions atomic
storage.k8s.io/v1 VolumeAttachment
    spec VolumeAttachmentSpec
storage.k8s.io/v1 VolumeAttributesClass
storage.k8s.io/v1beta1 VolumeAttributesClass
storagemigration.k8s.io/v1beta1 StorageVersionMigration
Affinity
    nodeAffinity NodeAffinity
    podAffinity PodAffinity
    podAntiAffinity PodAntiAffinity
AggregationRule
    clusterRoleSelectors atomic
CSIDriverSpec
    tokenRequests atomic
    volumeLifecycleModes set
CSINodeDriver
    topologyKeys atomic
CSINodeSpec
    drivers [name] CSINodeDriver
Capabilities
    add atomic
    drop atomic
CephFSPersistentVolumeSource
    monitors atomic
CephFSVolumeSource
    monitors atomic
CertificateSigningRequestSpec
    extra *atomic
    groups atomic
    usages atomic
ConfigMapVolumeSource
    items atomic
Container
    args atomic
    command atomic
    env [name] EnvVar
    envFrom atomic
    lifecycle Lifecycle
    livenessProbe Probe
    ports [containerPort,protocol]
    readinessProbe Probe
    resizePolicy atomic
    resources ResourceRequirements
    restartPolicyRules atomic
    securityContext SecurityContext
    startupProbe Probe
    volumeDevices [devicePath]
    volumeMounts [mountPath]
CronJobSpec
    jobTemplate JobTemplateSpec
CustomResourceConversion
    webhook WebhookConversion
CustomResourceDefinitionNames
    categories atomic
    shortNames atomic
CustomResourceDefinitionSpec
    conversion CustomResourceConversion
    names CustomResourceDefinitionNames
    versions atomic
DaemonSetSpec
    selector LabelSelector
    template PodTemplateSpec
    updateStrategy DaemonSetUpdateStrategy
DaemonSetUpdateStrategy
    rollingUpdate RollingUpdateDaemonSet
DeleteOptions
    dryRun atomic
DeploymentSpec
    selector LabelSelector
    strategy DeploymentStrategy
    template PodTemplateSpec
DeploymentStrategy
    rollingUpdate RollingUpdateDeployment
DeviceClaim
    config atomic
    constraints atomic
    requests atomic
DeviceClassSpec
    config atomic
    selectors atomic
DownwardAPIVolumeSource
    items atomic
EmptyDirVolumeSource
    sizeLimit quantity
EnvVar
    valueFrom EnvVarSource
EnvVarSource
    resourceFieldRef ResourceFieldSelector
EphemeralContainer
    args atomic
    command atomic
    env [name] EnvVar
    envFrom atomic
    lifecycle Lifecycle
    livenessProbe Probe
    ports [containerPort,protocol]
    readinessProbe Probe
    resizePolicy atomic
    resources ResourceRequirements
    restartPolicyRules atomic
    securityContext SecurityContext
    startupProbe Probe
    volumeDevices [devicePath]
    volumeMounts [mountPath]
EphemeralVolumeSource
    volumeClaimTemplate PersistentVolumeClaimTemplate
ExecAction
    command atomic
FCVolumeSource
    targetWWNs atomic
    wwids atomic
FlowSchemaSpec
    rules atomic
HPAScalingRules
    policies atomic
    tolerance quantity
HTTPGetAction
    httpHeaders atomic
    port int-or-string
HorizontalPodAutoscalerBehavior
    scaleDown HPAScalingRules
    scaleUp HPAScalingRules
HorizontalPodAutoscalerSpec
    behavior HorizontalPodAutoscalerBehavior
    metrics atomic
HostAlias
    hostnames atomic
ISCSIPersistentVolumeSource
    portals atomic
ISCSIVolumeSource
    portals atomic
IngressSpec
    rules atomic
    tls atomic
JobSpec
    podFailurePolicy PodFailurePolicy
    selector LabelSelector
    successPolicy SuccessPolicy
    template PodTemplateSpec
JobTemplateSpec
    metadata ObjectMeta
    spec JobSpec
LabelSelector
    matchExpressions atomic
Lifecycle
    postStart LifecycleHandler
    preStop LifecycleHandler
LifecycleHandler
    exec ExecAction
    httpGet HTTPGetAction
    tcpSocket TCPSocketAction
LimitRangeSpec
    limits atomic
MatchResources
    excludeResourceRules atomic
    namespaceSelector LabelSelector
    objectSelector LabelSelector
    resourceRules atomic
MutatingAdmissionPolicyBindingSpec
    matchResources MatchResources
    paramRef ParamRef
MutatingAdmissionPolicySpec
    matchConditions [name]
    matchConstraints MatchResources
    mutations atomic
    variables atomic
MutatingWebhook
    admissionReviewVersions atomic
    matchConditions [name]
    namespaceSelector LabelSelector
    objectSelector LabelSelector
    rules atomic
NamespaceSpec
    finalizers atomic
NetworkPolicySpec
    egress atomic
    ingress atomic
    podSelector LabelSelector
    policyTypes atomic
NodeAffinity
    preferredDuringSchedulingIgnoredDuringExecution atomic
    requiredDuringSchedulingIgnoredDuringExecution NodeSelector
NodeSelector
    nodeSelectorTerms atomic
NodeSpec
    podCIDRs set
    taints atomic
ObjectMeta
    finalizers set
    ownerReferences [uid]
Overhead
    podFixed *quantity
ParamRef
    selector LabelSelector
PersistentVolumeClaimSpec
    accessModes atomic
    resources VolumeResourceRequirements
    selector LabelSelector
PersistentVolumeClaimTemplate
    metadata ObjectMeta
    spec PersistentVolumeClaimSpec
PersistentVolumeSpec
    accessModes atomic
    capacity *quantity
    cephfs CephFSPersistentVolumeSource
    fc FCVolumeSource
    iscsi ISCSIPersistentVolumeSource
    mountOptions atomic
    nodeAffinity VolumeNodeAffinity
    rbd RBDPersistentVolumeSource
PodAffinity
    preferredDuringSchedulingIgnoredDuringExecution atomic
    requiredDuringSchedulingIgnoredDuringExecution atomic
PodAntiAffinity
    preferredDuringSchedulingIgnoredDuringExecution atomic
    requiredDuringSchedulingIgnoredDuringExecution atomic
PodDNSConfig
    nameservers atomic
    options atomic
    searches atomic
PodDisruptionBudgetSpec
    maxUnavailable int-or-string
    minAvailable int-or-string
    selector LabelSelector
PodFailurePolicy
    rules atomic
PodGroupSchedulingConstraints
    topology atomic
PodGroupSpec
    resourceClaims [name]
    schedulingConstraints PodGroupSchedulingConstraints
PodGroupTemplate
    resourceClaims [name]
    schedulingConstraints PodGroupSchedulingConstraints
PodSecurityContext
    supplementalGroups atomic
    sysctls atomic
PodSpec
    affinity Affinity
    containers [name] Container
    dnsConfig PodDNSConfig
    ephemeralContainers [name] EphemeralContainer
    hostAliases [ip] HostAlias
    imagePullSecrets [name]
    initContainers [name] Container
    overhead *quantity
    readinessGates atomic
    resourceClaims [name]
    resources ResourceRequirements
    schedulingGates [name]
    securityContext PodSecurityContext
    tolerations atomic
    topologySpreadConstraints [topologyKey,whenUnsatisfiable] TopologySpreadConstraint
    volumes [name] Volume
PodTemplateSpec
    metadata ObjectMeta
    spec PodSpec
Probe
    exec ExecAction
    httpGet HTTPGetAction
    tcpSocket TCPSocketAction
ProjectedVolumeSource
    sources atomic
RBDPersistentVolumeSource
    monitors atomic
RBDVolumeSource
    monitors atomic
ReplicaSetSpec
    selector LabelSelector
    template PodTemplateSpec
ReplicationControllerSpec
    template PodTemplateSpec
ResourceClaimSpec
    devices DeviceClaim
ResourceClaimTemplateSpec
    metadata ObjectMeta
    spec ResourceClaimSpec
ResourceFieldSelector
    divisor quantity
ResourceQuotaSpec
    hard *quantity
    scopeSelector ScopeSelector
    scopes atomic
ResourceRequirements
    claims [name]
    limits *quantity
    requests *quantity
ResourceSliceSpec
    devices atomic
    nodeSelector NodeSelector
    sharedCounters atomic
RollingUpdateDaemonSet
    maxSurge int-or-string
    maxUnavailable int-or-string
RollingUpdateDeployment
    maxSurge int-or-string
    maxUnavailable int-or-string
RollingUpdateStatefulSetStrategy
    maxUnavailable int-or-string
Scheduling
    tolerations atomic
ScopeSelector
    matchExpressions atomic
SecretVolumeSource
    items atomic
SecurityContext
    capabilities Capabilities
ServiceCIDRSpec
    cidrs atomic
ServicePort
    targetPort int-or-string
ServiceSpec
    clusterIPs atomic
    externalIPs atomic
    ipFamilies atomic
    loadBalancerSourceRanges atomic
    ports [port,protocol] ServicePort
StatefulSetSpec
    selector LabelSelector
    template PodTemplateSpec
    updateStrategy StatefulSetUpdateStrategy
    volumeClaimTemplates atomic
StatefulSetUpdateStrategy
    rollingUpdate RollingUpdateStatefulSetStrategy
SuccessPolicy
    rules atomic
TCPSocketAction
    port int-or-string
TopologySpreadConstraint
    labelSelector LabelSelector
    matchLabelKeys atomic
ValidatingAdmissionPolicyBindingSpec
    matchResources MatchResources
    paramRef ParamRef
    validationActions set
ValidatingAdmissionPolicySpec
    auditAnnotations atomic
    matchConditions [name]
    matchConstraints MatchResources
    validations atomic
    variables [name]
ValidatingWebhook
    admissionReviewVersions atomic
    matchConditions [name]
    namespaceSelector LabelSelector
    objectSelector LabelSelector
    rules atomic
Volume
    cephfs CephFSVolumeSource
    configMap ConfigMapVolumeSource
    downwardAPI DownwardAPIVolumeSource
    emptyDir EmptyDirVolumeSource
    ephemeral EphemeralVolumeSource
    fc FCVolumeSource
    iscsi ISCSIVolumeSource
    projected ProjectedVolumeSource
    rbd RBDVolumeSource
    secret SecretVolumeSource
VolumeAttachmentSource
    inlineVolumeSpec PersistentVolumeSpec
VolumeAttachmentSpec
    source VolumeAttachmentSource
VolumeNodeAffinity
    required NodeSelector
VolumeResourceRequirements
    limits *quantity
    requests *quantity
WebhookConversion
    conversionReviewVersions atomic
WorkloadSpec
    podGroupTemplates [name] PodGroupTemplate
"""
