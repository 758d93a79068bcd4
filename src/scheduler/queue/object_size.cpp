#include "scheduler/queue/object_size.hpp"

#include <chrono>
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
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::queue {
namespace {

using framework::EventResource;

template <class T>
concept HasNoParts = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, api::Quantity> ||
                     std::is_same_v<T, std::chrono::seconds> || std::is_same_v<T, std::monostate>;

// Adds up objects part by part. Parts without lists and texts add nothing. Equal objects have equal sizes,
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
  // The bytes of parts.
  template <class... Parts>
  static std::size_t BytesOf(const Parts&... parts) {
    ObjectMeter meter;
    meter.All(parts...);
    return meter.size_.bytes;
  }

 private:
  static constexpr std::size_t kBlock = 16;   // of the allocator and for the count of users
  static constexpr std::size_t kInside = 15;  // characters that a text stores without a block

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
  // All members are listed, so that adding a member without handling it here is a compile error.
  void Add(const api::ObjectMeta& meta) {
    const auto& [name, ns, uid, version, labels, annotations, controller, deletion, generation] = meta;
    All(name, ns, uid, version, labels, annotations, controller, deletion, generation);
  }
  void Add(const api::OwnerReference& owner) {
    const auto& [api_version, kind, name, uid] = owner;
    All(api_version, kind, name, uid);
  }
  void Add(const api::LabelSelector& selector) {
    const auto& [labels, expressions] = selector;
    All(labels, expressions);
  }
  void Add(const api::LabelSelectorRequirement& requirement) {
    const auto& [key, op, values] = requirement;
    All(key, op, values);
  }
  void Add(const api::NodeSelectorRequirement& requirement) {
    const auto& [key, op, values] = requirement;
    All(key, op, values);
  }
  void Add(const api::NodeSelectorTerm& term) {
    const auto& [expressions, fields] = term;
    All(expressions, fields);
  }
  void Add(const api::NodeSelector& selector) {
    const auto& [terms] = selector;
    All(terms);
  }

  // --- pods ---
  void Add(const api::Pod& pod) {
    const auto& [metadata, spec, status, text] = pod;
    All(metadata, spec, status, text);
  }
  void Add(const api::PodSpec& spec) {
    const auto& [node, scheduler, priority_class, priority, gates, node_selector, node_affinity, tolerations,
                 containers, init_containers, resources, overhead, image_volumes, volumes, affinity,
                 anti_affinity, spread, claims, group, host_network, never_preempts, local_storage,
                 host_users, restarts_all, bind_mounts] = spec;
    All(node, scheduler, priority_class, priority, gates, node_selector, node_affinity, tolerations,
        containers, init_containers, resources, overhead, image_volumes, volumes, affinity, anti_affinity,
        spread, claims, group, host_network, never_preempts, local_storage, host_users, restarts_all,
        bind_mounts);
  }
  void Add(const api::PodStatus& status) {
    const auto& [phase, nominated, conditions, start, scheduled, claims, extended, containers,
                 init_containers, allocated, requests, has_resources] = status;
    All(phase, nominated, start, scheduled, claims, extended, containers, init_containers, allocated,
        requests, has_resources);
    Unread(conditions);
  }
  void Add(const api::NodeAffinity& affinity) {
    const auto& [required, preferred] = affinity;
    All(required, preferred);
  }
  void Add(const api::PreferredSchedulingTerm& term) {
    const auto& [weight, preference] = term;
    All(weight, preference);
  }
  void Add(const api::Toleration& toleration) {
    const auto& [key, op, value, effect] = toleration;
    All(key, op, value, effect);
  }
  void Add(const api::Container& container) {
    const auto& [name, image, resources, ports, restart_always] = container;
    All(name, image, resources, ports, restart_always);
  }
  void Add(const api::ContainerPort& port) {
    const auto& [container_port, host_port, protocol, host_ip] = port;
    All(container_port, host_port, protocol, host_ip);
  }
  void Add(const api::ResourceRequirements& resources) {
    const auto& [requests, limits] = resources;
    All(requests, limits);
  }
  void Add(const api::Volume& volume) {
    const auto& [name, source, read_only, id, rbd, azure_kind] = volume;
    All(name, source, read_only, id, rbd, azure_kind);
  }
  void Add(const api::Volume::Rbd& rbd) {
    const auto& [pool, monitors] = rbd;
    All(pool, monitors);
  }
  void Add(const api::PodAffinity& affinity) {
    const auto& [required, preferred] = affinity;
    All(required, preferred);
  }
  void Add(const api::WeightedPodAffinityTerm& weighted) {
    const auto& [weight, term] = weighted;
    All(weight, term);
  }
  void Add(const api::PodAffinityTerm& term) {
    const auto& [labels, namespaces, namespace_labels, topology_key, match_keys, mismatch_keys] = term;
    All(labels, namespaces, namespace_labels, topology_key, match_keys, mismatch_keys);
  }
  void Add(const api::TopologySpreadConstraint& constraint) {
    const auto& [max_skew, topology_key, when_unsatisfiable, labels, min_domains, affinity_policy,
                 taints_policy, match_keys] = constraint;
    All(max_skew, topology_key, when_unsatisfiable, labels, min_domains, affinity_policy, taints_policy,
        match_keys);
  }
  void Add(const api::PodResourceClaim& claim) {
    const auto& [name, claim_name, template_name] = claim;
    All(name, claim_name, template_name);
  }
  void Add(const api::PodResourceClaimStatus& claim) {
    const auto& [name, claim_name] = claim;
    All(name, claim_name);
  }
  void Add(const api::ExtendedResourceClaimStatus& claim) {
    const auto& [name, mappings] = claim;
    All(name, mappings);
  }
  void Add(const api::ExtendedResourceClaimStatus::RequestMapping& mapping) {
    const auto& [container, resource, request] = mapping;
    All(container, resource, request);
  }
  void Add(const api::ContainerStatus& status) {
    const auto& [name, allocated, requests] = status;
    All(name, allocated, requests);
  }
  void Add(const api::PodCondition& condition) {
    const auto& [type, status, reason, message, transition, generation] = condition;
    All(type, status, reason, message, transition, generation);
  }

  // --- nodes ---
  void Add(const api::Node& node) {
    const auto& [metadata, unschedulable, taints, allocatable, capacity, allocatable_given, images,
                 conditions, addresses, features, annotations_digest, text] = node;
    All(metadata, unschedulable, taints, allocatable, allocatable_given, features, annotations_digest, text);
    Unread(capacity, images, conditions, addresses);
  }
  void Add(const api::Taint& taint) {
    const auto& [key, value, effect] = taint;
    All(key, value, effect);
  }
  void Add(const api::ContainerImage& image) {
    const auto& [names, bytes] = image;
    All(names, bytes);
  }
  void Add(const api::NodeCondition& condition) {
    const auto& [type, status] = condition;
    All(type, status);
  }
  void Add(const api::NodeAddress& address) {
    const auto& [type, text] = address;
    All(type, text);
  }
  void Add(const api::NodeResourceTopology& topology) {
    const auto& [metadata, policies, attributes, zones] = topology;
    All(metadata, policies, attributes, zones);
  }
  void Add(const api::NodeResourceTopology::Attribute& attribute) {
    const auto& [name, value] = attribute;
    All(name, value);
  }
  void Add(const api::NodeResourceTopology::Zone& zone) {
    const auto& [name, type, costs, resources] = zone;
    All(name, type, costs, resources);
  }
  void Add(const api::NodeResourceTopology::Cost& cost) {
    const auto& [zone, value] = cost;
    All(zone, value);
  }
  void Add(const api::NodeResourceTopology::Resource& resource) {
    const auto& [name, available] = resource;
    All(name, available);
  }

  // --- storage ---
  void Add(const api::PersistentVolume& volume) {
    const auto& [metadata, source, driver, handle, azure_kind, storage, access_modes, storage_class, mode,
                 attributes_class, claim, node_affinity, phase] = volume;
    All(metadata, source, driver, handle, azure_kind, storage, access_modes, storage_class, mode,
        attributes_class, claim, node_affinity, phase);
  }
  void Add(const api::PersistentVolume::ClaimRef& claim) {
    const auto& [ns, name, uid] = claim;
    All(ns, name, uid);
  }
  void Add(const api::PersistentVolumeClaim& claim) {
    const auto& [metadata, volume, storage_class, access_modes, storage, selector, mode, attributes_class,
                 phase] = claim;
    All(metadata, volume, storage_class, access_modes, storage, selector, mode, attributes_class, phase);
  }
  void Add(const api::StorageClass& storage_class) {
    const auto& [metadata, provisioner, binding_mode, topologies] = storage_class;
    All(metadata, provisioner, binding_mode, topologies);
  }
  void Add(const api::StorageClass::TopologyRequirement& requirement) {
    const auto& [key, values] = requirement;
    All(key, values);
  }
  void Add(const api::CSINode& node) {
    const auto& [metadata, drivers] = node;
    All(metadata, drivers);
  }
  void Add(const api::CSINode::Driver& driver) {
    const auto& [name, count] = driver;
    All(name, count);
  }
  void Add(const api::CSIDriver& driver) {
    const auto& [metadata, storage_capacity, prevents_scheduling] = driver;
    All(metadata, storage_capacity, prevents_scheduling);
  }
  void Add(const api::CSIStorageCapacity& object) {
    const auto& [metadata, storage_class, node_topology, capacity, maximum_volume_size] = object;
    All(metadata, storage_class, node_topology, capacity, maximum_volume_size);
  }
  void Add(const api::VolumeAttachment& attachment) {
    const auto& [metadata, attacher, node, volume] = attachment;
    All(metadata, attacher, node, volume);
  }

  // --- devices ---
  void Add(const api::ResourceSlice& slice) {
    const auto& [metadata, driver, pool, generation, slice_count, node, node_selector, all_nodes,
                 per_device_selection, devices, counters] = slice;
    All(metadata, driver, pool, generation, slice_count, node, node_selector, all_nodes,
        per_device_selection);
    Unread(devices, counters);
  }
  void Add(const api::Device& device) {
    const auto& [name, attributes, capacity, consumes, node, node_selector, all_nodes, taints, binds_to_node,
                 conditions, failure_conditions, multiple_allocations] = device;
    All(name, attributes, capacity, consumes, node, node_selector, all_nodes, taints, binds_to_node,
        conditions, failure_conditions, multiple_allocations);
  }
  void Add(const api::DeviceAttribute& attribute) {
    const auto& [value] = attribute;
    std::visit([this](const auto& one) { Add(one); }, value);
  }
  void Add(const api::DeviceAttribute::Version& version) {
    const auto& [text] = version;
    All(text);
  }
  void Add(const api::DeviceCapacity& capacity) {
    const auto& [value, policy] = capacity;
    All(value, policy);
  }
  void Add(const api::CapacityRequestPolicy& policy) {
    const auto& [default_request, valid_values, valid_range] = policy;
    All(default_request, valid_values, valid_range);
  }
  void Add(const api::CapacityRequestPolicy::Range& range) {
    const auto& [min, max, step] = range;
    All(min, max, step);
  }
  void Add(const api::CounterConsumption& consumption) {
    const auto& [counter_set, counters, compatibility_groups] = consumption;
    All(counter_set, counters, compatibility_groups);
  }
  void Add(const api::CounterSet& set) {
    const auto& [name, counters] = set;
    All(name, counters);
  }
  void Add(const api::DeviceTaint& taint) {
    const auto& [key, value, effect] = taint;
    All(key, value, effect);
  }
  void Add(const api::DeviceClass& device_class) {
    const auto& [metadata, created, selectors, config, resource] = device_class;
    All(metadata, created, resource);
    Unread(selectors, config);
  }
  void Add(const api::DeviceSelector& selector) {
    const auto& [expression] = selector;
    All(expression);
  }
  void Add(const api::DeviceConfiguration& config) {
    const auto& [requests, parameters] = config;
    All(requests, parameters);
  }
  void Add(const api::ResourceClaim& claim) {
    const auto& [metadata, for_extended_resources, finalizers, requests, constraints, config, allocation,
                 reserved_for, device_statuses] = claim;
    All(metadata, for_extended_resources, allocation, reserved_for);
    Unread(finalizers, requests, constraints, config, device_statuses);
  }
  void Add(const api::ExactDeviceRequest& request) {
    const auto& [device_class, selectors, allocation_mode, count, admin_access, tolerations, capacity,
                 derived_attributes] = request;
    All(device_class, selectors, allocation_mode, count, admin_access, tolerations, capacity,
        derived_attributes);
  }
  void Add(const api::DeviceToleration& toleration) {
    const auto& [key, op, value, effect, seconds] = toleration;
    All(key, op, value, effect, seconds);
  }
  void Add(const api::ResourceClaim::Alternative& alternative) {
    const auto& [name, devices] = alternative;
    All(name, devices);
  }
  void Add(const api::ResourceClaim::Request& request) {
    const auto& [name, exactly, alternatives] = request;
    All(name, exactly, alternatives);
  }
  void Add(const api::ResourceClaim::Constraint& constraint) {
    const auto& [requests, match_attribute, distinct_attribute] = constraint;
    All(requests, match_attribute, distinct_attribute);
  }
  void Add(const api::ResourceClaim::Consumer& consumer) {
    const auto& [api_group, resource, name, uid] = consumer;
    All(api_group, resource, name, uid);
  }
  void Add(const api::ResourceClaim::Allocation& allocation) {
    const auto& [devices, config, node_selector, timestamp] = allocation;
    All(devices, config, node_selector, timestamp);
  }
  void Add(const api::ResourceClaim::AllocatedDevice& allocated) {
    const auto& [request, driver, pool, device, admin_access, tolerations, conditions, failure_conditions,
                 share_id, consumed] = allocated;
    All(request, driver, pool, device, admin_access, tolerations, conditions, failure_conditions, share_id,
        consumed);
  }
  void Add(const api::ResourceClaim::AllocatedConfiguration& config) {
    const auto& [source, configuration] = config;
    All(source, configuration);
  }
  void Add(const api::ResourceClaim::DeviceStatus& status) {
    const auto& [driver, pool, device, conditions] = status;
    All(driver, pool, device, conditions);
  }
  void Add(const api::ResourceClaim::DeviceStatus::Condition& condition) {
    const auto& [type, status, reason, message] = condition;
    All(type, status, reason, message);
  }

  // --- groups and quotas ---
  // A CompositePodGroup is measured as a PodGroup.
  static_assert(sizeof(api::CompositePodGroup) == sizeof(api::PodGroup));
  void Add(const api::PodGroup& group) {
    const auto& [metadata, created, composite, gang, priority, preemption_policy, disrupted_as_a_unit,
                 topology_key, parent, claims, conditions, claim_statuses, external] = group;
    All(metadata, created, composite, gang, priority, preemption_policy, disrupted_as_a_unit, topology_key,
        parent, claims, claim_statuses, external);
    Unread(conditions);
  }
  void Add(const api::PodGroup::Gang& gang) {
    const auto& [min_count] = gang;
    All(min_count);
  }
  void Add(const api::PodGroupCondition& condition) {
    const auto& [type, status, reason, message, generation] = condition;
    All(type, status, reason, message, generation);
  }
  void Add(const api::PodGroup::External& external) {
    const auto& [task_minimums, min_resources, permit_timeout, invalid] = external;
    All(task_minimums, min_resources, permit_timeout, invalid);
  }
  void Add(const api::PodGroup::External::TaskMinimum& minimum) {
    const auto& [task, min_count] = minimum;
    All(task, min_count);
  }
  void Add(const api::ElasticQuota& quota) {
    const auto& [metadata, min, max] = quota;
    All(metadata, min, max);
  }

  ObjectSize size_;
};

// --- what hints compute from a pod on a node ---

// A compiled affinity term has a block, an entry of a pool, a symbol and its lease, and a clause in the
// conjunction of all terms, each with a text; the written one may have nothing but a topology key.
constexpr std::size_t kPerTerm = 1024;
constexpr std::size_t kPerDisk = 256;  // by name, with two lists of rows; RBD: per monitor
constexpr std::size_t kPerPort = 48;   // an entry of 24 bytes in a list that has doubled

std::size_t TermsOf(const auto& affinity) {
  return affinity ? affinity->required.size() + affinity->preferred.size() : 0;
}

// Texts are stored up to three times: the selector of a required term in the term and in the conjunction of
// all terms, and labels and selectors as keys of pools.
std::size_t ComputedFrom(const api::Pod* pod) {
  if (pod == nullptr) return 0;
  const api::PodSpec& spec = pod->spec;
  const std::size_t texts =
      ObjectMeter::BytesOf(pod->metadata.labels, spec.pod_affinity, spec.pod_anti_affinity, spec.volumes);
  const std::size_t terms = TermsOf(spec.pod_affinity) + TermsOf(spec.pod_anti_affinity);
  std::size_t disks = spec.volumes.size();
  for (const api::Volume& volume : spec.volumes) disks += volume.rbd ? volume.rbd->monitors.size() : 0;
  std::size_t ports = 0;
  cluster::AnyHostPort(*pod, [&](const api::ContainerPort&) {
    ++ports;
    return false;
  });
  return 3 * texts + kPerTerm * terms + kPerDisk * disks + kPerPort * ports;
}

template <class T>
ObjectSize SizeOfBoth(const framework::EventObjects& objects) {
  ObjectMeter meter;
  meter.AddObject(objects.Before<T>());
  meter.AddObject(objects.After<T>());
  return meter.size();
}

ObjectSize SizeOfPodsOnNodes(const framework::EventObjects& objects) {
  ObjectSize size = SizeOfBoth<api::Pod>(objects);
  size.computed = ComputedFrom(objects.Before<api::Pod>()) + ComputedFrom(objects.After<api::Pod>());
  return size;
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
      return SizeOfPodsOnNodes(objects);
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
