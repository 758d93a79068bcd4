#include "scheduler/plugins/capacity_scheduling/quota_group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kubernetes/api/json_values.hpp"
#include "kubernetes/api/requests.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_tree.hpp"

namespace berth::plugins {
namespace {

constexpr std::string_view kParentLabel = "quota.scheduling.koordinator.sh/parent";
constexpr std::string_view kIsParentLabel = "quota.scheduling.koordinator.sh/is-parent";
constexpr std::string_view kLendsLabel = "quota.scheduling.koordinator.sh/allow-lent-resource";
constexpr std::string_view kNameLabel = "quota.scheduling.koordinator.sh/name";
constexpr std::string_view kPreemptibleLabel = "quota.scheduling.koordinator.sh/preemptible";
constexpr std::int64_t kMostRequested = std::int64_t{1} << 46;
// In messages.
constexpr std::size_t kMostNames = 5;

std::string_view LabelOf(const api::ObjectMeta& meta, std::string_view key) {
  const std::string* const value = meta.labels.Find(key);
  return value == nullptr ? std::string_view() : *value;
}

// Nothing limits "pods": no container requests them.
bool Counts(std::string_view resource) {
  const api::ResourceClass kind = api::ClassOf(resource);
  return kind != api::ResourceClass::kIgnored && kind != api::ResourceClass::kPods;
}

QuotaGroup::Amounts ToAmounts(const api::ResourceList& list) {
  QuotaGroup::Amounts amounts;
  for (const auto& [name, quantity] : list) {
    if (!Counts(name)) continue;
    const bool milli = api::ClassOf(name) == api::ResourceClass::kCpu;
    amounts.emplace(name, std::max<std::int64_t>(milli ? quantity.MilliValue() : quantity.Value(), 0));
  }
  return amounts;
}

void ReadWeight(const api::ElasticQuota& object, QuotaGroup& group) {
  group.weight = group.max;
  const std::string* const text = object.metadata.Annotation(kSharedWeight);
  const auto list = text == nullptr ? std::nullopt : api::ResourceListFromJson(*text);
  if (!list) return;
  QuotaGroup::Amounts weight = ToAmounts(*list);
  std::erase_if(weight, [&](const auto& entry) { return !group.max.contains(entry.first); });
  if (std::ranges::any_of(weight, [](const auto& entry) { return entry.second > 0; }))
    group.weight = std::move(weight);
}

}  // namespace

QuotaGroup ToQuotaGroup(const api::ElasticQuota& object) {
  const api::ObjectMeta& meta = object.metadata;
  QuotaGroup group;
  group.ns = meta.ns.str();
  group.name = meta.name;
  group.parent = LabelOf(meta, kParentLabel);
  if (group.parent == kRootGroup) group.parent.clear();
  group.is_parent = LabelOf(meta, kIsParentLabel) == "true";
  group.lends = LabelOf(meta, kLendsLabel) != "false";
  if (const std::string* const text = meta.Annotation(kNamespaces))
    group.namespaces = api::StringsFromJson(*text).value_or(std::vector<std::string>());
  if (group.namespaces.size() > QuotaGroup::kMostNamespaces)
    group.namespaces.resize(QuotaGroup::kMostNamespaces);
  if (object.max && object.max->size() > QuotaTree::kMostResources) {
    group.invalid = fmt::format("spec.max: {} resources: must have at most {}", object.max->size(),
                                QuotaTree::kMostResources);
    return group;
  }
  if (object.max) group.max = ToAmounts(*object.max);
  const QuotaGroup::Amounts min = object.min ? ToAmounts(*object.min) : QuotaGroup::Amounts();
  for (const auto& [resource, max] : group.max) {
    const auto guaranteed = min.find(resource);
    if (guaranteed != min.end()) group.min.emplace(resource, std::min(guaranteed->second, max));
  }
  ReadWeight(object, group);
  return group;
}

// --- places in the tree ---

namespace {

// Finds the problem of each group from that of its parent.
class PlaceFinder {
 public:
  explicit PlaceFinder(std::span<const QuotaGroup> groups) : groups_(groups), places_(groups.size()) {}

  std::vector<std::string> Find();

 private:
  struct Place {
    std::string problem;
    std::size_t level = 0;  // below the root, from 1 on; 0: unknown
    bool visited = false;   // by the present walk
  };
  std::string ProblemOf(std::size_t index);
  void Follow(std::size_t index);
  void MarkCycle(std::vector<std::size_t>& chain, std::size_t closing);
  std::string ProblemBelow(const QuotaGroup& group, const QuotaGroup& parent, const Place& above) const;

  const std::span<const QuotaGroup> groups_;
  std::vector<Place> places_;
  std::map<std::string_view, std::size_t> by_name_;
  std::set<std::string_view> resources_;
};

std::vector<std::string> PlaceFinder::Find() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (std::string problem = ProblemOf(i); !problem.empty())
      places_[i] = {.problem = std::move(problem), .level = 1};
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) Follow(i);
  std::vector<std::string> problems;
  problems.reserve(places_.size());
  for (Place& place : places_) problems.push_back(std::move(place.problem));
  return problems;
}

// Without regard to other places in the tree.
std::string PlaceFinder::ProblemOf(std::size_t index) {
  const QuotaGroup& group = groups_[index];
  if (const auto [known, added] = by_name_.emplace(group.name, index); !added) {
    const QuotaGroup& first = groups_[known->second];
    return fmt::format("ElasticQuota {}/{} has the same name", first.ns, first.name);
  }
  if (index >= QuotaGroup::kMostGroups) return fmt::format("more than {} quotas", QuotaGroup::kMostGroups);
  if (!group.invalid.empty()) return group.invalid;
  const auto is_new = [&](const auto& entry) { return !resources_.contains(entry.first); };
  const auto more = static_cast<std::size_t>(std::ranges::count_if(group.max, is_new));
  if (resources_.size() + more > QuotaTree::kMostResources)
    return fmt::format("spec.max: all quotas together list more than {} resources",
                       QuotaTree::kMostResources);
  for (const auto& [resource, amount] : group.max) resources_.insert(resource);
  return {};
}

// Goes up to a group whose place is known, and down again.
void PlaceFinder::Follow(std::size_t index) {
  std::vector<std::size_t> chain;
  for (std::size_t at = index; places_[at].level == 0;) {
    if (std::exchange(places_[at].visited, true)) {
      MarkCycle(chain, at);
      break;
    }
    chain.push_back(at);
    const auto parent = by_name_.find(groups_[at].parent);
    if (groups_[at].parent.empty() || parent == by_name_.end()) break;
    at = parent->second;
  }
  for (; !chain.empty(); chain.pop_back()) {
    const QuotaGroup& group = groups_[chain.back()];
    Place& place = places_[chain.back()];
    place.level = 1;
    if (group.parent.empty()) continue;
    const auto parent = by_name_.find(group.parent);
    if (parent == by_name_.end()) {
      place.problem = fmt::format("its parent \"{}\" does not exist", group.parent);
      continue;
    }
    const Place& above = places_[parent->second];
    place.problem = ProblemBelow(group, groups_[parent->second], above);
    place.level = above.level + 1;
  }
}

// The parent of the last group of the chain is `closing`, which is in the chain. Leaves those below the cycle
// in the chain.
void PlaceFinder::MarkCycle(std::vector<std::size_t>& chain, std::size_t closing) {
  const auto first = std::ranges::find(chain, closing);
  std::vector<std::string_view> names;
  for (auto at = first; at != chain.end() && names.size() <= kMostNames; ++at)
    names.emplace_back(names.size() == kMostNames ? "..." : std::string_view(groups_[*at].name));
  names.emplace_back(groups_[closing].name);
  for (auto at = first; at != chain.end(); ++at) {
    places_[*at].level = 1;
    places_[*at].problem = fmt::format("its parents form a cycle: {}", fmt::join(names, " -> "));
  }
  chain.erase(first, chain.end());
}

std::string PlaceFinder::ProblemBelow(const QuotaGroup& group, const QuotaGroup& parent,
                                      const Place& above) const {
  if (!above.problem.empty()) return fmt::format("its parent \"{}\" has no place in the tree", parent.name);
  if (!parent.is_parent)
    return fmt::format("its parent \"{}\" is no parent: label {} must be \"true\"", parent.name,
                       kIsParentLabel);
  if (above.level >= QuotaGroup::kDeepest) return fmt::format("more than {} levels", QuotaGroup::kDeepest);
  for (const auto& [resource, amount] : group.max) {
    if (!parent.max.contains(resource))
      return fmt::format("spec.max: its parent \"{}\" does not list {}", parent.name, resource);
  }
  return {};
}

}  // namespace

std::vector<std::string> FindProblems(std::span<const QuotaGroup> groups) {
  return PlaceFinder(groups).Find();
}

// --- pods ---

std::string_view GroupLabelOf(const api::Pod& pod) { return LabelOf(pod.metadata, kNameLabel); }

bool IsPreemptible(const api::Pod& pod) { return LabelOf(pod.metadata, kPreemptibleLabel) != "false"; }

QuotaGroup::Amounts GroupRequestOf(const api::Pod& pod) {
  QuotaGroup::Amounts amounts = ToAmounts(api::PodRequests(pod, {}));
  for (auto& [resource, amount] : amounts) amount = std::min(amount, kMostRequested);
  return amounts;
}

}  // namespace berth::plugins
