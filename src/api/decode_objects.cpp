// Field by field: which JSON member goes where. Members that no decision needs are not looked at.
#include <fmt/format.h>

#include <algorithm>

#include "api/json_reader.hpp"

namespace berth::api {

void Labels::Set(std::string key, std::string value) {
  // Servers send labels sorted, so the place is nearly always the end.
  if (entries_.empty() || entries_.back().first < key) {
    entries_.emplace_back(std::move(key), std::move(value));
    return;
  }
  const auto place = std::ranges::lower_bound(entries_, key, {}, &Entry::first);
  if (place != entries_.end() && place->first == key) {
    place->second = std::move(value);
  } else {
    entries_.emplace(place, std::move(key), std::move(value));
  }
}

const std::string* Labels::Find(std::string_view key) const {
  const auto place =
      std::ranges::lower_bound(entries_, key, {}, [](const Entry& e) { return std::string_view(e.first); });
  return place != entries_.end() && place->first == key ? &place->second : nullptr;
}

namespace json {
// Not in an unnamed namespace: the readers of lists and optionals find these by argument-dependent lookup.

// Quantities are strings, but files written by hand hold numbers too.
bool ReadQuantity(const element& value, Quantity& out, Failure& failure) {
  std::string text;
  switch (value.type()) {
    case element_type::STRING: {
      std::string_view raw;
      if (value.get(raw) != simdjson::SUCCESS) return Expect(value, "a quantity", failure);
      const auto first = raw.find_first_not_of(" \t\n\v\f\r");
      text = first == raw.npos
                 ? ""
                 : std::string(raw.substr(first, raw.find_last_not_of(" \t\n\v\f\r") - first + 1));
      break;
    }
    case element_type::INT64:
      text = fmt::format("{}", std::int64_t(value));
      break;
    case element_type::UINT64:
      text = fmt::format("{}", std::uint64_t(value));
      break;
    case element_type::DOUBLE:
      text = fmt::format("{}", double(value));
      break;
    default:
      return Expect(value, "a quantity", failure);
  }
  auto quantity = Quantity::Parse(text);
  if (!quantity) return failure.Set(fmt::format("\"{}\": {}", text, quantity.error().message));
  out = std::move(*quantity);
  return true;
}

// An empty map is no map: that is how it travels between Kubernetes' own components.
bool ReadIfAny(const element& value, std::optional<ResourceList>& out, Failure& failure) {
  if (!Read(value, out, failure)) return false;
  if (out->empty()) out.reset();
  return true;
}

bool Read(const element& value, NodeSelectorRequirement& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "key") return Read(member, out.key, failure);
    if (key == "operator") return Read(member, out.op, failure);
    if (key == "values") return Read(member, out.values, failure);
    return true;
  });
}

bool Read(const element& value, NodeSelectorTerm& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "matchExpressions") return Read(member, out.match_expressions, failure);
    if (key == "matchFields") return Read(member, out.match_fields, failure);
    return true;
  });
}

bool Read(const element& value, NodeSelector& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    return key == "nodeSelectorTerms" ? Read(member, out.terms, failure) : true;
  });
}

bool Read(const element& value, PreferredSchedulingTerm& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "weight") return Read(member, out.weight, failure);
    if (key == "preference") return Read(member, out.preference, failure);
    return true;
  });
}

bool Read(const element& value, NodeAffinity& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") return Read(member, out.required, failure);
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") return Read(member, out.preferred, failure);
    return true;
  });
}

bool Read(const element& value, Toleration& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "key") return Read(member, out.key, failure);
    if (key == "operator") return Read(member, out.op, failure);
    if (key == "value") return Read(member, out.value, failure);
    if (key == "effect") return Read(member, out.effect, failure);
    return true;
  });
}

bool Read(const element& value, Taint& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "key") return Read(member, out.key, failure);
    if (key == "value") return Read(member, out.value, failure);
    if (key == "effect") return Read(member, out.effect, failure);
    return true;
  });
}

bool Read(const element& value, ResourceRequirements& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "requests") return Read(member, out.requests, failure);
    if (key == "limits") return Read(member, out.limits, failure);
    return true;
  });
}

bool Read(const element& value, ContainerPort& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "containerPort") return Read(member, out.container_port, failure);
    if (key == "hostPort") return Read(member, out.host_port, failure);
    if (key == "protocol") return Read(member, out.protocol, failure);
    if (key == "hostIP") return Read(member, out.host_ip, failure);
    return true;
  });
}

bool Read(const element& value, Container& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "name") return Read(member, out.name, failure);
    if (key == "image") return Read(member, out.image, failure);
    if (key == "resources") return Read(member, out.resources, failure);
    if (key == "ports") return Read(member, out.ports, failure);
    if (key == "restartPolicy") {
      std::string policy;
      if (!Read(member, policy, failure)) return false;
      out.restart_always = policy == "Always";
    }
    return true;
  });
}

bool Read(const element& value, ContainerStatus& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "name") return Read(member, out.name, failure);
    if (key == "allocatedResources") return ReadIfAny(member, out.allocated_resources, failure);
    if (key == "resources") {
      return ReadObject(member, failure, [&](std::string_view inner, const element& list) {
        return inner == "requests" ? ReadIfAny(list, out.resource_requests, failure) : true;
      });
    }
    return true;
  });
}

bool Read(const element& value, PodCondition& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "type") return Read(member, out.type, failure);
    if (key == "status") return Read(member, out.status, failure);
    if (key == "reason") return Read(member, out.reason, failure);
    if (key == "message") return Read(member, out.message, failure);
    if (key == "lastTransitionTime") return Read(member, out.last_transition_time, failure);
    if (key == "observedGeneration") return Read(member, out.observed_generation, failure);
    return true;
  });
}

bool ReadAffinity(const element& value, std::optional<NodeAffinity>& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    return key == "nodeAffinity" ? Read(member, out, failure) : true;
  });
}

bool ReadGates(const element& value, std::vector<std::string>& out, Failure& failure) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return Expect(value, "a list", failure);
  std::size_t index = 0;
  for (const element& item : array) {
    std::string& name = out.emplace_back();
    if (!ReadObject(item, failure, [&](std::string_view key, const element& member) {
          return key == "name" ? Read(member, name, failure) : true;
        })) {
      return failure.InItem(index);
    }
    ++index;
  }
  return true;
}

bool ReadVolumes(const element& value, PodSpec& out, Failure& failure) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return Expect(value, "a list", failure);
  std::size_t index = 0;
  for (const element& item : array) {
    const bool fine = ReadObject(item, failure, [&](std::string_view key, const element& member) {
      if (key != "image") return true;
      std::string& image = out.image_volumes.emplace_back();
      return ReadObject(member, failure, [&](std::string_view inner, const element& reference) {
        return inner == "reference" ? Read(reference, image, failure) : true;
      });
    });
    if (!fine) return failure.InItem(index);
    ++index;
  }
  return true;
}

bool Read(const element& value, PodSpec& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "nodeName") return Read(member, out.node_name, failure);
    if (key == "schedulerName") return Read(member, out.scheduler_name, failure);
    if (key == "priority") return Read(member, out.priority, failure);
    if (key == "schedulingGates") return ReadGates(member, out.scheduling_gates, failure);
    if (key == "nodeSelector") return Read(member, out.node_selector, failure);
    if (key == "affinity") return ReadAffinity(member, out.node_affinity, failure);
    if (key == "tolerations") return Read(member, out.tolerations, failure);
    if (key == "containers") return Read(member, out.containers, failure);
    if (key == "initContainers") return Read(member, out.init_containers, failure);
    if (key == "resources") return Read(member, out.resources, failure);
    if (key == "overhead") return Read(member, out.overhead, failure);
    if (key == "volumes") return ReadVolumes(member, out, failure);
    if (key == "hostNetwork") return Read(member, out.host_network, failure);
    return true;
  });
}

bool Read(const element& value, PodStatus& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "phase") return Read(member, out.phase, failure);
    if (key == "nominatedNodeName") return Read(member, out.nominated_node_name, failure);
    if (key == "conditions") return Read(member, out.conditions, failure);
    if (key == "containerStatuses") return Read(member, out.container_statuses, failure);
    if (key == "initContainerStatuses") return Read(member, out.init_container_statuses, failure);
    if (key == "allocatedResources") return ReadIfAny(member, out.allocated_resources, failure);
    if (key == "resources") {
      out.has_resources = true;
      return ReadObject(member, failure, [&](std::string_view inner, const element& list) {
        return inner == "requests" ? ReadIfAny(list, out.resource_requests, failure) : true;
      });
    }
    return true;
  });
}

bool Read(const element& value, ContainerImage& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "names") return Read(member, out.names, failure);
    if (key == "sizeBytes") return Read(member, out.size_bytes, failure);
    return true;
  });
}

bool Read(const element& value, NodeCondition& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "type") return Read(member, out.type, failure);
    if (key == "status") return Read(member, out.status, failure);
    return true;
  });
}

bool ReadNodeSpec(const element& value, Node& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "unschedulable") return Read(member, out.unschedulable, failure);
    if (key == "taints") return Read(member, out.taints, failure);
    return true;
  });
}

bool ReadNodeStatus(const element& value, Node& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "allocatable") {
      out.allocatable_given = true;
      return Read(member, out.allocatable, failure);
    }
    if (key == "capacity") return Read(member, out.capacity, failure);
    if (key == "images") return Read(member, out.images, failure);
    if (key == "conditions") return Read(member, out.conditions, failure);
    return true;
  });
}

bool Read(const element& value, Labels& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    std::string text;
    if (!Read(member, text, failure)) return false;
    out.Set(std::string(key), std::move(text));
    return true;
  });
}

bool Read(const element& value, ResourceList& out, Failure& failure) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return Expect(value, "an object", failure);
  out.clear();
  for (const auto& [key, member] : object) {
    // A null amount is there, and zero.
    Quantity& quantity = out[std::string(key)];
    if (!member.is_null() && !ReadQuantity(member, quantity, failure)) return failure.In(key);
  }
  return true;
}

bool Read(const element& value, ObjectMeta& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "name") return Read(member, out.name, failure);
    if (key == "namespace") return Read(member, out.ns, failure);
    if (key == "uid") return Read(member, out.uid, failure);
    if (key == "resourceVersion") return Read(member, out.resource_version, failure);
    if (key == "labels") return Read(member, out.labels, failure);
    if (key == "creationTimestamp") return Read(member, out.creation_timestamp, failure);
    if (key == "deletionTimestamp") return Read(member, out.deletion_timestamp, failure);
    if (key == "generation") return Read(member, out.generation, failure);
    return true;
  });
}

bool Read(const element& value, Pod& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "metadata") return Read(member, out.metadata, failure);
    if (key == "spec") return Read(member, out.spec, failure);
    if (key == "status") return Read(member, out.status, failure);
    return true;
  });
}

bool Read(const element& value, Node& out, Failure& failure) {
  return ReadObject(value, failure, [&](std::string_view key, const element& member) {
    if (key == "metadata") return Read(member, out.metadata, failure);
    if (key == "spec") return ReadNodeSpec(member, out, failure);
    if (key == "status") return ReadNodeStatus(member, out, failure);
    return true;
  });
}

}  // namespace json
}  // namespace berth::api
