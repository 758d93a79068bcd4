#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sandbox/apiserver/patch/patch.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kDeletePrimitive = "$deleteFromPrimitiveList/";

ApiResult<> Merge(json::object& target, const json::object& patch, std::string_view list_above);

struct MergedList {
  std::string_view name;
  std::string_view key;  // empty: a list of plain values that is merged as a set
};
// The lists with patchStrategy "merge" in k8s.io/api. Everything else, tolerations and taints included, is
// atomic.
constexpr MergedList kMergedLists[] = {
    {"conditions", "type"},
    {"containers", "name"},
    {"initContainers", "name"},
    {"ephemeralContainers", "name"},
    {"volumes", "name"},
    {"imagePullSecrets", "name"},
    {"schedulingGates", "name"},
    {"resourceClaims", "name"},
    {"hostAliases", "ip"},
    {"topologySpreadConstraints", "topologyKey"},
    {"env", "name"},
    {"volumeMounts", "mountPath"},
    {"volumeDevices", "devicePath"},
    {"podIPs", "ip"},
    {"hostIPs", "ip"},
    {"resourceClaimStatuses", "name"},
    {"addresses", "type"},
    {"ownerReferences", "uid"},
    {"reservedFor", "uid"},
    {"drivers", "name"},
    {"secrets", "name"},
    {"finalizers", ""},
    {"podCIDRs", ""},
};

const MergedList* FindMergedList(std::string_view name, std::string_view list_above) {
  // The only list name that two types share: the ports of a container and of a service.
  static constexpr MergedList kContainerPorts{"ports", "containerPort"};
  static constexpr MergedList kServicePorts{"ports", "port"};
  if (name == "ports") return list_above.ends_with("ontainers") ? &kContainerPorts : &kServicePorts;
  const auto found = std::ranges::find(kMergedLists, name, &MergedList::name);
  return found == std::end(kMergedLists) ? nullptr : found;
}

bool IsDirective(std::string_view key) {
  return key == kDirective || key == kRetainKeys || key.starts_with(kElementOrder) ||
         key.starts_with(kDeletePrimitive);
}

std::unexpected<ApiError> NoMergeKey(const json::value& element, std::string_view key) {
  ApiError error;
  error.code = 500;
  error.message = fmt::format("map: {} does not contain declared merge key: {}", GoText(element), key);
  return std::unexpected(std::move(error));
}

std::unexpected<ApiError> MalformedPatch(std::string_view what) {
  return BadRequest(fmt::format("invalid strategic merge patch: {}", what));
}

json::value* FindByKey(json::array& list, std::string_view key, const json::value& wanted) {
  for (auto& element : list) {
    if (!element.is_object()) continue;
    const json::value* have = Find(element.get_object(), key);
    if (have != nullptr && *have == wanted) return &element;
  }
  return nullptr;
}

ApiResult<> MergeList(json::array& target, const json::array& patch, const MergedList& list) {
  for (const auto& element : patch) {
    if (!element.is_object()) return NoMergeKey(element, list.key);
    const auto directive = FindString(element.get_object(), kDirective);
    const json::value* key = Find(element.get_object(), list.key);
    if (directive == "replace" && key == nullptr) {
      target.clear();  // the other elements of the patch form the new list
      continue;
    }
    if (key == nullptr) return NoMergeKey(element, list.key);
    json::value* existing = FindByKey(target, list.key, *key);
    if (directive == "delete") {
      if (existing != nullptr) target.erase(existing);
      continue;
    }
    if (existing == nullptr) existing = &target.emplace_back(json::object());
    BERTH_RETURN_IF_ERROR(Merge(existing->get_object(), element.get_object(), list.name));
  }
  return {};
}

void MergeSet(json::array& target, const json::array& patch) {
  std::unordered_set<json::value> known(target.begin(), target.end());
  for (const auto& value : patch) {
    if (known.insert(value).second) target.push_back(value);
  }
}

// Restores the client's order for the elements in it; elements that only the server has keep their
// neighbours.
void Reorder(json::array& list, const json::array& order, std::string_view key) {
  const auto name = [&](const json::value& element) -> const json::value* {
    if (key.empty()) return &element;
    return element.is_object() ? Find(element.get_object(), key) : nullptr;
  };
  std::unordered_map<json::value, std::ptrdiff_t> ranks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (const json::value* wanted = name(order[i])) ranks.emplace(*wanted, static_cast<std::ptrdiff_t>(i));
  }
  const auto rank = [&](const json::value& element) -> std::ptrdiff_t {
    const json::value* mine = name(element);
    const auto found = mine != nullptr ? ranks.find(*mine) : ranks.end();
    return found != ranks.end() ? found->second : -1;
  };
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> known;  // rank, index
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (const auto r = rank(list[i]); r >= 0) known.emplace_back(r, i);
  }
  std::ranges::stable_sort(known, {}, &std::pair<std::ptrdiff_t, std::size_t>::first);
  json::array result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    result.push_back(rank(list[i]) >= 0 ? list[known[next++].second] : list[i]);
  }
  list = result;
}

ApiResult<> MergeMember(json::object& target, std::string_view name, const json::value& change,
                        std::string_view list_above) {
  if (change.is_null()) {
    target.erase(name);
    return {};
  }
  if (change.is_object()) return Merge(ObjectAt(target, name), change.get_object(), list_above);
  const MergedList* list = change.is_array() ? FindMergedList(name, list_above) : nullptr;
  if (list == nullptr) {
    target[name] = change;
  } else if (list->key.empty()) {
    MergeSet(ArrayAt(target, name), change.get_array());
  } else {
    return MergeList(ArrayAt(target, name), change.get_array(), *list);
  }
  return {};
}

ApiResult<> ObeyDirective(json::object& target, std::string_view directive, const json::value& argument,
                          std::string_view list_above) {
  if (directive == kDirective) return {};
  if (!argument.is_array()) return MalformedPatch(fmt::format("{} must be a list", directive));
  const auto& values = argument.get_array();
  if (directive == kRetainKeys) {
    for (auto it = target.begin(); it != target.end();) {
      const bool kept = std::ranges::any_of(
          values, [&](const auto& v) { return v.is_string() && v.get_string() == it->key(); });
      if (kept)
        ++it;
      else
        it = target.stable_erase(it);
    }
    return {};
  }
  const auto name = directive.substr(directive.find('/') + 1);
  json::value* list = target.if_contains(name);
  if (list == nullptr || !list->is_array()) return {};
  if (directive.starts_with(kElementOrder)) {
    const MergedList* merged = FindMergedList(name, list_above);
    Reorder(list->get_array(), values, merged != nullptr ? merged->key : "");
  } else {
    const std::unordered_set<json::value> unwanted(values.begin(), values.end());
    json::array kept(list->storage());
    for (const auto& value : list->get_array()) {
      if (!unwanted.contains(value)) kept.push_back(value);
    }
    *list = std::move(kept);
  }
  return {};
}

ApiResult<> Merge(json::object& target, const json::object& patch, std::string_view list_above) {
  const json::value* directive = Find(patch, kDirective);
  if (directive != nullptr) {
    if (!directive->is_string()) return MalformedPatch("$patch must be a string");
    const std::string_view what = directive->get_string();
    if (what == "replace" || what == "delete")
      target.clear();
    else if (what != "merge")
      return MalformedPatch(fmt::format("unknown $patch directive {}", what));
    if (what == "delete") return {};
  }
  for (const auto& entry : patch) {
    if (entry.key() == kRetainKeys || std::string_view(entry.key()).starts_with(kDeletePrimitive)) {
      BERTH_RETURN_IF_ERROR(ObeyDirective(target, entry.key(), entry.value(), list_above));
    }
  }
  for (const auto& entry : patch) {
    if (!IsDirective(entry.key()))
      BERTH_RETURN_IF_ERROR(MergeMember(target, entry.key(), entry.value(), list_above));
  }
  for (const auto& entry : patch) {  // in the order of the merged list
    if (std::string_view(entry.key()).starts_with(kElementOrder)) {
      BERTH_RETURN_IF_ERROR(ObeyDirective(target, entry.key(), entry.value(), list_above));
    }
  }
  return {};
}

}  // namespace

std::optional<std::string_view> PatchMergeKey(std::string_view list, bool in_container) {
  const MergedList* merged = FindMergedList(list, in_container ? "containers" : "");
  return merged != nullptr ? std::optional(merged->key) : std::nullopt;
}

ApiResult<> ApplyStrategicPatch(json::object& target, const json::object& patch) {
  return Merge(target, patch, {});
}

}  // namespace berth::sandbox
