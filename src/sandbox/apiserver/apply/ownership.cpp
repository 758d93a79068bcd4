#include "sandbox/apiserver/apply/ownership.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace berth::sandbox {
namespace {

// If there are more update managers than this, the oldest share one entry.
constexpr std::ptrdiff_t kMostUpdateManagers = 10;
constexpr std::string_view kAncient = "ancient-changes";

// Fields without ownership: identity, and fields that the server itself writes.
const FieldSet& Unowned() {
  static const FieldSet set = [] {
    FieldSet unowned;
    for (const std::string_view path :
         {"apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace",
          "metadata.creationTimestamp", "metadata.selfLink", "metadata.uid", "metadata.clusterName",
          "metadata.generation", "metadata.managedFields", "metadata.resourceVersion"}) {
      unowned.AddPath(path);
    }
    return unowned;
  }();
  return set;
}

FieldManager* FindManager(FieldManagers& managers, const FieldManager& wanted) {
  const auto found = std::ranges::find_if(managers, [&](const auto& other) { return other.SameAs(wanted); });
  return found == managers.end() ? nullptr : &*found;
}

void DropEmpty(FieldManagers& managers) {
  std::erase_if(managers, [](const FieldManager& manager) { return manager.fields.empty(); });
}

Comparison Counting(Comparison comparison, const FieldSet& ignored) {
  if (ignored.empty()) return comparison;
  return {comparison.removed.WithoutBelow(ignored), comparison.modified.WithoutBelow(ignored),
          comparison.added.WithoutBelow(ignored)};
}

struct Disputed {
  FieldManager* manager;
  FieldSet fields;
};

// The changed fields that other managers own.
std::vector<Disputed> FindDisputes(const Comparison& comparison, const FieldManager* writer,
                                   FieldManagers& managers) {
  FieldSet changed = comparison.modified;
  changed.Add(comparison.added);
  std::vector<Disputed> disputes;
  for (auto& manager : managers) {
    if (&manager == writer) continue;
    if (FieldSet common = manager.fields.And(changed); !common.empty())
      disputes.push_back({&manager, std::move(common)});
  }
  return disputes;
}

std::unexpected<ApiError> Disagreement(const std::vector<Disputed>& disputes) {
  ApiError error;
  error.code = 409;
  error.reason = "Conflict";
  error.has_details = true;
  std::map<std::string, std::vector<std::string>> by_manager;
  for (const auto& [manager, fields] : disputes) {
    const std::string owner = manager->Describe();
    fields.ForEachPath([&](const std::string& path) {
      by_manager[owner].push_back(path);
      error.causes.push_back({"FieldManagerConflict", fmt::format("conflict with {}", owner), path});
    });
  }
  if (error.causes.size() == 1) {
    error.message =
        fmt::format("Apply failed with 1 conflict: {}: {}", error.causes[0].message, error.causes[0].field);
    return std::unexpected(std::move(error));
  }
  std::vector<std::string> lines;
  for (const auto& [owner, paths] : by_manager) {
    lines.push_back(fmt::format("conflicts with {}:", owner));
    for (const auto& path : paths) lines.push_back("- " + path);
  }
  error.message =
      fmt::format("Apply failed with {} conflicts: {}", error.causes.size(), fmt::join(lines, "\n"));
  return std::unexpected(std::move(error));
}

void TakeFromOthers(const Comparison& comparison, const std::vector<Disputed>& disputes,
                    const FieldManager* writer, FieldManagers& managers) {
  for (const auto& [manager, fields] : disputes) manager->fields = manager->fields.Without(fields);
  if (comparison.removed.empty()) return;
  for (auto& manager : managers) {
    if (&manager != writer) manager.fields = manager.fields.Without(comparison.removed);
  }
}

void CapUpdateManagers(FieldManagers& managers) {
  const auto updates = std::ranges::count_if(managers, [](const auto& m) { return !m.apply; });
  if (updates <= kMostUpdateManagers) return;
  std::ranges::stable_sort(managers, {}, &FieldManager::time);
  FieldManager ancient{
      .name = std::string(kAncient), .api_version = {}, .subresource = {}, .time = {}, .fields = {}};
  auto left = updates;
  std::erase_if(managers, [&](const FieldManager& manager) {
    if (manager.apply || left < kMostUpdateManagers) return false;
    --left;
    ancient.api_version = manager.api_version;
    ancient.time = manager.time;
    ancient.fields.Add(manager.fields);
    return true;
  });
  managers.push_back(std::move(ancient));
}

// Removes fields that the manager applied last time and no longer applies, except those that another manager
// owns and those inside a field that it still applies.
json::object PruneDropped(const json::object& merged, const FieldSet& last, const SchemaMessage* schema,
                          const FieldManagers& managers) {
  if (last.empty()) return merged;
  json::object pruned = RemoveFields(merged, WithNamedFields(last, schema), schema);
  FieldSet owned;
  for (const auto& manager : managers) owned.Add(manager.fields);
  const FieldSet all = WithNamedFields(FieldsOf(merged, schema), schema);
  FieldSet kept = WithNamedFields(FieldsOf(pruned, schema), schema);
  kept.Add(WithNamedFields(owned, schema));
  pruned = RemoveFields(merged, all.Without(kept), schema);
  const FieldSet left = WithNamedFields(FieldsOf(pruned, schema), schema);
  return RemoveFields(merged, all.Without(left).And(WithNamedFields(last, schema)), schema);
}

}  // namespace

void TrackUpdate(const json::object& before, const json::object& after, const SchemaMessage* schema,
                 const FieldWriter& writer, FieldManagers& managers) {
  const Comparison everything = CompareFields(before, after, schema);
  const Comparison counting = Counting(everything, writer.ignored);
  const FieldManager self{.name = writer.manager,
                          .api_version = writer.api_version,
                          .subresource = writer.subresource,
                          .time = writer.now,
                          .fields = {}};
  // The manager's own earlier entry loses the taken fields, too, and gets them back below.
  FieldManager* earlier = FindManager(managers, self);
  TakeFromOthers(counting, FindDisputes(counting, earlier, managers), earlier, managers);
  FieldSet changed = everything.modified;
  changed.Add(everything.added);
  changed = changed.WithoutBelow(writer.ignored).Without(Unowned());
  if (earlier != nullptr) {
    FieldSet fields = earlier->fields.Without(counting.removed);
    fields.Add(changed);
    if (fields != earlier->fields) {
      earlier->fields = std::move(fields);
      earlier->time = writer.now;
    }
  } else if (!changed.empty()) {
    managers.push_back(self);
    managers.back().fields = std::move(changed);
  }
  DropEmpty(managers);
  CapUpdateManagers(managers);
}

ApiResult<json::object> ApplyConfiguration(const json::object& live, const json::object& config,
                                           const SchemaMessage* schema, const FieldWriter& writer, bool force,
                                           FieldManagers& managers) {
  const json::object merged = MergeObjects(live, config, schema);
  const FieldManager self{.name = writer.manager,
                          .apply = true,
                          .api_version = writer.api_version,
                          .subresource = writer.subresource,
                          .time = {},
                          .fields = {}};
  FieldSet last;
  FieldManager* mine = FindManager(managers, self);
  if (mine == nullptr) {
    managers.push_back(self);
    mine = &managers.back();
  } else {
    last = mine->fields;
  }
  mine->fields = FieldsOf(config, schema).WithoutBelow(writer.ignored);
  json::object result = PruneDropped(merged, last, schema, managers);
  DropNulls(result);
  const Comparison comparison = Counting(CompareFields(live, result, schema), writer.ignored);
  const auto disputes = FindDisputes(comparison, mine, managers);
  if (!force && !disputes.empty()) return Disagreement(disputes);
  TakeFromOthers(comparison, disputes, mine, managers);
  mine->fields = mine->fields.Without(Unowned());
  mine->api_version = writer.api_version;
  // An applied configuration without effect sets no time, not even on its first occurrence.
  if (result != live) mine->time = writer.now;
  DropEmpty(managers);
  return result;
}

json::object EmptyObject(const SchemaMessage* schema) {
  json::object empty;
  if (schema != nullptr) Normalize(empty, *schema);
  return empty;
}

}  // namespace berth::sandbox
