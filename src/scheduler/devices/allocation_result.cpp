// The allocation of a claim from the devices chosen for it.
#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <map>
#include <optional>
#include <set>

#include "scheduler/devices/allocator.hpp"

namespace berth::devices {
namespace {

using api::ResourceClaim;
using Allocation = ResourceClaim::Allocation;
using DeviceRequest = ResourceClaim::DeviceRequest;
using Chosen = std::span<const ChosenDevice>;

constexpr std::int64_t kMaxAlternatives = 8;

const DeviceRequest& RequestOf(const ResourceClaim& claim, const ChosenDevice& chosen) {
  const ResourceClaim::Request& request = claim.requests[chosen.request];
  return chosen.alternative ? request.first_available[*chosen.alternative].devices : *request.exactly;
}

// "request", or "request/alternative" if one was chosen.
std::string NameOf(const ResourceClaim& claim, std::size_t request, std::optional<std::size_t> alternative) {
  const ResourceClaim::Request& wanted = claim.requests[request];
  if (!alternative) return wanted.name;
  return wanted.name + "/" + wanted.first_available[*alternative].name;
}

// The chosen alternative of a request; nullopt: it has none.
std::optional<std::size_t> AlternativeOf(Chosen chosen, std::size_t request) {
  const auto found = std::ranges::find(chosen, request, &ChosenDevice::request);
  return found == chosen.end() ? std::nullopt : found->alternative;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether the list names the request or its chosen alternative.
bool Names(const std::vector<std::string>& names, const ResourceClaim& claim, std::size_t request,
           Chosen chosen) {
  if (Contains(names, claim.requests[request].name)) return true;
  const auto alternative = AlternativeOf(chosen, request);
  return alternative && Contains(names, NameOf(claim, request, alternative));
}

// A UUID (version 5) that is unique to the share: `seed` is unique to the claim.
std::string ShareId(std::string_view seed, std::size_t index) {
  static constexpr boost::uuids::uuid kNamespace = {
      {0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}};
  boost::uuids::name_generator_sha1 generate(kNamespace);
  return boost::uuids::to_string(generate(fmt::format("{}/share-{}", seed, index)));
}

ResourceClaim::AllocatedDevice ResultOf(const ResourceClaim& claim, const ChosenDevice& chosen) {
  const api::Device& device = *chosen.device->device;
  ResourceClaim::AllocatedDevice result;
  result.request = NameOf(claim, chosen.request, chosen.alternative);
  result.driver = chosen.pool->driver;
  result.pool = chosen.pool->pool;
  result.device = device.name;
  result.admin_access = chosen.admin_access;
  result.tolerations = RequestOf(claim, chosen).tolerations;
  // Without the gate, no device with binding conditions is chosen.
  result.binding_conditions = device.binding_conditions;
  result.binding_failure_conditions = device.binding_failure_conditions;
  if (chosen.consumed) result.consumed_capacity = *chosen.consumed;
  return result;
}

// The configuration of each class once, with the requests that use the class; then that of the claim.
void AddConfiguration(const ResourceClaim& claim, Chosen chosen, const FindClass& classes, Allocation& out) {
  struct Range {
    std::size_t begin, end;
  };
  std::map<std::string_view, Range> added;  // by class
  for (std::size_t i = 0; i < claim.requests.size(); ++i) {
    const auto alternative = AlternativeOf(chosen, i);
    const ResourceClaim::Request& request = claim.requests[i];
    const DeviceRequest& devices =
        alternative ? request.first_available[*alternative].devices : *request.exactly;
    const std::string name = NameOf(claim, i, alternative);
    const auto [at, first] = added.try_emplace(devices.device_class_name, Range{out.config.size(), 0});
    if (first) {
      if (const api::DeviceClass* device_class = classes(devices.device_class_name)) {
        for (const api::DeviceConfiguration& config : device_class->config)
          out.config.push_back({"FromClass", {{}, config.parameters}});
      }
      at->second.end = out.config.size();
    }
    for (std::size_t entry = at->second.begin; entry < at->second.end; ++entry)
      out.config[entry].configuration.requests.push_back(name);
  }
  for (const api::DeviceConfiguration& config : claim.config) {
    bool concerns = config.requests.empty();
    for (std::size_t i = 0; i < claim.requests.size() && !concerns; ++i)
      concerns = Names(config.requests, claim, i, chosen);
    if (concerns) out.config.push_back({"FromClaim", config});
  }
  // An empty list means all requests.
  for (ResourceClaim::AllocatedConfiguration& config : out.config) {
    std::vector<std::string>& requests = config.configuration.requests;
    bool all = true;
    for (std::size_t i = 0; i < claim.requests.size() && all; ++i) all = Names(requests, claim, i, chosen);
    if (all) requests.clear();
  }
}

void AddNew(const std::vector<api::NodeSelectorRequirement>& from,
            std::vector<api::NodeSelectorRequirement>& to) {
  const auto values = [](const api::NodeSelectorRequirement& requirement) {
    return std::set<std::string_view>(requirement.values.begin(), requirement.values.end());
  };
  for (const api::NodeSelectorRequirement& wanted : from) {
    const bool known = std::ranges::any_of(to, [&](const api::NodeSelectorRequirement& other) {
      return other.key == wanted.key && other.op == wanted.op && values(other) == values(wanted);
    });
    if (!known) to.push_back(wanted);
  }
}

// The nodes on which all devices can be used; nullopt: all nodes.
Expected<std::optional<api::NodeSelector>> NodesOf(Chosen chosen, const std::string& node_name) {
  api::NodeSelectorTerm term;
  for (const ChosenDevice& each : chosen) {
    const api::ResourceSlice& slice = *each.slice->object;
    const api::Device& device = *each.device->device;
    const bool own = slice.per_device_node_selection;
    if (!(own ? device.node_name : slice.node_name).empty() || device.binds_to_node) {
      api::NodeSelector only;
      only.terms.emplace_back().match_fields.push_back({"metadata.name", "In", {node_name}});
      return only;
    }
    const auto& selector = own ? device.node_selector : slice.node_selector;
    if (!selector || selector->terms.empty()) continue;
    if (selector->terms.size() > 1) {
      return Invalid(
          fmt::format("unsupported ResourceSlice.NodeSelector with {} terms", selector->terms.size()));
    }
    AddNew(selector->terms.front().match_fields, term.match_fields);
    AddNew(selector->terms.front().match_expressions, term.match_expressions);
  }
  if (term.empty()) return std::nullopt;
  return api::NodeSelector{{term}};
}

}  // namespace

Expected<Allocation> Allocator::Describe(const ResourceClaim& claim, Chosen chosen,
                                         const std::string& node_name, std::string_view share_seed) const {
  Allocation allocation;
  for (const ChosenDevice& device : chosen) {
    allocation.devices.push_back(ResultOf(claim, device));
    if (device.consumed) allocation.devices.back().share_id = ShareId(share_seed, allocation.devices.size());
  }
  AddConfiguration(claim, chosen, classes_, allocation);
  auto nodes = NodesOf(chosen, node_name);
  if (!nodes) {
    return std::unexpected(
        std::move(nodes).error().In("create NodeSelector for claim " + claim.metadata.name));
  }
  if (*nodes) allocation.node_selector = **std::move(nodes);
  return allocation;
}

std::int64_t ScoreOf(const ResourceClaim& claim, Chosen chosen) {
  std::int64_t score = 0;
  for (std::size_t i = 0; i < claim.requests.size(); ++i) {
    if (const auto alternative = AlternativeOf(chosen, i))
      score += kMaxAlternatives - static_cast<std::int64_t>(*alternative);
  }
  return score;
}

std::int64_t ScoreOf(const ResourceClaim& claim, const ResourceClaim::Allocation& allocation) {
  std::int64_t score = 0;
  for (const ResourceClaim::Request& request : claim.requests) {
    if (request.exactly) continue;
    for (std::size_t i = 0; i < request.first_available.size(); ++i) {
      const std::string name = request.name + "/" + request.first_available[i].name;
      if (std::ranges::find(allocation.devices, name, &ResourceClaim::AllocatedDevice::request) !=
          allocation.devices.end()) {
        score += kMaxAlternatives - static_cast<std::int64_t>(i);
      }
    }
  }
  return score;
}

}  // namespace berth::devices
