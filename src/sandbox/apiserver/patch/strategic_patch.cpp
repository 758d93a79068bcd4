#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

// kube-apiserver answers these with its error for what it does not expect.
std::unexpected<ApiError> ServerError(std::string message) {
  ApiError error;
  error.code = 500;
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

std::unexpected<ApiError> NoMergeKey(const json::value& element, std::string_view key) {
  return ServerError(fmt::format("map: {} does not contain declared merge key: {}", GoText(element), key));
}

std::unexpected<ApiError> UnknownDirective(const json::value& directive, const json::value& object) {
  return ServerError(fmt::format("unknown patch type: {} in map: {}", GoText(directive), GoText(object)));
}

std::unexpected<ApiError> MalformedPatch(std::string_view what) {
  return BadRequest(fmt::format("invalid strategic merge patch: {}", what));
}

// What identifies an element of a merged list; null if it lacks the merge key.
const json::value* IdentityOf(const json::value& element, std::string_view key) {
  if (key.empty()) return &element;
  return element.is_object() ? Find(element.get_object(), key) : nullptr;
}

// The positions of a list's elements by identity; of equal ones the first.
using ElementOrder = std::unordered_map<json::value, std::size_t>;

ElementOrder OrderOf(const json::array& list, std::string_view key) {
  ElementOrder order;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (const json::value* identity = IdentityOf(list[at], key)) order.emplace(*identity, at);
  }
  return order;
}

std::optional<std::size_t> PlaceIn(const ElementOrder& order, const json::value& element,
                                   std::string_view key) {
  const json::value* identity = IdentityOf(element, key);
  const auto found = identity != nullptr ? order.find(*identity) : order.end();
  return found != order.end() ? std::optional(found->second) : std::nullopt;
}

// kube-apiserver's order of a merged list: the elements in `wanted` are in that order. Each other element is
// before the next one of them, if it was before that one in the list that was merged (`server`), and after it
// otherwise: a new element is before all that only the server has.
void Arrange(json::array& list, const ElementOrder& wanted, const ElementOrder& server,
             std::string_view key) {
  std::vector<std::pair<std::size_t, std::size_t>> in_order;  // place in `wanted`, position
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (const auto place = PlaceIn(wanted, list[at], key))
      in_order.emplace_back(*place, at);
    else
      others.push_back(at);
  }
  std::ranges::stable_sort(in_order, {}, &std::pair<std::size_t, std::size_t>::first);
  const auto precedes = [&](std::size_t other, std::size_t ordered) {
    const auto a = PlaceIn(server, list[other], key), b = PlaceIn(server, list[ordered], key);
    return a && b && *a < *b;
  };
  json::array result(list.storage());
  result.reserve(list.size());
  auto next = in_order.begin();
  auto other = others.begin();
  while (next != in_order.end() || other != others.end()) {
    const bool is_other = next == in_order.end() || (other != others.end() && precedes(*other, next->second));
    result.push_back(std::move(list[is_other ? *other++ : (next++)->second]));
  }
  list = std::move(result);
}

// As in kube-apiserver, the directives of a list take effect before anything is merged, wherever they are in
// the patch. Returns the elements that are left to merge: none after "replace".
ApiResult<std::vector<const json::value*>> ObeyListDirectives(json::array& target, const json::array& patch,
                                                              const MergedList& list) {
  std::vector<const json::value*> others;
  std::unordered_set<json::value> deleted;
  bool replaced = false;
  for (const auto& element : patch) {
    if (!element.is_object()) return NoMergeKey(element, list.key);
    const json::value* directive = Find(element.get_object(), kDirective);
    if (directive == nullptr) {
      others.push_back(&element);
    } else if (*directive == "replace") {
      replaced = true;
    } else if (*directive == "delete") {
      const json::value* key = Find(element.get_object(), list.key);
      if (key == nullptr) return NoMergeKey(element, list.key);
      deleted.insert(*key);
    } else if (*directive == "merge") {
      return ServerError("merging lists cannot yet be specified in the patch");
    } else {
      return UnknownDirective(*directive, element);
    }
  }
  json::array kept(target.storage());
  if (replaced) {
    for (const json::value* element : others) {
      kept.emplace_back(json::object());
      BERTH_RETURN_IF_ERROR(Merge(kept.back().get_object(), element->get_object(), list.name));
    }
    others.clear();
  } else if (!deleted.empty()) {
    for (json::value& element : target) {
      const json::value* key = IdentityOf(element, list.key);
      if (key == nullptr || !deleted.contains(*key)) kept.push_back(std::move(element));
    }
  } else {
    return others;
  }
  target = std::move(kept);
  return others;
}

// `order`: that of the target, in which the first of several elements with one key counts.
ApiResult<> MergeElements(json::array& target, const std::vector<const json::value*>& elements,
                          const MergedList& list, ElementOrder order) {
  for (const json::value* element : elements) {
    const json::value* key = Find(element->get_object(), list.key);
    if (key == nullptr) return NoMergeKey(*element, list.key);
    const auto [entry, is_new] = order.emplace(*key, target.size());
    if (is_new) target.emplace_back(json::object());
    BERTH_RETURN_IF_ERROR(Merge(target[entry->second].get_object(), element->get_object(), list.name));
  }
  return {};
}

// `order`: the argument of $setElementOrder; null: the order is that of the patch.
ApiResult<> MergeList(json::array& target, const json::array& patch, const MergedList& list,
                      const json::array* order) {
  BERTH_TRY(const auto elements, ObeyListDirectives(target, patch, list));
  const ElementOrder server = OrderOf(target, list.key);
  BERTH_RETURN_IF_ERROR(MergeElements(target, elements, list, server));
  ElementOrder wanted;
  if (order != nullptr) {
    wanted = OrderOf(*order, list.key);
  } else {
    for (std::size_t at = 0; at < elements.size(); ++at)
      wanted.emplace(*IdentityOf(*elements[at], list.key), at);
  }
  Arrange(target, wanted, server, list.key);
  return {};
}

void MergeSet(json::array& target, const json::array& patch, const json::array* order) {
  const ElementOrder server = OrderOf(target, "");
  std::unordered_set<json::value> known(target.begin(), target.end());
  for (const auto& value : patch) {
    if (known.insert(value).second) target.push_back(value);
  }
  Arrange(target, OrderOf(order != nullptr ? *order : patch, ""), server, "");
}

ApiResult<> MergeMember(json::object& target, std::string_view name, const json::value& change,
                        const json::array* order, std::string_view list_above) {
  if (change.is_null()) {
    target.erase(name);
    return {};
  }
  if (change.is_object()) return Merge(ObjectAt(target, name), change.get_object(), list_above);
  const MergedList* list = change.is_array() ? FindMergedList(name, list_above) : nullptr;
  if (list == nullptr) {
    target[name] = change;
  } else if (list->key.empty()) {
    MergeSet(ArrayAt(target, name), change.get_array(), order);
  } else {
    return MergeList(ArrayAt(target, name), change.get_array(), *list, order);
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
    const std::string_view key = merged != nullptr ? merged->key : "";
    Arrange(list->get_array(), OrderOf(values, key), OrderOf(list->get_array(), key), key);
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
    if (*directive != "replace" && *directive != "delete") return UnknownDirective(*directive, patch);
    target.clear();
    if (*directive == "delete") return {};
  }
  for (const auto& entry : patch) {
    if (entry.key() == kRetainKeys || std::string_view(entry.key()).starts_with(kDeletePrimitive)) {
      BERTH_RETURN_IF_ERROR(ObeyDirective(target, entry.key(), entry.value(), list_above));
    }
  }
  for (const auto& entry : patch) {
    if (IsDirective(entry.key())) continue;
    const json::value* order = Find(patch, fmt::format("{}{}", kElementOrder, entry.key()));
    BERTH_RETURN_IF_ERROR(MergeMember(target, entry.key(), entry.value(),
                                      order != nullptr ? order->if_array() : nullptr, list_above));
  }
  for (const auto& entry : patch) {  // also an order without elements to merge
    const std::string_view name = entry.key();
    if (name.starts_with(kElementOrder) && !patch.contains(name.substr(kElementOrder.size())))
      BERTH_RETURN_IF_ERROR(ObeyDirective(target, name, entry.value(), list_above));
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
