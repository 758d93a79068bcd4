#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
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

// The positions of a list's elements by merge key. The list may have several elements with one key, of which
// the first is merged.
class MergeIndex {
 public:
  MergeIndex(const json::array& list, std::string_view key) : key_(key) {
    for (std::size_t at = 0; at < list.size(); ++at) Add(list[at], at);
  }
  std::optional<std::size_t> First(const json::value& key) const {
    const auto found = positions_.find(key);
    return found == positions_.end() ? std::nullopt : std::optional(*found->second.begin());
  }
  void Add(const json::value& element, std::size_t at) {
    const json::value* key = element.is_object() ? Find(element.get_object(), key_) : nullptr;
    if (key != nullptr) positions_[*key].insert(at);
  }
  void Remove(const json::value& key, std::size_t at) {
    const auto found = positions_.find(key);
    found->second.erase(at);
    if (found->second.empty()) positions_.erase(found);
  }
  void Clear() { positions_.clear(); }

 private:
  std::string_view key_;
  std::unordered_map<json::value, std::set<std::size_t>> positions_;
};

// `removed` receives the positions of deleted elements, which stay in the list until all elements of the
// patch are merged: positions must not change in between.
ApiResult<> MergeElements(json::array& target, const json::array& patch, const MergedList& list,
                          std::unordered_set<std::size_t>& removed) {
  MergeIndex index(target, list.key);
  for (const auto& element : patch) {
    if (!element.is_object()) return NoMergeKey(element, list.key);
    const auto directive = FindString(element.get_object(), kDirective);
    const json::value* key = Find(element.get_object(), list.key);
    if (directive == "replace" && key == nullptr) {
      target.clear();  // the other elements of the patch form the new list
      removed.clear();
      index.Clear();
      continue;
    }
    if (key == nullptr) return NoMergeKey(element, list.key);
    const auto existing = index.First(*key);
    if (directive == "delete") {
      if (!existing) continue;
      index.Remove(*key, *existing);
      removed.insert(*existing);
      continue;
    }
    const std::size_t at = existing.value_or(target.size());
    if (!existing) target.emplace_back(json::object());
    BERTH_RETURN_IF_ERROR(Merge(target[at].get_object(), element.get_object(), list.name));
    // Nulls within a key that is an object are not stored, so that it may differ from the patch's.
    const json::value* stored = Find(target[at].get_object(), list.key);
    if (existing && (stored == nullptr || *stored != *key)) index.Remove(*key, at);
    if (!existing || stored == nullptr || *stored != *key) index.Add(target[at], at);
  }
  return {};
}

ApiResult<> MergeList(json::array& target, const json::array& patch, const MergedList& list) {
  std::unordered_set<std::size_t> removed;
  BERTH_RETURN_IF_ERROR(MergeElements(target, patch, list, removed));
  if (removed.empty()) return {};
  json::array kept(target.storage());
  kept.reserve(target.size() - removed.size());
  for (std::size_t at = 0; at < target.size(); ++at) {
    if (!removed.contains(at)) kept.push_back(std::move(target[at]));
  }
  target = std::move(kept);
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
