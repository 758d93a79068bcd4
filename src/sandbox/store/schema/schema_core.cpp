// Messages of the core group and of metav1 in Kubernetes v1.37: numbers and names of their fields.
// schema_text.hpp explains the syntax.
#include "sandbox/store/schema/schema_text.hpp"

namespace berth::sandbox {

std::string_view CoreSchemaText() {
  return R"(
AWSElasticBlockStoreVolumeSource|1volumeID:s= 2fsType:s 3partition:i 4readOnly:b
Affinity|1nodeAffinity:NodeAffinity 2podAffinity:PodAffinity 3podAntiAffinity:PodAntiAffinity
AppArmorProfile|1type:s= 2localhostProfile:s?
AttachedVolume|1name:s= 2devicePath:s=
AzureDiskVolumeSource|1diskName:s= 2diskURI:s= 3cachingMode:s? 4fsType:s? 5readOnly:b? 6kind:s?
AzureFilePersistentVolumeSource|1secretName:s= 2shareName:s= 3readOnly:b 4secretNamespace:s?
AzureFileVolumeSource|1secretName:s= 2shareName:s= 3readOnly:b
Binding|1metadata:ObjectMeta 2target:ObjectReference=
CSIPersistentVolumeSource|1driver:s= 2volumeHandle:s= 3readOnly:b 4fsType:s 5volumeAttributes:{}s
 6controllerPublishSecretRef:SecretReference 7nodeStageSecretRef:SecretReference
 8nodePublishSecretRef:SecretReference 9controllerExpandSecretRef:SecretReference
 10nodeExpandSecretRef:SecretReference
CSIVolumeSource|1driver:s= 2readOnly:b? 3fsType:s? 4volumeAttributes:{}s
 5nodePublishSecretRef:LocalObjectReference
Capabilities|1add:[]s 2drop:[]s
CephFSPersistentVolumeSource|1monitors:[]s= 2path:s 3user:s 4secretFile:s 5secretRef:SecretReference
 6readOnly:b
CephFSVolumeSource|1monitors:[]s= 2path:s 3user:s 4secretFile:s 5secretRef:LocalObjectReference 6readOnly:b
CinderPersistentVolumeSource|1volumeID:s= 2fsType:s 3readOnly:b 4secretRef:SecretReference
CinderVolumeSource|1volumeID:s= 2fsType:s 3readOnly:b 4secretRef:LocalObjectReference
ClientIPConfig|1timeoutSeconds:i?
ClusterTrustBundleProjection|1name:s? 2signerName:s? 3labelSelector:LabelSelector 4path:s= 5optional:b?
 6user:l?
Condition|1type:s= 2status:s= 3observedGeneration:l 4lastTransitionTime:t= 5reason:s= 6message:s=
ConfigMap|1metadata:ObjectMeta= 2data:{}s 3binaryData:{}B 4immutable:b?
ConfigMapEnvSource|1:^LocalObjectReference 2optional:b?
ConfigMapKeySelector!|1:^LocalObjectReference 2key:s= 3optional:b?
ConfigMapNodeConfigSource|1namespace:s= 2name:s= 3uid:s 4resourceVersion:s 5kubeletConfigKey:s=
ConfigMapProjection|1:^LocalObjectReference 2items:[]KeyToPath 4optional:b?
ConfigMapVolumeSource|1:^LocalObjectReference 2items:[]KeyToPath 3defaultMode:i? 4optional:b?
 5defaultUser:l?
Container|1name:s= 2image:s 3command:[]s 4args:[]s 5workingDir:s
 6ports:[containerPort,protocol]ContainerPort 7env:[name]EnvVar 8resources:ResourceRequirements=
 9volumeMounts:[mountPath]VolumeMount 10livenessProbe:Probe 11readinessProbe:Probe 12lifecycle:Lifecycle
 13terminationMessagePath:s 14imagePullPolicy:s 15securityContext:SecurityContext 16stdin:b 17stdinOnce:b
 18tty:b 19envFrom:[]EnvFromSource 20terminationMessagePolicy:s 21volumeDevices:[devicePath]VolumeDevice
 22startupProbe:Probe 23resizePolicy:[]ContainerResizePolicy 24restartPolicy:s?
 25restartPolicyRules:[]ContainerRestartRule
ContainerExtendedResourceRequest|1containerName:s= 2resourceName:s= 3requestName:s=
ContainerImage|1names:[]s= 2sizeBytes:l
ContainerPort|1name:s 2hostPort:i 3containerPort:i= 4protocol:s 5hostIP:s
ContainerResizePolicy|1resourceName:s= 2restartPolicy:s=
ContainerRestartRule|1action:s 2exitCodes:ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes|1operator:s 2values:[=]i
ContainerState|1waiting:ContainerStateWaiting 2running:ContainerStateRunning
 3terminated:ContainerStateTerminated
ContainerStateRunning|1startedAt:t=
ContainerStateTerminated|1exitCode:i= 2signal:i 3reason:s 4message:s 5startedAt:t= 6finishedAt:t=
 7containerID:s
ContainerStateWaiting|1reason:s 2message:s
ContainerStatus|1name:s= 2state:ContainerState= 3lastState:ContainerState= 4ready:b= 5restartCount:i=
 6image:s= 7imageID:s= 8containerID:s 9started:b? 10allocatedResources:{}q 11resources:ResourceRequirements
 12volumeMounts:[mountPath]VolumeMountStatus 13user:ContainerUser
 14allocatedResourcesStatus:[name]ResourceStatus 15stopSignal:s?
ContainerUser|1linux:LinuxContainerUser
DaemonEndpoint|1Port:i=
DeleteOptions|1gracePeriodSeconds:l? 2preconditions:Preconditions 3orphanDependents:b? 4propagationPolicy:s?
 5dryRun:[]s 6ignoreStoreReadErrorWithClusterBreakingPotential:b?
DownwardAPIProjection|1items:[]DownwardAPIVolumeFile
DownwardAPIVolumeFile|1path:s= 2fieldRef:ObjectFieldSelector 3resourceFieldRef:ResourceFieldSelector
 4mode:i? 5user:l?
DownwardAPIVolumeSource|1items:[]DownwardAPIVolumeFile 2defaultMode:i? 3defaultUser:l?
EmptyDirVolumeSource|1medium:s 2sizeLimit:q 3mode:i?
EndpointAddress!|1ip:s= 2targetRef:ObjectReference 3hostname:s 4nodeName:s?
EndpointSubset|1addresses:[]EndpointAddress 2notReadyAddresses:[]EndpointAddress 3ports:[]core.EndpointPort
Endpoints|1metadata:ObjectMeta= 2subsets:[]EndpointSubset
EnvFromSource|1prefix:s 2configMapRef:ConfigMapEnvSource 3secretRef:SecretEnvSource
EnvVar|1name:s= 2value:s 3valueFrom:EnvVarSource
EnvVarSource|1fieldRef:ObjectFieldSelector 2resourceFieldRef:ResourceFieldSelector
 3configMapKeyRef:ConfigMapKeySelector 4secretKeyRef:SecretKeySelector 5fileKeyRef:FileKeySelector
EphemeralContainer|1:^EphemeralContainerCommon 2targetContainerName:s
EphemeralContainerCommon|1name:s= 2image:s 3command:[]s 4args:[]s 5workingDir:s
 6ports:[containerPort,protocol]ContainerPort 7env:[name]EnvVar 8resources:ResourceRequirements=
 9volumeMounts:[mountPath]VolumeMount 10livenessProbe:Probe 11readinessProbe:Probe 12lifecycle:Lifecycle
 13terminationMessagePath:s 14imagePullPolicy:s 15securityContext:SecurityContext 16stdin:b 17stdinOnce:b
 18tty:b 19envFrom:[]EnvFromSource 20terminationMessagePolicy:s 21volumeDevices:[devicePath]VolumeDevice
 22startupProbe:Probe 23resizePolicy:[]ContainerResizePolicy 24restartPolicy:s?
 25restartPolicyRules:[]ContainerRestartRule
EphemeralVolumeSource|1volumeClaimTemplate:PersistentVolumeClaimTemplate
EventSource|1component:s 2host:s
EvictionResponder!|1name:s= 2priority:i?
ExecAction|1command:[]s
FCVolumeSource|1targetWWNs:[]s 2lun:i? 3fsType:s 4readOnly:b 5wwids:[]s
FieldSelectorRequirement|1key:s= 2operator:s= 3values:[]s
FileKeySelector!|1volumeName:s= 2path:s= 3key:s= 4optional:b?
FlexPersistentVolumeSource|1driver:s= 2fsType:s 3secretRef:SecretReference 4readOnly:b 5options:{}s
FlexVolumeSource|1driver:s= 2fsType:s 3secretRef:LocalObjectReference 4readOnly:b 5options:{}s
FlockerVolumeSource|1datasetName:s 2datasetUUID:s
GCEPersistentDiskVolumeSource|1pdName:s= 2fsType:s 3partition:i 4readOnly:b
GRPCAction|1port:i= 2service:s? 3mode:s?
GitRepoVolumeSource|1repository:s= 2revision:s 3directory:s
GlusterfsPersistentVolumeSource|1endpoints:s= 2path:s= 3readOnly:b 4endpointsNamespace:s?
GlusterfsVolumeSource|1endpoints:s= 2path:s= 3readOnly:b
HTTPGetAction|1path:s 2port:I= 3host:s 4scheme:s 5httpHeaders:[]HTTPHeader 6protocol:s?
HTTPHeader|1name:s= 2value:s=
HostAlias|1ip:s= 2hostnames:[]s
HostIP|1ip:s=
HostPathVolumeSource|1path:s= 2type:s?
ISCSIPersistentVolumeSource|1targetPortal:s= 2iqn:s= 3lun:i= 4iscsiInterface:s 5fsType:s 6readOnly:b
 7portals:[]s 8chapAuthDiscovery:b 10secretRef:SecretReference 11chapAuthSession:b 12initiatorName:s?
ISCSIVolumeSource|1targetPortal:s= 2iqn:s= 3lun:i= 4iscsiInterface:s 5fsType:s 6readOnly:b 7portals:[]s
 8chapAuthDiscovery:b 10secretRef:LocalObjectReference 11chapAuthSession:b 12initiatorName:s?
ImageVolumeSource|1reference:s 2pullPolicy:s
ImageVolumeStatus|1imageRef:s
KeyToPath|1key:s= 2path:s= 3mode:i? 4user:l?
LabelSelector!|1matchLabels:{}s 2matchExpressions:[]LabelSelectorRequirement
LabelSelectorRequirement|1key:s= 2operator:s= 3values:[]s
Lifecycle|1postStart:LifecycleHandler 2preStop:LifecycleHandler 3stopSignal:s?
LifecycleHandler|1exec:ExecAction 2httpGet:HTTPGetAction 3tcpSocket:TCPSocketAction 4sleep:SleepAction
LimitRange|1metadata:ObjectMeta= 2spec:LimitRangeSpec=
LimitRangeItem|1type:s= 2max:{}q 3min:{}q 4default:{}q 5defaultRequest:{}q 6maxLimitRequestRatio:{}q
LimitRangeSpec|1limits:[]LimitRangeItem=
LinuxContainerUser|1uid:l= 2gid:l= 3supplementalGroups:[]l
LoadBalancerIngress|1ip:s 2hostname:s 3ipMode:s? 4ports:[]PortStatus
LoadBalancerStatus|1ingress:[]LoadBalancerIngress
LocalObjectReference!|1name:s
LocalVolumeSource|1path:s= 2fsType:s?
ModifyVolumeStatus|1targetVolumeAttributesClassName:s 2status:s=
NFSVolumeSource|1server:s= 2path:s= 3readOnly:b
Namespace|1metadata:ObjectMeta= 2spec:NamespaceSpec= 3status:NamespaceStatus=
NamespaceCondition|1type:s= 2status:s= 4lastTransitionTime:t= 5reason:s 6message:s
NamespaceSpec|1finalizers:[]s
NamespaceStatus|1phase:s 2conditions:[type]NamespaceCondition
Node|1metadata:ObjectMeta= 2spec:NodeSpec= 3status:NodeStatus=
NodeAddress|1type:s= 2address:s=
NodeAffinity|1requiredDuringSchedulingIgnoredDuringExecution:NodeSelector
 2preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeAllocatableMappedResources|1name:s= 2quantity:q
NodeAllocatableOverheadResources|1name:s= 2perPod:q 3perContainer:q
NodeAllocatableResourceClaimStatus|1resourceClaimName:s= 2containers:[=]s
 4mapping:[name]NodeAllocatableMappedResources 5overhead:[name]NodeAllocatableOverheadResources
NodeCondition|1type:s= 2status:s= 3lastHeartbeatTime:t= 4lastTransitionTime:t= 5reason:s 6message:s
NodeConfigSource|2configMap:ConfigMapNodeConfigSource
NodeConfigStatus|1assigned:NodeConfigSource 2active:NodeConfigSource 3lastKnownGood:NodeConfigSource
 4error:s
NodeDaemonEndpoints|1kubeletEndpoint:DaemonEndpoint=
NodeFeatures|1supplementalGroupsPolicy:b?
NodePodPreemptionPolicy|1disableResizePreemption:[=]s
NodeRuntimeHandler|1name:s= 2features:NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures|1recursiveReadOnlyMounts:b? 2userNamespaces:b?
NodeSelector!|1nodeSelectorTerms:[]NodeSelectorTerm=
NodeSelectorRequirement|1key:s= 2operator:s= 3values:[]s
NodeSelectorTerm!|1matchExpressions:[]NodeSelectorRequirement 2matchFields:[]NodeSelectorRequirement
NodeSpec|1podCIDR:s 2externalID:s 3providerID:s 4unschedulable:b 5taints:[]Taint
 6configSource:NodeConfigSource 7podCIDRs:[=]s 8podPreemptionPolicy:NodePodPreemptionPolicy
NodeStatus|1capacity:{}q 2allocatable:{}q 3phase:s 4conditions:[type]NodeCondition
 5addresses:[type]NodeAddress 6daemonEndpoints:NodeDaemonEndpoints= 7nodeInfo:NodeSystemInfo=
 8images:[]ContainerImage 9volumesInUse:[]s 10volumesAttached:[]AttachedVolume 11config:NodeConfigStatus
 12runtimeHandlers:[]NodeRuntimeHandler 13features:NodeFeatures 14declaredFeatures:[]s
NodeSwapStatus|1capacity:l?
NodeSystemInfo|1machineID:s= 2systemUUID:s= 3bootID:s= 4kernelVersion:s= 5osImage:s=
 6containerRuntimeVersion:s= 7kubeletVersion:s= 8kubeProxyVersion:s= 9operatingSystem:s= 10architecture:s=
 11swap:NodeSwapStatus 12runningInUserNamespace:b?
ObjectFieldSelector!|1apiVersion:s 2fieldPath:s=
ObjectMeta|1name:s 2generateName:s 3namespace:s 4selfLink:s 5uid:s 6resourceVersion:s 7generation:l
 8creationTimestamp:t 9deletionTimestamp:t 10deletionGracePeriodSeconds:l? 11labels:{}s 12annotations:{}s
 13ownerReferences:[uid]OwnerReference 14finalizers:[=]s 17managedFields:[]o
ObjectReference!|1kind:s 2namespace:s 3name:s 4uid:s 5apiVersion:s 6resourceVersion:s 7fieldPath:s
OwnerReference!|1kind:s= 3name:s= 4uid:s= 5apiVersion:s= 6controller:b? 7blockOwnerDeletion:b?
PersistentVolume|1metadata:ObjectMeta= 2spec:PersistentVolumeSpec= 3status:PersistentVolumeStatus=
PersistentVolumeClaim|1metadata:ObjectMeta= 2spec:PersistentVolumeClaimSpec=
 3status:PersistentVolumeClaimStatus=
PersistentVolumeClaimCondition|1type:s= 2status:s= 3lastProbeTime:t= 4lastTransitionTime:t= 5reason:s
 6message:s
PersistentVolumeClaimSpec|1accessModes:[]s 2resources:VolumeResourceRequirements= 3volumeName:s
 4selector:LabelSelector 5storageClassName:s? 6volumeMode:s? 7dataSource:TypedLocalObjectReference
 8dataSourceRef:TypedObjectReference 9volumeAttributesClassName:s?
PersistentVolumeClaimStatus|1phase:s 2accessModes:[]s 3capacity:{}q
 4conditions:[type]PersistentVolumeClaimCondition 5allocatedResources:{}q 7allocatedResourceStatuses:{}s
 8currentVolumeAttributesClassName:s? 9modifyVolumeStatus:ModifyVolumeStatus
 10healthStatus:VolumeHealthStatus
PersistentVolumeClaimTemplate|1metadata:ObjectMeta= 2spec:PersistentVolumeClaimSpec=
PersistentVolumeClaimVolumeSource|1claimName:s= 2readOnly:b
PersistentVolumeSource|1gcePersistentDisk:GCEPersistentDiskVolumeSource
 2awsElasticBlockStore:AWSElasticBlockStoreVolumeSource 3hostPath:HostPathVolumeSource
 4glusterfs:GlusterfsPersistentVolumeSource 5nfs:NFSVolumeSource 6rbd:RBDPersistentVolumeSource
 7iscsi:ISCSIPersistentVolumeSource 8cinder:CinderPersistentVolumeSource
 9cephfs:CephFSPersistentVolumeSource 10fc:FCVolumeSource 11flocker:FlockerVolumeSource
 12flexVolume:FlexPersistentVolumeSource 13azureFile:AzureFilePersistentVolumeSource
 14vsphereVolume:VsphereVirtualDiskVolumeSource 15quobyte:QuobyteVolumeSource
 16azureDisk:AzureDiskVolumeSource 17photonPersistentDisk:PhotonPersistentDiskVolumeSource
 18portworxVolume:PortworxVolumeSource 19scaleIO:ScaleIOPersistentVolumeSource 20local:LocalVolumeSource
 21storageos:StorageOSPersistentVolumeSource 22csi:CSIPersistentVolumeSource
PersistentVolumeSpec|1capacity:{}q 2:^PersistentVolumeSource 3accessModes:[]s 4claimRef:ObjectReference
 5persistentVolumeReclaimPolicy:s 6storageClassName:s 7mountOptions:[]s 8volumeMode:s?
 9nodeAffinity:VolumeNodeAffinity 10volumeAttributesClassName:s?
PersistentVolumeStatus|1phase:s 2message:s 3reason:s 4lastPhaseTransitionTime:t
PhotonPersistentDiskVolumeSource|1pdID:s= 2fsType:s
Pod|1metadata:ObjectMeta= 2spec:PodSpec= 3status:PodStatus=
PodAffinity|1requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
 2preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm|1labelSelector:LabelSelector 2namespaces:[]s 3topologyKey:s=
 4namespaceSelector:LabelSelector 5matchLabelKeys:[]s 6mismatchLabelKeys:[]s
PodAntiAffinity|1requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
 2preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodCertificateProjection|1signerName:s 2keyType:s 3maxExpirationSeconds:i? 4credentialBundlePath:s
 5keyPath:s 6certificateChainPath:s 7userAnnotations:{}s 8user:l?
PodCondition|1type:s= 2status:s= 3lastProbeTime:t= 4lastTransitionTime:t= 5reason:s 6message:s
 7observedGeneration:l
PodDNSConfig|1nameservers:[]s 2searches:[]s 3options:[]PodDNSConfigOption
PodDNSConfigOption|1name:s 2value:s?
PodExtendedResourceClaimStatus|1requestMappings:[]ContainerExtendedResourceRequest= 2resourceClaimName:s=
PodIP|1ip:s=
PodOS|1name:s=
PodReadinessGate|1conditionType:s=
PodResourceClaim|1name:s= 3resourceClaimName:s? 4resourceClaimTemplateName:s?
PodResourceClaimStatus|1name:s= 2resourceClaimName:s?
PodSchedulingGate|1name:s=
PodSchedulingGroup|1podGroupName:s?
PodSecurityContext|1seLinuxOptions:SELinuxOptions 2runAsUser:l? 3runAsNonRoot:b? 4supplementalGroups:[]l
 5fsGroup:l? 6runAsGroup:l? 7sysctls:[]Sysctl 8windowsOptions:WindowsSecurityContextOptions
 9fsGroupChangePolicy:s? 10seccompProfile:SeccompProfile 11appArmorProfile:AppArmorProfile
 12supplementalGroupsPolicy:s? 13seLinuxChangePolicy:s?
PodSpec|1volumes:[name]Volume 2containers:[name]Container= 3restartPolicy:s
 4terminationGracePeriodSeconds:l? 5activeDeadlineSeconds:l? 6dnsPolicy:s 7nodeSelector:{!}s
 8serviceAccountName:s 9serviceAccount:s 10nodeName:s 11hostNetwork:b 12hostPID:b 13hostIPC:b
 14securityContext:PodSecurityContext 15imagePullSecrets:[name]LocalObjectReference 16hostname:s
 17subdomain:s 18affinity:Affinity 19schedulerName:s 20initContainers:[name]Container
 21automountServiceAccountToken:b? 22tolerations:[]Toleration 23hostAliases:[ip]HostAlias
 24priorityClassName:s 25priority:i? 26dnsConfig:PodDNSConfig 27shareProcessNamespace:b?
 28readinessGates:[]PodReadinessGate 29runtimeClassName:s? 30enableServiceLinks:b? 31preemptionPolicy:s?
 32overhead:{}q 33topologySpreadConstraints:[topologyKey,whenUnsatisfiable]TopologySpreadConstraint
 34ephemeralContainers:[name]EphemeralContainer 35setHostnameAsFQDN:b? 36os:PodOS 37hostUsers:b?
 38schedulingGates:[name]PodSchedulingGate 39resourceClaims:[name]PodResourceClaim
 40resources:ResourceRequirements 41hostnameOverride:s? 43schedulingGroup:PodSchedulingGroup
 44evictionResponders:[name]EvictionResponder
PodStatus|1phase:s 2conditions:[type]PodCondition 3message:s 4reason:s 5hostIP:s 6podIP:s 7startTime:t
 8containerStatuses:[]ContainerStatus 9qosClass:s 10initContainerStatuses:[]ContainerStatus
 11nominatedNodeName:s 12podIPs:[ip]PodIP 13ephemeralContainerStatuses:[]ContainerStatus 14resize:s
 15resourceClaimStatuses:[name]PodResourceClaimStatus 16hostIPs:[]HostIP 17observedGeneration:l
 18extendedResourceClaimStatus:PodExtendedResourceClaimStatus 19allocatedResources:{}q
 20resources:ResourceRequirements
 21nodeAllocatableResourceClaimStatuses:[resourceClaimName]NodeAllocatableResourceClaimStatus
 22volumeHealth:[name]PodVolumeHealth
PodTemplate|1metadata:ObjectMeta= 2template:PodTemplateSpec=
PodTemplateSpec|1metadata:ObjectMeta= 2spec:PodSpec=
PodVolumeHealth|1name:s= 2healthConditions:[status,reason]VolumeHealthCondition 3lastTransitionTime:t=
PortStatus|1port:i= 2protocol:s= 3error:s?
PortworxVolumeSource|1volumeID:s= 2fsType:s 3readOnly:b
Preconditions|1uid:s 2resourceVersion:s?
PreferredSchedulingTerm|1weight:i= 2preference:NodeSelectorTerm=
Probe|1:^ProbeHandler 2initialDelaySeconds:i 3timeoutSeconds:i 4periodSeconds:i 5successThreshold:i
 6failureThreshold:i 7terminationGracePeriodSeconds:l?
ProbeHandler|1exec:ExecAction 2httpGet:HTTPGetAction 3tcpSocket:TCPSocketAction 4grpc:GRPCAction
ProjectedVolumeSource|1sources:[]VolumeProjection= 2defaultMode:i? 3defaultUser:l?
QuobyteVolumeSource|1registry:s= 2volume:s= 3readOnly:b 4user:s 5group:s 6tenant:s
RBDPersistentVolumeSource|1monitors:[]s= 2image:s= 3fsType:s 4pool:s 5user:s 6keyring:s
 7secretRef:SecretReference 8readOnly:b
RBDVolumeSource|1monitors:[]s= 2image:s= 3fsType:s 4pool:s 5user:s 6keyring:s
 7secretRef:LocalObjectReference 8readOnly:b
ReplicationController|1metadata:ObjectMeta= 2spec:ReplicationControllerSpec=
 3status:ReplicationControllerStatus=
ReplicationControllerCondition|1type:s= 2status:s= 3lastTransitionTime:t= 4reason:s 5message:s
ReplicationControllerSpec|1replicas:i? 2selector:{!}s 3template:PodTemplateSpec 4minReadySeconds:i
ReplicationControllerStatus|1replicas:i= 2fullyLabeledReplicas:i 3observedGeneration:l 4readyReplicas:i
 5availableReplicas:i 6conditions:[type]ReplicationControllerCondition
ResourceFieldSelector!|1containerName:s 2resource:s= 3divisor:q=
ResourceHealth|1resourceID:s= 2health:s 6message:s?
ResourceQuota|1metadata:ObjectMeta= 2spec:ResourceQuotaSpec= 3status:ResourceQuotaStatus=
ResourceQuotaSpec|1hard:{}q 2scopes:[]s 3scopeSelector:ScopeSelector
ResourceQuotaStatus|1hard:{}q 2used:{}q
ResourceRequirements|1limits:{}q 2requests:{}q 3claims:[name]core.ResourceClaim
ResourceStatus|1name:s= 2resources:[resourceID]ResourceHealth
SELinuxOptions|1user:s 2role:s 3type:s 4level:s
ScaleIOPersistentVolumeSource|1gateway:s= 2system:s= 3secretRef:SecretReference 4sslEnabled:b
 5protectionDomain:s 6storagePool:s 7storageMode:s 8volumeName:s 9fsType:s 10readOnly:b
ScaleIOVolumeSource|1gateway:s= 2system:s= 3secretRef:LocalObjectReference 4sslEnabled:b 5protectionDomain:s
 6storagePool:s 7storageMode:s 8volumeName:s 9fsType:s 10readOnly:b
ScopeSelector!|1matchExpressions:[]ScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement|1scopeName:s= 2operator:s= 3values:[]s
SeccompProfile|1type:s= 2localhostProfile:s?
Secret|1metadata:ObjectMeta= 2data:{}B 3type:s 4stringData:{}s 5immutable:b?
SecretEnvSource|1:^LocalObjectReference 2optional:b?
SecretKeySelector!|1:^LocalObjectReference 2key:s= 3optional:b?
SecretProjection|1:^LocalObjectReference 2items:[]KeyToPath 4optional:b?
SecretReference!|1name:s 2namespace:s
SecretVolumeSource|1secretName:s 2items:[]KeyToPath 3defaultMode:i? 4optional:b? 5defaultUser:l?
SecurityContext|1capabilities:Capabilities 2privileged:b? 3seLinuxOptions:SELinuxOptions 4runAsUser:l?
 5runAsNonRoot:b? 6readOnlyRootFilesystem:b? 7allowPrivilegeEscalation:b? 8runAsGroup:l? 9procMount:s?
 10windowsOptions:WindowsSecurityContextOptions 11seccompProfile:SeccompProfile
 12appArmorProfile:AppArmorProfile
Service|1metadata:ObjectMeta= 2spec:ServiceSpec= 3status:ServiceStatus=
ServiceAccount|1metadata:ObjectMeta= 2secrets:[name]ObjectReference 3imagePullSecrets:[]LocalObjectReference
 4automountServiceAccountToken:b?
ServiceAccountTokenProjection|1audience:s 2expirationSeconds:l? 3path:s= 4user:l?
ServicePort|1name:s 2protocol:s 3port:i= 4targetPort:I 5nodePort:i 6appProtocol:s?
ServiceSpec|1ports:[port,protocol]ServicePort 2selector:{!}s 3clusterIP:s 4type:s 5externalIPs:[]s
 7sessionAffinity:s 8loadBalancerIP:s 9loadBalancerSourceRanges:[]s 10externalName:s
 11externalTrafficPolicy:s 12healthCheckNodePort:i 13publishNotReadyAddresses:b
 14sessionAffinityConfig:SessionAffinityConfig 17ipFamilyPolicy:s? 18clusterIPs:[]s 19ipFamilies:[]s
 20allocateLoadBalancerNodePorts:b? 21loadBalancerClass:s? 22internalTrafficPolicy:s?
 23trafficDistribution:s?
ServiceStatus|1loadBalancer:LoadBalancerStatus= 2conditions:[type]Condition
SessionAffinityConfig|1clientIP:ClientIPConfig
SleepAction|1seconds:l=
StorageOSPersistentVolumeSource|1volumeName:s 2volumeNamespace:s 3fsType:s 4readOnly:b
 5secretRef:ObjectReference
StorageOSVolumeSource|1volumeName:s 2volumeNamespace:s 3fsType:s 4readOnly:b 5secretRef:LocalObjectReference
Sysctl|1name:s= 2value:s=
TCPSocketAction|1port:I= 2host:s
Taint|1key:s= 2value:s 3effect:s= 4timeAdded:t
Toleration|1key:s 2operator:s 3value:s 4effect:s 5tolerationSeconds:l?
TopologySelectorLabelRequirement|1key:s= 2values:[]s=
TopologySelectorTerm!|1matchLabelExpressions:[]TopologySelectorLabelRequirement
TopologySpreadConstraint|1maxSkew:i= 2topologyKey:s= 3whenUnsatisfiable:s= 4labelSelector:LabelSelector
 5minDomains:i? 6nodeAffinityPolicy:s? 7nodeTaintsPolicy:s? 8matchLabelKeys:[]s
TypedLocalObjectReference!|1apiGroup:s? 2kind:s= 3name:s=
TypedObjectReference|1apiGroup:s? 2kind:s= 3name:s= 4namespace:s?
Volume|1name:s= 2:^VolumeSource
VolumeDevice|1name:s= 2devicePath:s=
VolumeHealthCondition|1status:s= 2reason:s= 3message:s
VolumeHealthStatus|1healthConditions:[status,reason]VolumeHealthCondition 2lastTransitionTime:t=
VolumeMount|1name:s= 2readOnly:b 3mountPath:s= 4subPath:s 5mountPropagation:s? 6subPathExpr:s
 7recursiveReadOnly:s? 8bindMountOptions:[=]s
VolumeMountStatus|1name:s= 2mountPath:s= 3readOnly:b 4recursiveReadOnly:s? 5volumeStatus:VolumeStatus
VolumeNodeAffinity|1required:NodeSelector
VolumeProjection|1secret:SecretProjection 2downwardAPI:DownwardAPIProjection 3configMap:ConfigMapProjection
 4serviceAccountToken:ServiceAccountTokenProjection 5clusterTrustBundle:ClusterTrustBundleProjection
 6podCertificate:PodCertificateProjection
VolumeResourceRequirements|1limits:{}q 2requests:{}q
VolumeSource|1hostPath:HostPathVolumeSource 2emptyDir:EmptyDirVolumeSource
 3gcePersistentDisk:GCEPersistentDiskVolumeSource 4awsElasticBlockStore:AWSElasticBlockStoreVolumeSource
 5gitRepo:GitRepoVolumeSource 6secret:SecretVolumeSource 7nfs:NFSVolumeSource 8iscsi:ISCSIVolumeSource
 9glusterfs:GlusterfsVolumeSource 10persistentVolumeClaim:PersistentVolumeClaimVolumeSource
 11rbd:RBDVolumeSource 12flexVolume:FlexVolumeSource 13cinder:CinderVolumeSource 14cephfs:CephFSVolumeSource
 15flocker:FlockerVolumeSource 16downwardAPI:DownwardAPIVolumeSource 17fc:FCVolumeSource
 18azureFile:AzureFileVolumeSource 19configMap:ConfigMapVolumeSource
 20vsphereVolume:VsphereVirtualDiskVolumeSource 21quobyte:QuobyteVolumeSource
 22azureDisk:AzureDiskVolumeSource 23photonPersistentDisk:PhotonPersistentDiskVolumeSource
 24portworxVolume:PortworxVolumeSource 25scaleIO:ScaleIOVolumeSource 26projected:ProjectedVolumeSource
 27storageos:StorageOSVolumeSource 28csi:CSIVolumeSource 29ephemeral:EphemeralVolumeSource
 30image:ImageVolumeSource
VolumeStatus|1image:ImageVolumeStatus
VsphereVirtualDiskVolumeSource|1volumePath:s= 2fsType:s 3storagePolicyName:s 4storagePolicyID:s
WeightedPodAffinityTerm|1weight:i= 2podAffinityTerm:PodAffinityTerm=
WindowsSecurityContextOptions|1gmsaCredentialSpecName:s? 2gmsaCredentialSpec:s? 3runAsUserName:s?
 4hostProcess:b?
core.EndpointPort!|1name:s? 2port:i=? 3protocol:s 4appProtocol:s?
core.Event|1metadata:ObjectMeta= 2involvedObject:ObjectReference= 3reason:s 4message:s 5source:EventSource=
 6firstTimestamp:t= 7lastTimestamp:t= 8count:i 9type:s 10eventTime:T= 11series:core.EventSeries 12action:s
 13related:ObjectReference 14reportingComponent:s= 15reportingInstance:s=
core.EventSeries|1count:i 2lastObservedTime:T=
core.ResourceClaim|1name:s= 2request:s
)";
}

}  // namespace berth::sandbox
