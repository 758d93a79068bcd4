#include "kubernetes/client/status_patch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"

namespace berth::client {
namespace {

// The list's condition of this type; null if there is none.
const auto* Find(const auto& conditions, const std::string& type) {
  const auto found = std::ranges::find_if(conditions, [&](const auto& one) { return one.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

// A member that is omitted when empty (omitempty) is removed by null.
void AddChanged(JsonObject& object, std::string_view key, const std::string& before,
                const std::string& after) {
  if (before == after) return;
  after.empty() ? object.AddRaw(key, "null") : object.Add(key, after);
}

void AddNewCondition(std::string& out, const ports::PodStatusPatch& patch, WallTime now) {
  JsonObject condition(out);
  condition.AddRaw("lastProbeTime", "null").Add("lastTransitionTime", FormatTime(now));
  if (!patch.message.empty()) condition.Add("message", patch.message);
  if (patch.observed_generation != 0) {
    condition.AddNumber("observedGeneration", patch.observed_generation);
  }
  if (!patch.reason.empty()) condition.Add("reason", patch.reason);
  condition.Add("status", patch.status).Add("type", patch.type);
}

void AddChangedCondition(std::string& out, const ports::PodStatusPatch& patch,
                         const api::PodCondition& before, WallTime now) {
  JsonObject condition(out);
  if (before.status != patch.status) condition.Add("lastTransitionTime", FormatTime(now));
  AddChanged(condition, "message", before.message, patch.message);
  if (patch.observed_generation != before.observed_generation && patch.observed_generation != 0) {
    condition.AddNumber("observedGeneration", patch.observed_generation);
  }
  AddChanged(condition, "reason", before.reason, patch.reason);
  AddChanged(condition, "status", before.status, patch.status);
  condition.Add("type", patch.type);
}

// `added`: the type of a new condition, or null.
void AddOrder(std::string& out, const auto& conditions, const std::string* added) {
  out += '[';
  for (const auto& condition : conditions) {
    if (&condition != &*conditions.begin()) out += ',';
    JsonObject(out).Add("type", condition.type);
  }
  if (added != nullptr) {
    out += ',';
    JsonObject(out).Add("type", *added);
  }
  out += ']';
}

void AddClaim(JsonObject& fields, const api::ExtendedResourceClaimStatus& claim) {
  JsonObject object(fields.Key("extendedResourceClaimStatus"));
  std::string& list = object.Key("requestMappings");
  list += '[';
  for (const auto& mapping : claim.request_mappings) {
    if (&mapping != claim.request_mappings.data()) list += ',';
    JsonObject(list)
        .Add("containerName", mapping.container_name)
        .Add("requestName", mapping.request_name)
        .Add("resourceName", mapping.resource_name);
  }
  list += ']';
  object.Add("resourceClaimName", claim.resource_claim_name);
}

// Unlike those of pods, conditions of this type (metav1.Condition) have no lastProbeTime and always a
// message.
void AddGroupCondition(std::string& out, const api::PodGroupCondition* before,
                       const api::PodGroupCondition& after, WallTime now) {
  static const api::PodGroupCondition kNone;
  const bool is_new = before == nullptr;
  if (is_new) before = &kNone;
  JsonObject condition(out);
  if (is_new || before->status != after.status) condition.Add("lastTransitionTime", FormatTime(now));
  if (is_new || before->message != after.message) condition.Add("message", after.message);
  if (before->observed_generation != after.observed_generation)
    condition.AddNumber("observedGeneration", after.observed_generation);
  if (is_new || before->reason != after.reason) condition.Add("reason", after.reason);
  if (is_new || before->status != after.status) condition.Add("status", after.status);
  condition.Add("type", after.type);
}

}  // namespace

std::string StatusPatchBody(const ports::PodStatusPatch& patch, WallTime now) {
  static const api::PodStatus kNone;
  const api::PodStatus& status = patch.current ? patch.current->status : kNone;
  const api::PodCondition* before = Find(status.conditions, patch.type);
  const bool condition_changes =
      !patch.reason.empty() && (before == nullptr || before->status != patch.status ||
                                before->reason != patch.reason || before->message != patch.message);
  const std::string& nominated =
      patch.written_nomination.empty() ? status.nominated_node_name.str() : patch.written_nomination;
  const bool nomination_changes = patch.nomination && *patch.nomination != nominated;
  const bool claim_changes =
      patch.extended_resource_claim &&
      (!status.extended_resource_claim || *status.extended_resource_claim != *patch.extended_resource_claim);
  if (!condition_changes && !nomination_changes && !claim_changes) return {};

  std::string body;
  {
    JsonObject root(body);
    JsonObject fields(root.Key("status"));
    if (condition_changes) {
      // A list that was empty needs no order.
      if (!status.conditions.empty()) {
        AddOrder(fields.Key("$setElementOrder/conditions"), status.conditions,
                 before == nullptr ? &patch.type : nullptr);
      }
      std::string& list = fields.Key("conditions");
      list += '[';
      before == nullptr ? AddNewCondition(list, patch, now) : AddChangedCondition(list, patch, *before, now);
      list += ']';
    }
    if (claim_changes) AddClaim(fields, *patch.extended_resource_claim);
    if (nomination_changes) AddChanged(fields, "nominatedNodeName", nominated, *patch.nomination);
  }
  return body;
}

std::string StatusPatchBody(const ports::PodGroupStatusPatch& patch, WallTime now) {
  const auto& conditions = patch.current->conditions;
  const api::PodGroupCondition* before = Find(conditions, patch.condition.type);
  if (before != nullptr && *before == patch.condition) return {};
  std::string body;
  {
    JsonObject root(body);
    JsonObject fields(root.Key("status"));
    if (!conditions.empty())
      AddOrder(fields.Key("$setElementOrder/conditions"), conditions,
               before == nullptr ? &patch.condition.type : nullptr);
    std::string& list = fields.Key("conditions");
    list += '[';
    AddGroupCondition(list, before, patch.condition, now);
    list += ']';
  }
  return body;
}

}  // namespace berth::client
