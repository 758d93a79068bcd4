// Dynamic resource allocation, field by field: resource.k8s.io/v1.
#include "kubernetes/api/encode_kinds.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the writers of lists and optionals find these by argument-dependent lookup.

// --- parts ---

template <class Value>
void Write(Writer& to, const std::map<std::string, Value, std::less<>>& value) {
  WriteMap(to, value);
}

void Write(Writer& to, const DeviceSelector& value) {
  const auto cel = [&](Writer& w) { WriteFields(w, Required{"expression", *value.cel_expression}); };
  Members members(to);
  if (value.cel_expression) members.Add(Required{"cel", cel});
}

void AddConfiguration(Members& members, const DeviceConfiguration& value) {
  constexpr std::string_view kOpaque = "{\"opaque\":";
  const auto opaque = [&](Writer& to) {
    to.out().append(value.parameters, kOpaque.size(), value.parameters.size() - kOpaque.size() - 1);
  };
  members.Add(Member{"requests", value.requests});
  if (value.parameters.starts_with(kOpaque)) members.Add(Required{"opaque", opaque});
}

void Write(Writer& to, const DeviceConfiguration& value) {
  Members members(to);
  AddConfiguration(members, value);
}

void Write(Writer& to, const DeviceTaint& value) {
  WriteFields(to, Member{"key", value.key}, Member{"value", value.value}, Member{"effect", value.effect});
}

void Write(Writer& to, const DeviceToleration& value) {
  WriteFields(to, Member{"key", value.key}, Member{"operator", value.op}, Member{"value", value.value},
              Member{"effect", value.effect}, Member{"tolerationSeconds", value.toleration_seconds});
}

// --- classes ---

void AddMembers(Members& members, const DeviceClass& value) {
  const auto metadata = [&](Writer& to) {
    Members fields(to);
    AddMetadata(fields, value.metadata);
    fields.Add(Member{"creationTimestamp", value.creation_timestamp});
  };
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"selectors", value.selectors}, Member{"config", value.config},
                Member{"extendedResourceName", value.extended_resource_name});
  };
  members.Add(Required{"metadata", metadata}).Add(Member{"spec", spec});
}

// --- claims ---

void AddRequest(Members& members, const ExactDeviceRequest& value) {
  const auto capacity = [&](Writer& to) { WriteFields(to, Member{"requests", *value.capacity}); };
  const auto derived = [](Writer& to) { to.out() += "[{}]"; };
  members.Add(Member{"deviceClassName", value.device_class_name})
      .Add(Member{"selectors", value.selectors})
      .Add(Member{"allocationMode", value.allocation_mode})
      .Add(Member{"count", value.count})
      .Add(Member{"adminAccess", value.admin_access})
      .Add(Member{"tolerations", value.tolerations});
  if (value.capacity) members.Add(Required{"capacity", capacity});
  if (value.derived_attributes) members.Add(Required{"derivedAttributes", derived});
}

void Write(Writer& to, const ExactDeviceRequest& value) {
  Members members(to);
  AddRequest(members, value);
}

void Write(Writer& to, const ResourceClaim::Alternative& value) {
  Members members(to);
  members.Add(Member{"name", value.name});
  AddRequest(members, value.devices);
}

void Write(Writer& to, const ResourceClaim::Request& value) {
  WriteFields(to, Member{"name", value.name}, Member{"exactly", value.exactly},
              Member{"firstAvailable", value.first_available});
}

void Write(Writer& to, const ResourceClaim::Constraint& value) {
  WriteFields(to, Member{"requests", value.requests}, Member{"matchAttribute", value.match_attribute},
              Member{"distinctAttribute", value.distinct_attribute});
}

void Write(Writer& to, const ResourceClaim::Consumer& value) {
  WriteFields(to, Member{"apiGroup", value.api_group}, Member{"resource", value.resource},
              Member{"name", value.name}, Member{"uid", value.uid});
}

void Write(Writer& to, const ResourceClaim::AllocatedDevice& value) {
  WriteFields(to, Member{"request", value.request}, Member{"driver", value.driver},
              Member{"pool", value.pool}, Member{"device", value.device},
              Member{"adminAccess", value.admin_access}, Member{"tolerations", value.tolerations},
              Member{"bindingConditions", value.binding_conditions},
              Member{"bindingFailureConditions", value.binding_failure_conditions},
              Member{"shareID", value.share_id}, Member{"consumedCapacity", value.consumed_capacity});
}

void Write(Writer& to, const ResourceClaim::AllocatedConfiguration& value) {
  Members members(to);
  members.Add(Member{"source", value.source});
  AddConfiguration(members, value.configuration);
}

void Write(Writer& to, const ResourceClaim::Allocation& value) {
  const auto devices = [&](Writer& w) {
    WriteFields(w, Member{"results", value.devices}, Member{"config", value.config});
  };
  WriteFields(to, Member{"devices", devices}, Member{"nodeSelector", value.node_selector},
              Member{"allocationTimestamp", value.timestamp});
}

void Write(Writer& to, const ResourceClaim::DeviceStatus::Condition& value) {
  WriteFields(to, Member{"type", value.type}, Member{"status", value.status}, Member{"reason", value.reason},
              Member{"message", value.message});
}

void Write(Writer& to, const ResourceClaim::DeviceStatus& value) {
  WriteFields(to, Member{"driver", value.driver}, Member{"pool", value.pool}, Member{"device", value.device},
              Member{"conditions", value.conditions});
}

void AddMembers(Members& members, const ResourceClaim& value) {
  const auto metadata = [&](Writer& to) {
    Members fields(to);
    AddMetadata(fields, value.metadata);
    fields.Add(Member{"finalizers", value.finalizers});
  };
  const auto devices = [&](Writer& to) {
    WriteFields(to, Member{"requests", value.requests}, Member{"constraints", value.constraints},
                Member{"config", value.config});
  };
  const auto spec = [&](Writer& to) { WriteFields(to, Member{"devices", devices}); };
  const auto status = [&](Writer& to) {
    WriteFields(to, Member{"allocation", value.allocation}, Member{"reservedFor", value.reserved_for},
                Member{"devices", value.device_statuses});
  };
  members.Add(Required{"metadata", metadata}).Add(Member{"spec", spec}).Add(Member{"status", status});
}

// --- devices ---

void Write(Writer& to, const DeviceAttribute& value) {
  Members members(to);
  std::visit(
      [&]<class T>(const T& of) {
        if constexpr (std::is_same_v<T, std::int64_t>) members.Add(Required{"int", of});
        if constexpr (std::is_same_v<T, bool>) members.Add(Required{"bool", of});
        if constexpr (std::is_same_v<T, std::string>) members.Add(Required{"string", of});
        if constexpr (std::is_same_v<T, DeviceAttribute::Version>) members.Add(Required{"version", of.text});
      },
      value.value);
}

void Write(Writer& to, const CapacityRequestPolicy::Range& value) {
  WriteFields(to, Member{"min", value.min}, Member{"max", value.max}, Member{"step", value.step});
}

void Write(Writer& to, const CapacityRequestPolicy& value) {
  WriteFields(to, Member{"default", value.default_request}, Member{"validValues", value.valid_values},
              Member{"validRange", value.valid_range});
}

void Write(Writer& to, const DeviceCapacity& value) {
  WriteFields(to, Required{"value", value.value}, Member{"requestPolicy", value.request_policy});
}

// A map of counters by name, each an object with a value.
void WriteCounters(Writer& to, const QuantityMap& counters) {
  Members members(to);
  for (const auto& [name, amount] : counters) {
    const auto counter = [&](Writer& w) { WriteFields(w, Required{"value", amount}); };
    members.Add(Required{name, counter});
  }
}

void Write(Writer& to, const CounterConsumption& value) {
  const auto counters = [&](Writer& w) { WriteCounters(w, value.counters); };
  const auto groups = [](Writer& w) { w.out() += "[\"\"]"; };
  Members members(to);
  members.Add(Member{"counterSet", value.counter_set}).Add(Member{"counters", counters});
  if (value.compatibility_groups) members.Add(Required{"compatibilityGroups", groups});
}

void Write(Writer& to, const CounterSet& value) {
  const auto counters = [&](Writer& w) { WriteCounters(w, value.counters); };
  WriteFields(to, Member{"name", value.name}, Member{"counters", counters});
}

void Write(Writer& to, const Device& value) {
  WriteFields(to, Member{"name", value.name}, Member{"attributes", value.attributes},
              Member{"capacity", value.capacity}, Member{"consumesCounters", value.consumes_counters},
              Member{"nodeName", value.node_name}, Member{"nodeSelector", value.node_selector},
              Member{"allNodes", value.all_nodes}, Member{"taints", value.taints},
              Member{"bindsToNode", value.binds_to_node},
              Member{"bindingConditions", value.binding_conditions},
              Member{"bindingFailureConditions", value.binding_failure_conditions},
              Member{"allowMultipleAllocations", value.allow_multiple_allocations});
}

void AddMembers(Members& members, const ResourceSlice& value) {
  const auto pool = [&](Writer& to) {
    WriteFields(to, Member{"name", value.pool}, Member{"generation", value.pool_generation},
                Member{"resourceSliceCount", value.pool_slice_count});
  };
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"driver", value.driver}, Member{"pool", pool}, Member{"nodeName", value.node_name},
                Member{"nodeSelector", value.node_selector}, Member{"allNodes", value.all_nodes},
                Member{"perDeviceNodeSelection", value.per_device_node_selection},
                Member{"devices", value.devices}, Member{"sharedCounters", value.shared_counters});
  };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

void Write(Writer& to, const DeviceTaintRule::Selector& value) {
  WriteFields(to, Member{"driver", value.driver}, Member{"pool", value.pool}, Member{"device", value.device});
}

void AddMembers(Members& members, const DeviceTaintRule& value) {
  const auto spec = [&](Writer& to) {
    WriteFields(to, Member{"deviceSelector", value.selector}, Member{"taint", value.taint});
  };
  members.Add(Required{"metadata", value.metadata}).Add(Member{"spec", spec});
}

}  // namespace berth::api::json
