// Messages of the other groups in Kubernetes v1.37: numbers and names of their fields. schema_text.hpp
// explains the syntax.
#include "sandbox/store/schema/schema_text.hpp"

namespace berth::sandbox {

std::string_view GroupSchemaText() {
  return R"(
AggregationRule|1clusterRoleSelectors:[]LabelSelector
AllocatedDeviceStatus|1driver:s= 2pool:s= 3device:s= 4conditions:[type]Condition= 5data:o
 6networkData:NetworkDeviceData 7shareID:s?
AllocationResult|1devices:DeviceAllocationResult= 3nodeSelector:NodeSelector 5allocationTimestamp:t
CELDeviceSelector|1expression:s=
CSIDriver|1metadata:ObjectMeta= 2spec:CSIDriverSpec=
CSIDriverSpec|1attachRequired:b? 2podInfoOnMount:b? 3volumeLifecycleModes:[=]s 4storageCapacity:b?
 5fsGroupPolicy:s? 6tokenRequests:[]TokenRequest 7requiresRepublish:b? 8seLinuxMount:b?
 9nodeAllocatableUpdatePeriodSeconds:l? 10serviceAccountTokenInSecrets:b? 11preventPodSchedulingIfMissing:b?
CSINode|1metadata:ObjectMeta= 2spec:CSINodeSpec= 3status:CSINodeStatus=
CSINodeDriver|1name:s= 2nodeID:s= 3topologyKeys:[]s= 4allocatable:VolumeNodeResources
CSINodeSpec|1drivers:[name]CSINodeDriver=
CSINodeStatus|1storageHealth:[name]StorageHealth
CSIStorageCapacity|1metadata:ObjectMeta= 2nodeTopology:LabelSelector 3storageClassName:s= 4capacity:q
 5maximumVolumeSize:q
CapacityRequestPolicy|1default:q 3validValues:[]q 4validRange:CapacityRequestPolicyRange
CapacityRequestPolicyRange|1min:q 2max:q 3step:q
CapacityRequirements|1requests:{}q
ClusterRole|1metadata:ObjectMeta= 2rules:[]PolicyRule= 3aggregationRule:AggregationRule
ClusterRoleBinding|1metadata:ObjectMeta= 2subjects:[]Subject 3roleRef:RoleRef=
Counter|1value:q=
ControllerRevision|1metadata:ObjectMeta= 2data:o 3revision:l=
CounterSet|1name:s= 2counters:{}Counter
ControllerRevision|1metadata:ObjectMeta= 2data:o= 3revision:l=
CronJob|1metadata:ObjectMeta= 2spec:CronJobSpec= 3status:CronJobStatus=
CronJobSpec|1schedule:s= 2startingDeadlineSeconds:l? 3concurrencyPolicy:s 4suspend:b?
 5jobTemplate:JobTemplateSpec= 6successfulJobsHistoryLimit:i? 7failedJobsHistoryLimit:i? 8timeZone:s?
CronJobStatus|1active:[]ObjectReference 4lastScheduleTime:t 5lastSuccessfulTime:t
DaemonSet|1metadata:ObjectMeta= 2spec:DaemonSetSpec= 3status:DaemonSetStatus=
DaemonSetCondition|1type:s= 2status:s= 3lastTransitionTime:t= 4reason:s 5message:s
DaemonSetSpec|1selector:LabelSelector 2template:PodTemplateSpec= 3updateStrategy:DaemonSetUpdateStrategy=
 4minReadySeconds:i 6revisionHistoryLimit:i?
DaemonSetStatus|1currentNumberScheduled:i= 2numberMisscheduled:i= 3desiredNumberScheduled:i= 4numberReady:i=
 5observedGeneration:l 6updatedNumberScheduled:i 7numberAvailable:i 8numberUnavailable:i 9collisionCount:i?
 10conditions:[type]DaemonSetCondition
DaemonSetUpdateStrategy|1type:s 2rollingUpdate:RollingUpdateDaemonSet
Deployment|1metadata:ObjectMeta= 2spec:DeploymentSpec= 3status:DeploymentStatus=
DeploymentCondition|1type:s= 2status:s= 4reason:s 5message:s 6lastUpdateTime:t= 7lastTransitionTime:t=
DeploymentSpec|1replicas:i? 2selector:LabelSelector 3template:PodTemplateSpec= 4strategy:DeploymentStrategy=
 5minReadySeconds:i 6revisionHistoryLimit:i? 7paused:b 9progressDeadlineSeconds:i?
DeploymentStatus|1observedGeneration:l 2replicas:i 3updatedReplicas:i 4availableReplicas:i
 5unavailableReplicas:i 6conditions:[type]DeploymentCondition 7readyReplicas:i 8collisionCount:i?
 9terminatingReplicas:i?
DeploymentStrategy|1type:s 2rollingUpdate:RollingUpdateDeployment
Device|1name:s= 2attributes:{}DeviceAttribute 3capacity:{}DeviceCapacity
 4consumesCounters:[]DeviceCounterConsumption 5nodeName:s? 6nodeSelector:NodeSelector 7allNodes:b?
 8taints:[]DeviceTaint 9bindsToNode:b? 10bindingConditions:[]s 11bindingFailureConditions:[]s
 12allowMultipleAllocations:b? 14nodeAllocatableResources:{}NodeAllocatableResource
DeviceAllocationConfiguration|1source:s= 2requests:[]s 3:^DeviceConfiguration
DeviceAllocationResult|1results:[]DeviceRequestAllocationResult 2config:[]DeviceAllocationConfiguration
DeviceAttribute|2int:l? 3bool:b? 4string:s? 5version:s? 6ints:[]l 7bools:[]b 8strings:[]s 9versions:[]s
DeviceCapacity|1value:q= 2requestPolicy:CapacityRequestPolicy
DeviceClaim|1requests:[]DeviceRequest= 2constraints:[]DeviceConstraint 3config:[]DeviceClaimConfiguration
DeviceClaimConfiguration|1requests:[]s 2:^DeviceConfiguration
DeviceClass|1metadata:ObjectMeta= 2spec:DeviceClassSpec=
DeviceClassConfiguration|1:^DeviceConfiguration
DeviceClassSpec|1selectors:[]DeviceSelector 2config:[]DeviceClassConfiguration 4extendedResourceName:s?
DeviceConfiguration|1opaque:OpaqueDeviceConfiguration
DeviceConstraint|1requests:[]s 2matchAttribute:s? 3distinctAttribute:s?
DeviceCounterConsumption|1counterSet:s= 2counters:{}Counter 3compatibilityGroups:[]s
DeviceDerivedAttribute|1name:s= 2expression:s=
DeviceRequest|1name:s= 2exactly:ExactDeviceRequest 3firstAvailable:[]DeviceSubRequest
DeviceRequestAllocationResult|1request:s= 2driver:s= 3pool:s= 4device:s= 5adminAccess:b?
 6tolerations:[]DeviceToleration 7bindingConditions:[]s 8bindingFailureConditions:[]s 9shareID:s
 10consumedCapacity:{}q 11skipNodeOperations:[=]s
DeviceSelector|1cel:CELDeviceSelector
DeviceSubRequest|1name:s= 2deviceClassName:s= 3selectors:[]DeviceSelector 4allocationMode:s 5count:l
 6tolerations:[]DeviceToleration 7capacity:CapacityRequirements 8derivedAttributes:[]DeviceDerivedAttribute
DeviceTaint|1key:s= 2value:s 3effect:s= 4timeAdded:t
DeviceTaintRule|1metadata:ObjectMeta= 2spec:DeviceTaintRuleSpec= 3status:DeviceTaintRuleStatus=
DeviceTaintRuleSpec|1deviceSelector:DeviceTaintSelector 2taint:DeviceTaint=
DeviceTaintRuleStatus|1conditions:[type]Condition
DeviceTaintSelector|2driver:s? 3pool:s? 4device:s?
DeviceToleration|1key:s 2operator:s 3value:s 4effect:s 5tolerationSeconds:l?
ElasticQuota|1metadata:ObjectMeta= 2spec:ElasticQuotaSpec 3status:ElasticQuotaStatus
ElasticQuotaSpec|1min:{}q 2max:{}q
ElasticQuotaStatus|1used:{}q
Endpoint|1addresses:[=]s= 2conditions:EndpointConditions= 3hostname:s? 4targetRef:ObjectReference
 5deprecatedTopology:{}s 6nodeName:s? 7zone:s? 8hints:EndpointHints
EndpointConditions|1ready:b? 2serving:b? 3terminating:b?
EndpointHints|1forZones:[]ForZone 2forNodes:[]ForNode
EndpointSlice|1metadata:ObjectMeta= 2endpoints:[]Endpoint= 3ports:[]discovery.EndpointPort= 4addressType:s=
Eviction|1metadata:ObjectMeta= 2deleteOptions:DeleteOptions
ExactDeviceRequest|1deviceClassName:s= 2selectors:[]DeviceSelector 3allocationMode:s 4count:l
 5adminAccess:b? 6tolerations:[]DeviceToleration 7capacity:CapacityRequirements
 8derivedAttributes:[]DeviceDerivedAttribute
FieldSelectorAttributes|1rawSelector:s 2requirements:[]FieldSelectorRequirement
ForNode|1name:s=
ForZone|1name:s=
Job|1metadata:ObjectMeta= 2spec:JobSpec= 3status:JobStatus=
JobCondition|1type:s= 2status:s= 3lastProbeTime:t= 4lastTransitionTime:t= 5reason:s 6message:s
JobSchedulingConfiguration|
JobSpec|1parallelism:i? 2completions:i? 3activeDeadlineSeconds:l? 4selector:LabelSelector 5manualSelector:b?
 6template:PodTemplateSpec= 7backoffLimit:i? 8ttlSecondsAfterFinished:i? 9completionMode:s? 10suspend:b?
 11podFailurePolicy:PodFailurePolicy 12backoffLimitPerIndex:i? 13maxFailedIndexes:i?
 14podReplacementPolicy:s? 15managedBy:s? 16successPolicy:SuccessPolicy
 17scheduling:JobSchedulingConfiguration
JobStatus|1conditions:[]JobCondition 2startTime:t 3completionTime:t 4active:i 5succeeded:i 6failed:i
 7completedIndexes:s 8uncountedTerminatedPods:UncountedTerminatedPods 9ready:i? 10failedIndexes:s?
 11terminating:i?
JobTemplateSpec|1metadata:ObjectMeta= 2spec:JobSpec=
LabelSelectorAttributes|1rawSelector:s 2requirements:[]LabelSelectorRequirement
Lease|1metadata:ObjectMeta= 2spec:LeaseSpec=
LeaseSpec|1holderIdentity:s? 2leaseDurationSeconds:i? 3acquireTime:T 4renewTime:T 5leaseTransitions:i?
 6strategy:s? 7preferredHolder:s?
NetworkDeviceData|1interfaceName:s 2ips:[]s 3hardwareAddress:s
NodeAllocatableMapping|1capacityKey:s? 2capacityMultiplier:q 3deviceMultiplier:q
NodeAllocatableOverhead|1perPod:q 2perContainer:q
NodeAllocatableResource|3mapping:NodeAllocatableMapping 4overhead:NodeAllocatableOverhead
NonResourceAttributes|1path:s 2verb:s
NonResourceRule|1verbs:[]s= 2nonResourceURLs:[]s
OpaqueDeviceConfiguration|1driver:s= 2parameters:o
PodGroup|1metadata:ObjectMeta= 2spec:PodGroupSpec= 3status:PodGroupStatus=
PodGroupResourceClaim|1name:s= 2resourceClaimName:s? 3resourceClaimTemplateName:s?
PodGroupResourceClaimStatus|1name:s= 2resourceClaimName:s?
PodGroupSchedulingConstraints|1topology:[]TopologyConstraint
PodGroupSchedulingPolicy|1basic:BasicSchedulingPolicy 2gang:GangSchedulingPolicy
PodGroupSpec|1parentCompositePodGroupName:s? 2workloadRef:WorkloadReference
 3schedulingPolicy:PodGroupSchedulingPolicy= 4schedulingConstraints:PodGroupSchedulingConstraints
 5resourceClaims:[name]PodGroupResourceClaim 6disruptionMode:DisruptionMode 7priorityClassName:s
 8priority:i? 9preemptionPolicy:s?
PodGroupStatus|1conditions:[type]Condition 2resourceClaimStatuses:[name]PodGroupResourceClaimStatus
BasicSchedulingPolicy|
GangSchedulingPolicy|1minCount:i=
DisruptionMode|1single:SingleDisruptionMode 2all:AllDisruptionMode
SingleDisruptionMode|
AllDisruptionMode|
TopologyConstraint|1key:s=
WorkloadReference|1workloadName:s= 2templateName:s=
PodDisruptionBudget|1metadata:ObjectMeta= 2spec:PodDisruptionBudgetSpec= 3status:PodDisruptionBudgetStatus=
PodDisruptionBudgetSpec|1minAvailable:I 2selector:LabelSelector 3maxUnavailable:I
 4unhealthyPodEvictionPolicy:s?
PodDisruptionBudgetStatus|1observedGeneration:l 2disruptedPods:{}t 3disruptionsAllowed:i= 4currentHealthy:i=
 5desiredHealthy:i= 6expectedPods:i= 7conditions:[type]Condition
PodFailurePolicy|1rules:[]PodFailurePolicyRule=
PodFailurePolicyOnExitCodesRequirement|1containerName:s? 2operator:s= 3values:[=]i=
PodFailurePolicyOnPodConditionsPattern|1type:s= 2status:s=
PodFailurePolicyRule|1action:s= 2onExitCodes:PodFailurePolicyOnExitCodesRequirement
 3onPodConditions:[]PodFailurePolicyOnPodConditionsPattern
PolicyRule|1verbs:[]s= 2apiGroups:[]s 3resources:[]s 4resourceNames:[]s 5nonResourceURLs:[]s
PriorityClass|1metadata:ObjectMeta= 2value:i= 3globalDefault:b 4description:s 5preemptionPolicy:s
ReplicaSet|1metadata:ObjectMeta= 2spec:ReplicaSetSpec= 3status:ReplicaSetStatus=
ReplicaSetCondition|1type:s= 2status:s= 3lastTransitionTime:t= 4reason:s 5message:s
ReplicaSetSpec|1replicas:i? 2selector:LabelSelector 3template:PodTemplateSpec= 4minReadySeconds:i
ReplicaSetStatus|1replicas:i= 2fullyLabeledReplicas:i 3observedGeneration:l 4readyReplicas:i
 5availableReplicas:i 6conditions:[type]ReplicaSetCondition 7terminatingReplicas:i?
ResourceAttributes|1namespace:s 2verb:s 3group:s 4version:s 5resource:s 6subresource:s 7name:s
 8fieldSelector:FieldSelectorAttributes 9labelSelector:LabelSelectorAttributes
ResourceClaimConsumerReference|1apiGroup:s 3resource:s= 4name:s= 5uid:s=
ResourceClaimSpec|1devices:DeviceClaim=
ResourceClaimStatus|1allocation:AllocationResult 2reservedFor:[uid]ResourceClaimConsumerReference
 4devices:[driver,device,pool,shareID]AllocatedDeviceStatus
ResourceClaimTemplate|1metadata:ObjectMeta= 2spec:ResourceClaimTemplateSpec=
ResourceClaimTemplateSpec|1metadata:ObjectMeta= 2spec:ResourceClaimSpec=
ResourcePool|1name:s= 2generation:l= 3resourceSliceCount:l=
ResourceRule|1verbs:[]s= 2apiGroups:[]s 3resources:[]s 4resourceNames:[]s
ResourceSlice|1metadata:ObjectMeta= 2spec:ResourceSliceSpec=
ResourceSliceSpec|1driver:s= 2pool:ResourcePool= 3nodeName:s? 4nodeSelector:NodeSelector 5allNodes:b?
 6devices:[]Device 7perDeviceNodeSelection:b? 8sharedCounters:[]CounterSet 9partitionTypeAttribute:s?
 10skipNodeOperations:[=]s
Role|1metadata:ObjectMeta= 2rules:[]PolicyRule=
RoleBinding|1metadata:ObjectMeta= 2subjects:[]Subject 3roleRef:RoleRef=
RoleRef!|1apiGroup:s= 2kind:s= 3name:s=
RollingUpdateDaemonSet|1maxUnavailable:I 2maxSurge:I
RollingUpdateDeployment|1maxUnavailable:I 2maxSurge:I
RollingUpdateStatefulSetStrategy|1partition:i? 2maxUnavailable:I
Scale|1metadata:ObjectMeta 2spec:ScaleSpec= 3status:ScaleStatus=
ScaleSpec|1replicas:i
ScaleStatus|1replicas:i= 2selector:s
SelfSubjectAccessReview|1metadata:ObjectMeta 2spec:SelfSubjectAccessReviewSpec=
 3status:SubjectAccessReviewStatus=
SelfSubjectAccessReviewSpec|1resourceAttributes:ResourceAttributes
 2nonResourceAttributes:NonResourceAttributes
SelfSubjectReview|1metadata:ObjectMeta 2status:SelfSubjectReviewStatus=
SelfSubjectReviewStatus|1userInfo:UserInfo=
SelfSubjectRulesReview|1metadata:ObjectMeta 2spec:SelfSubjectRulesReviewSpec=
 3status:SubjectRulesReviewStatus=
SelfSubjectRulesReviewSpec|1namespace:s
StatefulSet|1metadata:ObjectMeta= 2spec:StatefulSetSpec= 3status:StatefulSetStatus=
StatefulSetCondition|1type:s= 2status:s= 3lastTransitionTime:t= 4reason:s 5message:s
StatefulSetOrdinals|1start:i=
StatefulSetPersistentVolumeClaimRetentionPolicy|1whenDeleted:s 2whenScaled:s
StatefulSetSpec|1replicas:i? 2selector:LabelSelector 3template:PodTemplateSpec=
 4volumeClaimTemplates:[]PersistentVolumeClaim 5serviceName:s= 6podManagementPolicy:s
 7updateStrategy:StatefulSetUpdateStrategy= 8revisionHistoryLimit:i? 9minReadySeconds:i
 10persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy
 11ordinals:StatefulSetOrdinals
StatefulSetStatus|1observedGeneration:l 2replicas:i= 3readyReplicas:i 4currentReplicas:i 5updatedReplicas:i
 6currentRevision:s 7updateRevision:s 9collisionCount:i? 10conditions:[type]StatefulSetCondition
 11availableReplicas:i=
StatefulSetUpdateStrategy|1type:s 2rollingUpdate:RollingUpdateStatefulSetStrategy
StorageClass|1metadata:ObjectMeta= 2provisioner:s= 3parameters:{}s 4reclaimPolicy:s 5mountOptions:[]s
 6allowVolumeExpansion:b? 7volumeBindingMode:s? 8allowedTopologies:[]TopologySelectorTerm
StorageHealth|1name:s= 2healthConditions:[]StorageHealthCondition
StorageHealthCondition|1status:s= 2reason:s= 3message:s 4accessMode:s 5volumeMode:s 6lastTransitionTime:t=
Subject|1kind:s= 2apiGroup:s 3name:s= 4namespace:s
SubjectAccessReview|1metadata:ObjectMeta 2spec:SubjectAccessReviewSpec= 3status:SubjectAccessReviewStatus=
SubjectAccessReviewSpec|1resourceAttributes:ResourceAttributes 2nonResourceAttributes:NonResourceAttributes
 3user:s 4groups:[]s 5extra:{}o 6uid:s
SubjectAccessReviewStatus|1allowed:b= 2reason:s 3evaluationError:s 4denied:b
SubjectRulesReviewStatus|1resourceRules:[]ResourceRule= 2nonResourceRules:[]NonResourceRule= 3incomplete:b=
 4evaluationError:s
SuccessPolicy|1rules:[]SuccessPolicyRule=
SuccessPolicyRule|1succeededIndexes:s? 2succeededCount:i?
TokenRequest|1audience:s= 2expirationSeconds:l?
TokenReview|1metadata:ObjectMeta 2spec:TokenReviewSpec= 3status:TokenReviewStatus=
TokenReviewSpec|1token:s 2audiences:[]s
TokenReviewStatus|1authenticated:b 2user:UserInfo= 3error:s 4audiences:[]s
UncountedTerminatedPods|1succeeded:[=]s 2failed:[=]s
UserInfo|1username:s 2uid:s 3groups:[]s 4extra:{}o
VolumeAttachment|1metadata:ObjectMeta= 2spec:VolumeAttachmentSpec= 3status:VolumeAttachmentStatus=
VolumeAttachmentSource|1persistentVolumeName:s? 2inlineVolumeSpec:PersistentVolumeSpec
VolumeAttachmentSpec|1attacher:s= 2source:VolumeAttachmentSource= 3nodeName:s=
VolumeAttachmentStatus|1attached:b= 2attachmentMetadata:{}s 3attachError:VolumeError
 4detachError:VolumeError
VolumeError|1time:t= 2message:s 3errorCode:i?
VolumeNodeResources|1count:i?
discovery.EndpointPort!|1name:s? 2protocol:s 3port:i? 4appProtocol:s?
events.Event|1metadata:ObjectMeta= 2eventTime:T= 3series:events.EventSeries 4reportingController:s
 5reportingInstance:s 6action:s 7reason:s 8regarding:ObjectReference= 9related:ObjectReference 10note:s
 11type:s 12deprecatedSource:EventSource= 13deprecatedFirstTimestamp:t= 14deprecatedLastTimestamp:t=
 15deprecatedCount:i
events.EventSeries|1count:i= 2lastObservedTime:T=
resource.ResourceClaim|1metadata:ObjectMeta= 2spec:ResourceClaimSpec= 3status:ResourceClaimStatus=
)";
}

}  // namespace berth::sandbox
