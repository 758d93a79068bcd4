#include "kubernetes/client/claim_patch.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "kubernetes/client/resources.hpp"

namespace berth::client {
namespace {

using api::ResourceClaim;
using Change = ports::ClaimChange;

constexpr std::string_view kGroup = ResourceOf<ResourceClaim>().group;

// Adds a list that is omitted when empty.
template <class List, class AddItem>
void AddList(JsonObject& object, std::string_view key, const List& list, AddItem&& add) {
  if (!list.empty()) AppendJsonList(object.Key(key), list, add);
}

void AddToleration(std::string& out, const api::DeviceToleration& toleration) {
  JsonObject object(out);
  object.AddUnlessEmpty("key", toleration.key);
  object.AddUnlessEmpty("operator", toleration.op);
  object.AddUnlessEmpty("value", toleration.value);
  object.AddUnlessEmpty("effect", toleration.effect);
  if (toleration.toleration_seconds) object.AddNumber("tolerationSeconds", *toleration.toleration_seconds);
}

void AddDevice(std::string& out, const ResourceClaim::AllocatedDevice& device) {
  JsonObject object(out);
  object.Add("request", device.request)
      .Add("driver", device.driver)
      .Add("pool", device.pool)
      .Add("device", device.device);
  if (device.admin_access) object.AddRaw("adminAccess", "true");
  AddList(object, "tolerations", device.tolerations, AddToleration);
  object.AddUnlessEmpty("bindingConditions", device.binding_conditions);
  object.AddUnlessEmpty("bindingFailureConditions", device.binding_failure_conditions);
  if (device.share_id) object.Add("shareID", *device.share_id);
  if (device.consumed_capacity.empty()) return;
  JsonObject consumed(object.Key("consumedCapacity"));
  for (const auto& [name, amount] : device.consumed_capacity) consumed.Add(name, amount.Canonical());
}

// The parameters are the JSON of an object; its members are added.
void AddParameters(JsonObject& object, const std::string& parameters) {
  const std::size_t size = parameters.size();
  if (size <= 2) return;
  // {"opaque":{...}}
  const std::size_t colon = parameters.find(':');
  object.AddRaw(parameters.substr(2, colon - 3), parameters.substr(colon + 1, size - colon - 2));
}

void AddConfiguration(std::string& out, const ResourceClaim::AllocatedConfiguration& config) {
  JsonObject object(out);
  object.Add("source", config.source);
  object.AddUnlessEmpty("requests", config.configuration.requests);
  AddParameters(object, config.configuration.parameters);
}

void AddRequirement(std::string& out, const api::NodeSelectorRequirement& requirement) {
  JsonObject object(out);
  object.Add("key", requirement.key).Add("operator", requirement.op);
  object.AddUnlessEmpty("values", requirement.values);
}

void AddTerm(std::string& out, const api::NodeSelectorTerm& term) {
  JsonObject object(out);
  AddList(object, "matchExpressions", term.match_expressions, AddRequirement);
  AddList(object, "matchFields", term.match_fields, AddRequirement);
}

void AddAllocation(std::string& out, const ResourceClaim::Allocation& allocation,
                   const std::string& timestamp) {
  JsonObject object(out);
  JsonObject devices(object.Key("devices"));
  AddList(devices, "results", allocation.devices, AddDevice);
  AddList(devices, "config", allocation.config, AddConfiguration);
  devices.Close();
  if (allocation.node_selector) {
    JsonObject selector(object.Key("nodeSelector"));
    AppendJsonList(selector.Key("nodeSelectorTerms"), allocation.node_selector->terms, AddTerm);
  }
  object.AddUnlessEmpty("allocationTimestamp", timestamp);
}

void AddConsumer(std::string& out, const ResourceClaim::Consumer& consumer) {
  JsonObject object(out);
  object.AddUnlessEmpty("apiGroup", consumer.api_group);
  object.Add("resource", consumer.resource).Add("name", consumer.name).Add("uid", consumer.uid);
}

void AddExactly(JsonObject& object, const ResourceClaim::DeviceRequest& request) {
  object.Add("deviceClassName", request.device_class_name)
      .Add("allocationMode", request.allocation_mode)
      .AddNumber("count", request.count);
}

void AddStatus(JsonObject& status, const Change::Reserve& reserve, WallTime now) {
  const std::string timestamp = reserve.set_timestamp ? FormatTime(now) : "";
  if (reserve.allocation != nullptr) {
    AddAllocation(status.Key("allocation"), *reserve.allocation, timestamp);
  } else if (!timestamp.empty()) {
    JsonObject(status.Key("allocation")).Add("allocationTimestamp", timestamp);
  }
  AppendJsonList(status.Key("reservedFor"), reserve.consumers, AddConsumer);
}

void AddStatus(JsonObject& status, const Change::Deallocate&, WallTime) {
  status.AddRaw("allocation", "null").AddRaw("reservedFor", "null").AddRaw("devices", "null");
}

void AddStatus(JsonObject& status, const Change::Release& release, WallTime) {
  std::string& list = status.Key("reservedFor");
  list += '[';
  JsonObject(list).Add("$patch", "delete").Add("uid", release.consumer_uid);
  list += ']';
}

}  // namespace

std::string ClaimPath(const Change& change, std::string_view version) {
  const bool status = !std::holds_alternative<Change::SetFinalizers>(change.change);
  return ClaimPath(change.ns, change.name, version) + (status ? "/status" : "");
}

std::string ClaimsPath(const std::string& ns, std::string_view version) {
  return fmt::format("{}/namespaces/{}/resourceclaims", Resource::GroupPath(kGroup, version), ns);
}

std::string ClaimPath(const std::string& ns, const std::string& name, std::string_view version) {
  return ClaimsPath(ns, version) + "/" + name;
}

std::string NewClaimBody(const ports::NewClaim& claim, std::string_view version) {
  std::string body;
  JsonObject root(body);
  root.Add("kind", "ResourceClaim").Add("apiVersion", fmt::format("{}/{}", kGroup, version));
  JsonObject metadata(root.Key("metadata"));
  metadata.Add("generateName", claim.generate_name).Add("namespace", claim.ns);
  JsonObject(metadata.Key("annotations")).Add(api::kExtendedResourceClaimAnnotation, "true");
  std::string& owners = metadata.Key("ownerReferences");
  owners += '[';
  JsonObject(owners)
      .Add("apiVersion", "v1")
      .Add("kind", "Pod")
      .Add("name", claim.pod_name)
      .Add("uid", claim.pod_uid)
      .AddRaw("controller", "true");
  owners += ']';
  metadata.Close();
  JsonObject spec(root.Key("spec"));
  JsonObject devices(spec.Key("devices"));
  AddList(devices, "requests", claim.requests, [&](std::string& out, const ResourceClaim::Request& request) {
    JsonObject object(out);
    object.Add("name", request.name);
    if (version == "v1beta1") {  // has the members of `exactly` in the request itself
      AddExactly(object, *request.exactly);
    } else {
      JsonObject exactly(object.Key("exactly"));
      AddExactly(exactly, *request.exactly);
    }
  });
  devices.Close();
  spec.Close();
  root.Close();
  return body;
}

std::string ClaimPatchBody(const Change& change, WallTime now) {
  std::string body;
  JsonObject root(body);
  JsonObject metadata(root.Key("metadata"));
  if (const auto* release = std::get_if<Change::Release>(&change.change)) {
    metadata.Add("uid", release->claim_uid);
  } else {
    metadata.Add("resourceVersion", change.resource_version);
  }
  if (const auto* finalizers = std::get_if<Change::SetFinalizers>(&change.change)) {
    AppendJsonStrings(metadata.Key("finalizers"), finalizers->finalizers);
    metadata.Close();
  } else {
    metadata.Close();
    JsonObject status(root.Key("status"));
    std::visit(
        [&](const auto& what) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(what)>, Change::SetFinalizers>)
            AddStatus(status, what, now);
        },
        change.change);
  }
  root.Close();
  return body;
}

}  // namespace berth::client
