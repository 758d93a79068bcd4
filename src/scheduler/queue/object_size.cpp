#include "scheduler/queue/object_size.hpp"

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kubernetes/api/elastic_quota.hpp"
#include "kubernetes/api/node_resource_topology.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::queue {
namespace {

using framework::EventResource;

template <class T>
concept HasNoParts = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, api::Quantity>;

// Adds up objects part by part. Parts without lists and texts are left out. Equal objects have equal sizes,
// whatever they were decoded from: a replay defers the same events.
class ObjectMeter {
 public:
  ObjectSize size() const { return size_; }

  // An object in a memory block of its own.
  template <class T>
  void AddObject(const T* object) {
    if (object == nullptr) return;
    size_.bytes += sizeof(T) + kBlock;
    Add(*object);
  }

 private:
  static constexpr std::size_t kBlock = 16;   // of the allocator and for the count of users
  static constexpr std::size_t kInside = 15;  // characters that a text stores without a block
  // A compiled affinity term has a block, an entry of a pool, a symbol and its lease, and a clause in the
  // conjunction of all terms, each with a text; the written one may have nothing but a topology key.
  static constexpr std::size_t kPerTerm = 1024;
  static constexpr std::size_t kPerDisk = 256;  // by name, with two lists of rows; RBD: per monitor

  template <class... Parts>
  void All(const Parts&... parts) {
    (Add(parts), ...);
  }
  // Lists that no hint iterates over.
  template <class... Lists>
  void Unread(const Lists&... lists) {
    const std::size_t items = size_.items;
    All(lists...);
    size_.items = items;
  }

  // --- values ---
  void Add(const HasNoParts auto&) {}
  void Add(const std::string& text) {
    if (text.size() > kInside) size_.bytes += text.size() + kBlock;
  }
  void Add(const api::Text& text) {
    if (!text.empty()) AddObject(&text.str());
  }
  template <class T>
  void Add(const std::optional<T>& value) {
    if (value) Add(*value);
  }
  template <class T>
  void Add(const api::CowPtr<T>& value) {
    AddObject(value.identity());
  }
  template <class T>
  void Add(const std::shared_ptr<const T>& value) {
    AddObject(value.get());
  }
  template <class A, class B>
  void Add(const std::pair<A, B>& pair) {
    All(pair.first, pair.second);
  }
  template <class List>
  void AddList(const List& list) {
    using Item = std::remove_cvref_t<decltype(*list.begin())>;
    if (list.empty()) return;
    size_.bytes += list.size() * sizeof(Item) + kBlock;
    size_.items += list.size();
    if constexpr (!HasNoParts<Item>) {
      for (const Item& item : list) Add(item);
    }
  }
  template <class T>
  void Add(const std::vector<T>& list) {
    AddList(list);
  }
  template <class T>
  void Add(const api::CowList<T>& list) {
    AddList(list);
  }
  void Add(const api::Labels& labels) { AddList(labels); }
  void Add(const api::ResourceList& amounts) { AddList(amounts); }
  template <class T>
  void Add(const std::map<std::string, T, std::less<>>& map) {
    size_.bytes += map.size() * 2 * kBlock;
    AddList(map);
  }

  // --- parts of all kinds ---
  void Add(const api::ObjectMeta& meta) {
    All(meta.name, meta.ns, meta.uid, meta.resource_version, meta.labels, meta.annotations, meta.controller,
        meta.deletion_timestamp);
  }
  void Add(const api::OwnerReference& owner) { All(owner.api_version, owner.kind, owner.name, owner.uid); }
  void Add(const api::LabelSelector& selector) { All(selector.match_labels, selector.match_expressions); }
  void Add(const api::LabelSelectorRequirement& requirement) {
    All(requirement.key, requirement.op, requirement.values);
  }
  void Add(const api::NodeSelectorRequirement& requirement) {
    All(requirement.key, requirement.op, requirement.values);
  }
  void Add(const api::NodeSelectorTerm& term) { All(term.match_expressions, term.match_fields); }
  void Add(const api::NodeSelector& selector) { All(selector.terms); }

  // --- pods ---
  void Add(const api::Pod& pod) {
    All(pod.metadata, pod.spec, pod.status, pod.text);
    size_.computed += ComputedFrom(pod);
  }
  // Texts are stored up to three times: the selector of a required term in the term and in the conjunction of
  // all terms, and labels and selectors as keys of pools.
  static std::size_t ComputedFrom(const api::Pod& pod) {
    const api::PodSpec& spec = pod.spec;
    std::size_t disks = spec.volumes.size();
    for (const api::Volume& volume : spec.volumes) disks += volume.rbd ? volume.rbd->monitors.size() : 0;
    return 3 * BytesOf(pod.metadata.labels, spec.pod_affinity, spec.pod_anti_affinity, spec.volumes) +
           kPerTerm * (TermsOf(spec.pod_affinity) + TermsOf(spec.pod_anti_affinity)) + kPerDisk * disks;
  }
  static std::size_t TermsOf(const auto& affinity) {
    return affinity ? affinity->required.size() + affinity->preferred.size() : 0;
  }
  template <class... Parts>
  static std::size_t BytesOf(const Parts&... parts) {
    ObjectMeter meter;
    meter.All(parts...);
    return meter.size_.bytes;
  }
  void Add(const api::PodSpec& spec) {
    All(spec.node_name, spec.scheduler_name, spec.priority_class_name, spec.scheduling_gates,
        spec.node_selector, spec.node_affinity, spec.tolerations, spec.containers, spec.init_containers,
        spec.resources, spec.overhead, spec.image_volumes, spec.volumes, spec.pod_affinity,
        spec.pod_anti_affinity, spec.topology_spread_constraints, spec.resource_claims, spec.pod_group);
  }
  void Add(const api::PodStatus& status) {
    All(status.phase, status.nominated_node_name, status.resource_claim_statuses,
        status.extended_resource_claim, status.container_statuses, status.init_container_statuses,
        status.allocated_resources, status.resource_requests);
    Unread(status.conditions);
  }
  void Add(const api::NodeAffinity& affinity) { All(affinity.required, affinity.preferred); }
  void Add(const api::PreferredSchedulingTerm& term) { All(term.preference); }
  void Add(const api::Toleration& one) { All(one.key, one.op, one.value, one.effect); }
  void Add(const api::Container& one) { All(one.name, one.image, one.resources, one.ports); }
  void Add(const api::ContainerPort& port) { All(port.protocol, port.host_ip); }
  void Add(const api::ResourceRequirements& resources) { All(resources.requests, resources.limits); }
  void Add(const api::Volume& volume) { All(volume.name, volume.id, volume.rbd, volume.azure_kind); }
  void Add(const api::Volume::Rbd& rbd) { All(rbd.pool, rbd.monitors); }
  void Add(const api::PodAffinity& affinity) { All(affinity.required, affinity.preferred); }
  void Add(const api::WeightedPodAffinityTerm& weighted) { All(weighted.term); }
  void Add(const api::PodAffinityTerm& term) {
    All(term.label_selector, term.namespaces, term.namespace_selector, term.topology_key,
        term.match_label_keys, term.mismatch_label_keys);
  }
  void Add(const api::TopologySpreadConstraint& constraint) {
    All(constraint.topology_key, constraint.when_unsatisfiable, constraint.label_selector,
        constraint.node_affinity_policy, constraint.node_taints_policy, constraint.match_label_keys);
  }
  void Add(const api::PodResourceClaim& claim) {
    All(claim.name, claim.resource_claim_name, claim.resource_claim_template_name);
  }
  void Add(const api::PodResourceClaimStatus& claim) { All(claim.name, claim.resource_claim_name); }
  void Add(const api::ExtendedResourceClaimStatus& claim) {
    All(claim.resource_claim_name, claim.request_mappings);
  }
  void Add(const api::ExtendedResourceClaimStatus::RequestMapping& mapping) {
    All(mapping.container_name, mapping.resource_name, mapping.request_name);
  }
  void Add(const api::ContainerStatus& status) {
    All(status.name, status.allocated_resources, status.resource_requests);
  }
  void Add(const api::PodCondition& condition) {
    All(condition.type, condition.status, condition.reason, condition.message,
        condition.last_transition_time);
  }

  // --- nodes ---
  void Add(const api::Node& node) {
    All(node.metadata, node.taints, node.allocatable, node.declared_features, node.text);
    Unread(node.capacity, node.images, node.conditions, node.addresses);
  }
  void Add(const api::Taint& taint) { All(taint.key, taint.value, taint.effect); }
  void Add(const api::ContainerImage& image) { All(image.names); }
  void Add(const api::NodeCondition& condition) { All(condition.type, condition.status); }
  void Add(const api::NodeAddress& address) { All(address.type, address.address); }
  void Add(const api::NodeResourceTopology& topology) {
    All(topology.metadata, topology.topology_policies, topology.attributes, topology.zones);
  }
  void Add(const api::NodeResourceTopology::Attribute& attribute) { All(attribute.name, attribute.value); }
  void Add(const api::NodeResourceTopology::Zone& zone) {
    All(zone.name, zone.type, zone.costs, zone.resources);
  }
  void Add(const api::NodeResourceTopology::Cost& cost) { All(cost.name); }
  void Add(const api::NodeResourceTopology::Resource& resource) { All(resource.name); }

  // --- storage ---
  void Add(const api::PersistentVolume& volume) {
    All(volume.metadata, volume.driver, volume.volume_handle, volume.azure_kind, volume.access_modes,
        volume.storage_class_name, volume.volume_mode, volume.claim_ref, volume.node_affinity, volume.phase);
  }
  void Add(const api::PersistentVolume::ClaimRef& claim) { All(claim.ns, claim.name, claim.uid); }
  void Add(const api::PersistentVolumeClaim& claim) {
    All(claim.metadata, claim.volume_name, claim.storage_class_name, claim.access_modes, claim.selector,
        claim.volume_mode, claim.phase);
  }
  void Add(const api::StorageClass& one) { All(one.metadata, one.provisioner, one.allowed_topologies); }
  void Add(const api::StorageClass::TopologyRequirement& one) { All(one.key, one.values); }
  void Add(const api::CSINode& node) { All(node.metadata, node.drivers); }
  void Add(const api::CSINode::Driver& driver) { All(driver.name); }
  void Add(const api::CSIDriver& driver) { All(driver.metadata); }
  void Add(const api::CSIStorageCapacity& capacity) { All(capacity.metadata, capacity.node_topology); }
  void Add(const api::VolumeAttachment& attachment) { All(attachment.metadata, attachment.attacher); }

  // --- devices ---
  void Add(const api::ResourceSlice& slice) {
    All(slice.metadata, slice.driver, slice.pool, slice.node_name, slice.node_selector);
    Unread(slice.devices, slice.shared_counters);
  }
  void Add(const api::Device& device) {
    All(device.name, device.attributes, device.capacity, device.consumes_counters, device.node_name,
        device.node_selector, device.taints, device.binding_conditions, device.binding_failure_conditions);
  }
  void Add(const api::DeviceAttribute& attribute) {
    if (const auto* text = std::get_if<std::string>(&attribute.value)) Add(*text);
    if (const auto* version = std::get_if<api::DeviceAttribute::Version>(&attribute.value))
      Add(version->text);
  }
  void Add(const api::DeviceCapacity& capacity) { All(capacity.request_policy); }
  void Add(const api::CapacityRequestPolicy& policy) { All(policy.valid_values); }
  void Add(const api::CounterConsumption& one) { All(one.counter_set, one.counters); }
  void Add(const api::CounterSet& set) { All(set.name, set.counters); }
  void Add(const api::DeviceTaint& taint) { All(taint.key, taint.value, taint.effect); }
  void Add(const api::DeviceClass& one) {
    All(one.metadata, one.extended_resource_name);
    Unread(one.selectors, one.config);
  }
  void Add(const api::DeviceSelector& selector) { All(selector.cel_expression); }
  void Add(const api::DeviceConfiguration& config) { All(config.requests, config.parameters); }
  void Add(const api::ResourceClaim& claim) {
    All(claim.metadata, claim.allocation, claim.reserved_for);
    Unread(claim.finalizers, claim.requests, claim.constraints, claim.config, claim.device_statuses);
  }
  void Add(const api::ExactDeviceRequest& request) {
    All(request.device_class_name, request.selectors, request.tolerations, request.capacity);
  }
  void Add(const api::DeviceToleration& one) { All(one.key, one.op, one.value, one.effect); }
  void Add(const api::ResourceClaim::Alternative& alternative) { All(alternative.name, alternative.devices); }
  void Add(const api::ResourceClaim::Request& request) {
    All(request.name, request.exactly, request.first_available);
  }
  void Add(const api::ResourceClaim::Constraint& constraint) {
    All(constraint.requests, constraint.match_attribute, constraint.distinct_attribute);
  }
  void Add(const api::ResourceClaim::Consumer& consumer) {
    All(consumer.api_group, consumer.resource, consumer.name, consumer.uid);
  }
  void Add(const api::ResourceClaim::Allocation& allocation) {
    All(allocation.devices, allocation.config, allocation.node_selector, allocation.timestamp);
  }
  void Add(const api::ResourceClaim::AllocatedDevice& device) {
    All(device.request, device.driver, device.pool, device.device, device.tolerations,
        device.binding_conditions, device.binding_failure_conditions, device.share_id,
        device.consumed_capacity);
  }
  void Add(const api::ResourceClaim::AllocatedConfiguration& config) {
    All(config.source, config.configuration);
  }
  void Add(const api::ResourceClaim::DeviceStatus& status) {
    All(status.driver, status.pool, status.device, status.conditions);
  }
  void Add(const api::ResourceClaim::DeviceStatus::Condition& condition) {
    All(condition.type, condition.status, condition.reason, condition.message);
  }

  // --- groups and quotas ---
  void Add(const api::PodGroup& group) {
    All(group.metadata, group.preemption_policy, group.topology_key, group.parent, group.resource_claims,
        group.resource_claim_statuses, group.external);
    Unread(group.conditions);
  }
  void Add(const api::PodGroupCondition& condition) {
    All(condition.type, condition.status, condition.reason, condition.message);
  }
  void Add(const api::PodGroup::External& external) {
    All(external.task_minimums, external.min_resources, external.invalid);
  }
  void Add(const api::PodGroup::External::TaskMinimum& minimum) { All(minimum.task); }
  void Add(const api::ElasticQuota& quota) { All(quota.metadata, quota.min, quota.max); }

  ObjectSize size_;
};

template <class T>
ObjectSize SizeOfBoth(const framework::EventObjects& objects) {
  ObjectMeter meter;
  meter.AddObject(objects.Before<T>());
  meter.AddObject(objects.After<T>());
  return meter.size();
}

}  // namespace

ObjectSize SizeOfPod(const api::Pod& pod) {
  ObjectMeter meter;
  meter.AddObject(&pod);
  return meter.size();
}

ObjectSize SizeOfObjects(const framework::ClusterEvent& event, const framework::EventObjects& objects) {
  switch (event.resource) {
    case EventResource::kAssignedPod:
    case EventResource::kTargetPod:
    case EventResource::kUnscheduledPod:
      return SizeOfBoth<api::Pod>(objects);
    case EventResource::kAny:  // a wildcard event is for one pod or has no objects
      return event.wildcard() ? SizeOfBoth<api::Pod>(objects) : ObjectSize{};
    case EventResource::kNode:
      return SizeOfBoth<api::Node>(objects);
    case EventResource::kPersistentVolume:
      return SizeOfBoth<api::PersistentVolume>(objects);
    case EventResource::kPersistentVolumeClaim:
      return SizeOfBoth<api::PersistentVolumeClaim>(objects);
    case EventResource::kStorageClass:
      return SizeOfBoth<api::StorageClass>(objects);
    case EventResource::kCSINode:
      return SizeOfBoth<api::CSINode>(objects);
    case EventResource::kCSIDriver:
      return SizeOfBoth<api::CSIDriver>(objects);
    case EventResource::kCSIStorageCapacity:
      return SizeOfBoth<api::CSIStorageCapacity>(objects);
    case EventResource::kVolumeAttachment:
      return SizeOfBoth<api::VolumeAttachment>(objects);
    case EventResource::kDeviceClass:
      return SizeOfBoth<api::DeviceClass>(objects);
    case EventResource::kResourceClaim:
      return SizeOfBoth<api::ResourceClaim>(objects);
    case EventResource::kPodGroup:
      return SizeOfBoth<api::PodGroup>(objects);
    case EventResource::kCompositePodGroup:
      return SizeOfBoth<api::CompositePodGroup>(objects);
    case EventResource::kElasticQuota:
      return SizeOfBoth<api::ElasticQuota>(objects);
    case EventResource::kNodeResourceTopology:
      return SizeOfBoth<api::NodeResourceTopology>(objects);
    case EventResource::kResourceSlice:  // those of device taint rules have no objects
      return SizeOfBoth<api::ResourceSlice>(objects);
    case EventResource::kPluginState:
      return {};
  }
  return {};
}

}  // namespace berth::queue
