// Dynamic resource allocation, field by field: resource.k8s.io/v1 and, where they differ, its beta versions.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

// --- parts ---

// Reads a map; `Value` has a reader.
template <class Value>
bool Read(const element& value, std::map<std::string, Value, std::less<>>& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    return Read(member, out[std::string(key)], failure);
  });
}

bool Read(const element& value, DeviceSelector& out, Failure& failure) {
  const auto cel = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"expression", out.cel_expression.emplace()});
  };
  return ReadFields(value, failure, Field{"cel", cel});
}

bool Read(const element& value, DeviceConfiguration& out, Failure& failure) {
  std::string members;
  const bool fine = ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "requests") return Read(member, out.requests, failure);
    if (key != "opaque") return true;
    members = "\"opaque\":" + std::string(simdjson::minify(member));
    return true;
  });
  out.parameters = "{" + members + "}";
  return fine;
}

bool Read(const element& value, DeviceTaint& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"value", out.value},
                    Field{"effect", out.effect});
}

bool Read(const element& value, DeviceToleration& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key}, Field{"operator", out.op},
                    Field{"value", out.value}, Field{"effect", out.effect},
                    Field{"tolerationSeconds", out.toleration_seconds});
}

// --- classes ---

bool Read(const element& value, DeviceClass& out, Failure& failure) {
  const auto metadata = [&](const element& member, Failure& f) {
    return Read(member, out.metadata, f) &&
           ReadFields(member, f, Field{"creationTimestamp", out.creation_timestamp});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"selectors", out.selectors}, Field{"config", out.config},
                      Field{"extendedResourceName", out.extended_resource_name});
  };
  return ReadFields(value, failure, Field{"metadata", metadata}, Field{"spec", spec});
}

// --- claims ---

using DeviceRequest = ResourceClaim::DeviceRequest;

// Reads the members of a request that v1 has in `exactly`, and v1beta1 in the request itself.
bool Read(const element& value, DeviceRequest& out, Failure& failure) {
  const auto capacity = [&](const element& member, Failure& f) {
    out.capacity.emplace();
    return ReadFields(member, f, Field{"requests", *out.capacity});
  };
  const auto derived = [&](const element& member, Failure& f) {
    return ReadItems(member, f, [&](const element&) { return out.derived_attributes = true; });
  };
  if (!ReadFields(value, failure, Field{"deviceClassName", out.device_class_name},
                  Field{"selectors", out.selectors}, Field{"allocationMode", out.allocation_mode},
                  Field{"count", out.count}, Field{"adminAccess", out.admin_access},
                  Field{"tolerations", out.tolerations}, Field{"capacity", capacity},
                  Field{"derivedAttributes", derived})) {
    return false;
  }
  if (out.allocation_mode.empty()) out.allocation_mode = "ExactCount";
  if (out.allocation_mode == "ExactCount" && out.count == 0) out.count = 1;
  return true;
}

bool Read(const element& value, ResourceClaim::Alternative& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name}) && Read(value, out.devices, failure);
}

bool Read(const element& value, ResourceClaim::Request& out, Failure& failure) {
  if (!ReadFields(value, failure, Field{"name", out.name}, Field{"exactly", out.exactly},
                  Field{"firstAvailable", out.first_available})) {
    return false;
  }
  if (out.exactly || !out.first_available.empty()) return true;
  DeviceRequest flat;  // as in v1beta1
  if (!Read(value, flat, failure)) return false;
  if (!flat.device_class_name.empty()) out.exactly = std::move(flat);
  return true;
}

bool Read(const element& value, ResourceClaim::Constraint& out, Failure& failure) {
  return ReadFields(value, failure, Field{"requests", out.requests},
                    Field{"matchAttribute", out.match_attribute},
                    Field{"distinctAttribute", out.distinct_attribute});
}

bool Read(const element& value, ResourceClaim::Consumer& out, Failure& failure) {
  return ReadFields(value, failure, Field{"apiGroup", out.api_group}, Field{"resource", out.resource},
                    Field{"name", out.name}, Field{"uid", out.uid});
}

bool Read(const element& value, ResourceClaim::AllocatedDevice& out, Failure& failure) {
  return ReadFields(value, failure, Field{"request", out.request}, Field{"driver", out.driver},
                    Field{"pool", out.pool}, Field{"device", out.device},
                    Field{"adminAccess", out.admin_access}, Field{"tolerations", out.tolerations},
                    Field{"bindingConditions", out.binding_conditions},
                    Field{"bindingFailureConditions", out.binding_failure_conditions},
                    Field{"shareID", out.share_id}, Field{"consumedCapacity", out.consumed_capacity});
}

bool Read(const element& value, ResourceClaim::AllocatedConfiguration& out, Failure& failure) {
  return ReadFields(value, failure, Field{"source", out.source}) && Read(value, out.configuration, failure);
}

bool Read(const element& value, ResourceClaim::Allocation& out, Failure& failure) {
  const auto devices = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"results", out.devices}, Field{"config", out.config});
  };
  return ReadFields(value, failure, Field{"devices", devices}, Field{"nodeSelector", out.node_selector},
                    Field{"allocationTimestamp", out.timestamp});
}

bool Read(const element& value, ResourceClaim::DeviceStatus::Condition& out, Failure& failure) {
  return ReadFields(value, failure, Field{"type", out.type}, Field{"status", out.status},
                    Field{"reason", out.reason}, Field{"message", out.message});
}

bool Read(const element& value, ResourceClaim::DeviceStatus& out, Failure& failure) {
  return ReadFields(value, failure, Field{"driver", out.driver}, Field{"pool", out.pool},
                    Field{"device", out.device}, Field{"conditions", out.conditions});
}

bool Read(const element& value, ResourceClaim& out, Failure& failure) {
  std::string special;
  const auto annotations = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{kExtendedResourceClaimAnnotation, special});
  };
  const auto metadata = [&](const element& member, Failure& f) {
    const bool fine =
        Read(member, out.metadata, f) &&
        ReadFields(member, f, Field{"finalizers", out.finalizers}, Field{"annotations", annotations});
    out.for_extended_resources = special == "true";
    return fine;
  };
  const auto devices = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"requests", out.requests}, Field{"constraints", out.constraints},
                      Field{"config", out.config});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"devices", devices});
  };
  const auto status = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"allocation", out.allocation}, Field{"reservedFor", out.reserved_for},
                      Field{"devices", out.device_statuses});
  };
  return ReadFields(value, failure, Field{"metadata", metadata}, Field{"spec", spec},
                    Field{"status", status});
}

// --- devices ---

bool Read(const element& value, DeviceAttribute& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "int") return Read(member, out.value.emplace<std::int64_t>(), failure);
    if (key == "bool") return Read(member, out.value.emplace<bool>(), failure);
    if (key == "string") return Read(member, out.value.emplace<std::string>(), failure);
    if (key == "version") return Read(member, out.value.emplace<DeviceAttribute::Version>().text, failure);
    return true;
  });
}

bool Read(const element& value, CapacityRequestPolicy::Range& out, Failure& failure) {
  return ReadFields(value, failure, Field{"min", out.min}, Field{"max", out.max}, Field{"step", out.step});
}

bool Read(const element& value, CapacityRequestPolicy& out, Failure& failure) {
  return ReadFields(value, failure, Field{"default", out.default_request},
                    Field{"validValues", out.valid_values}, Field{"validRange", out.valid_range});
}

bool Read(const element& value, DeviceCapacity& out, Failure& failure) {
  return ReadFields(value, failure, Field{"value", out.value}, Field{"requestPolicy", out.request_policy});
}

// A map of counters by name, each an object with a value.
bool ReadCounters(const element& value, QuantityMap& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    return ReadFields(member, failure, Field{"value", out[std::string(key)]});
  });
}

bool Read(const element& value, CounterConsumption& out, Failure& failure) {
  const auto counters = [&](const element& member, Failure& f) {
    return ReadCounters(member, out.counters, f);
  };
  const auto groups = [&](const element& member, Failure& f) {
    return ReadItems(member, f, [&](const element&) { return out.compatibility_groups = true; });
  };
  return ReadFields(value, failure, Field{"counterSet", out.counter_set}, Field{"counters", counters},
                    Field{"compatibilityGroups", groups});
}

bool Read(const element& value, CounterSet& out, Failure& failure) {
  const auto counters = [&](const element& member, Failure& f) {
    return ReadCounters(member, out.counters, f);
  };
  return ReadFields(value, failure, Field{"name", out.name}, Field{"counters", counters});
}

// v1beta1 has the members of a device except its name in `basic`.
bool Read(const element& value, Device& out, Failure& failure) {
  const auto basic = [&](const element& member, Failure& f) { return Read(member, out, f); };
  return ReadFields(value, failure, Field{"name", out.name}, Field{"basic", basic},
                    Field{"attributes", out.attributes}, Field{"capacity", out.capacity},
                    Field{"consumesCounters", out.consumes_counters}, Field{"nodeName", out.node_name},
                    Field{"nodeSelector", out.node_selector}, Field{"allNodes", out.all_nodes},
                    Field{"taints", out.taints}, Field{"bindsToNode", out.binds_to_node},
                    Field{"bindingConditions", out.binding_conditions},
                    Field{"bindingFailureConditions", out.binding_failure_conditions},
                    Field{"allowMultipleAllocations", out.allow_multiple_allocations});
}

bool Read(const element& value, ResourceSlice& out, Failure& failure) {
  const auto pool = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"name", out.pool}, Field{"generation", out.pool_generation},
                      Field{"resourceSliceCount", out.pool_slice_count});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"driver", out.driver}, Field{"pool", pool},
                      Field{"nodeName", out.node_name}, Field{"nodeSelector", out.node_selector},
                      Field{"allNodes", out.all_nodes},
                      Field{"perDeviceNodeSelection", out.per_device_node_selection},
                      Field{"devices", out.devices}, Field{"sharedCounters", out.shared_counters});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

bool Read(const element& value, DeviceTaintRule::Selector& out, Failure& failure) {
  return ReadFields(value, failure, Field{"driver", out.driver}, Field{"pool", out.pool},
                    Field{"device", out.device});
}

bool Read(const element& value, DeviceTaintRule& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"deviceSelector", out.selector}, Field{"taint", out.taint});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

}  // namespace berth::api::json
