// Dynamic resource allocation, field by field: resource.k8s.io/v1 and, where they differ, its beta versions.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

bool Read(const element& value, DeviceClass& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"extendedResourceName", out.extended_resource_name});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

// v1 nests fields that v1beta1 has directly in the request.
bool ReadRequest(const element& value, std::vector<ResourceClaim::Request>& out, Failure& failure) {
  ResourceClaim::Request request;
  std::vector<ResourceClaim::Request> alternatives;
  const auto exactly = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"deviceClassName", request.device_class_name});
  };
  const auto first_available = [&](const element& list, Failure& f) {
    return ReadItems(list, f, [&](const element& item) {
      ResourceClaim::Request& each = alternatives.emplace_back();
      return ReadFields(item, f, Field{"name", each.name}, Field{"deviceClassName", each.device_class_name});
    });
  };
  if (!ReadFields(value, failure, Field{"name", request.name},
                  Field{"deviceClassName", request.device_class_name}, Field{"exactly", exactly},
                  Field{"firstAvailable", first_available})) {
    return false;
  }
  if (alternatives.empty()) out.push_back(request);
  for (auto& [name, device_class] : alternatives) {
    out.push_back({request.name + "/" + name, std::move(device_class)});
  }
  return true;
}

bool Read(const element& value, ResourceClaim::Consumer& out, Failure& failure) {
  return ReadFields(value, failure, Field{"resource", out.resource}, Field{"name", out.name},
                    Field{"uid", out.uid});
}

bool Read(const element& value, ResourceClaim::Device& out, Failure& failure) {
  return ReadFields(value, failure, Field{"request", out.request}, Field{"driver", out.driver},
                    Field{"pool", out.pool}, Field{"device", out.device},
                    Field{"adminAccess", out.admin_access});
}

bool Read(const element& value, ResourceClaim::Allocation& out, Failure& failure) {
  const auto devices = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"results", out.devices});
  };
  return ReadFields(value, failure, Field{"devices", devices}, Field{"nodeSelector", out.node_selector});
}

bool Read(const element& value, ResourceClaim& out, Failure& failure) {
  const auto requests = [&](const element& list, Failure& f) {
    return ReadItems(list, f, [&](const element& item) { return ReadRequest(item, out.requests, f); });
  };
  const auto devices = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"requests", requests});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"devices", devices});
  };
  const auto status = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"allocation", out.allocation}, Field{"reservedFor", out.reserved_for});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec},
                    Field{"status", status});
}

bool Read(const element& value, ResourceSlice& out, Failure& failure) {
  const auto pool = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"name", out.pool}, Field{"generation", out.pool_generation},
                      Field{"resourceSliceCount", out.pool_slice_count});
  };
  const auto devices = [&](const element& list, Failure& f) {
    return ReadItems(list, f, [&](const element& item) {
      return ReadFields(item, f, Field{"name", out.devices.emplace_back()});
    });
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(
        member, f, Field{"driver", out.driver}, Field{"pool", pool}, Field{"nodeName", out.node_name},
        Field{"nodeSelector", out.node_selector}, Field{"allNodes", out.all_nodes},
        Field{"perDeviceNodeSelection", out.per_device_node_selection}, Field{"devices", devices});
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
