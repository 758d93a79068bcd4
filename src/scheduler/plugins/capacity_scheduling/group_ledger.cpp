#include "scheduler/plugins/capacity_scheduling/group_ledger.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.hpp"
#include "base/saturated.hpp"
#include "observability/log/log.hpp"
#include "scheduler/framework/plugin_state_change.hpp"

namespace berth::plugins {
namespace {

using GroupId = GroupLedger::GroupId;

constexpr GroupId kDefaultId = 0, kSystemId = 1;
// The name of the root in older versions of Koordinator.
constexpr std::string_view kOldRootGroup = "root";
// Quotas are often created together, and every update takes time linear in the pods.
constexpr Duration kRefreshDelay = std::chrono::seconds(1), kRetryDelay = std::chrono::seconds(1);
constexpr framework::ClusterEvent kRequestsDecreased{framework::EventResource::kPluginState,
                                                     framework::kUpdate, "QuotaRequestsDecreased"};

struct SharedGroupLedger {
  std::optional<GroupLedger> ledger;
};

bool ConcernsGroups(const ports::Change<api::ElasticQuota>& change) {
  if (change.before == nullptr || change.after == nullptr) return true;
  const api::ElasticQuota &before = *change.before, &after = *change.after;
  return before.min != after.min || before.max != after.max ||
         before.metadata.labels != after.metadata.labels ||
         before.metadata.annotations != after.metadata.annotations;
}

}  // namespace

std::shared_ptr<GroupLedger> GroupLedger::Of(framework::Handle& handle) {
  auto shared = handle.Keep<SharedGroupLedger>("quota groups");
  if (!shared->ledger) shared->ledger.emplace(handle);
  return {shared, &*shared->ledger};
}

GroupLedger::GroupLedger(framework::Handle& handle)
    : handle_(handle),
      series_(handle.metrics),
      refresh_(handle.loop, [this] { Update(); }),
      retry_(handle.loop, [this] {
        handle_.scheduler.PublishEvent(kRequestsDecreased, framework::StateChangeOf(state()));
      }) {
  handle_.nodes.ObserveWithWithdrawals(*this);
  handle_.pending.Observe(*this);
  handle_.objects.Of<api::ElasticQuota>().ListenFor(listening_,
                                                    [this](const ports::Change<api::ElasticQuota>& change) {
                                                      if (!ConcernsGroups(change)) return;
                                                      stale_ = true;
                                                      refresh_.PostAfter(kRefreshDelay);
                                                    });
}

GroupLedger::~GroupLedger() {
  handle_.pending.Forget(*this);
  handle_.nodes.Forget(*this);
}

// --- groups ---

void GroupLedger::Update() {
  if (stale_) Rebuild();
  UpdateTotal();
}

void GroupLedger::Rebuild() {
  ReadGroups();
  ReadResources();
  FindNames();
  PlaceGroups();
  ShowGroups();
  ReportProblems();
  outside_.assign(resources_.size(), 0);
  total_stale_ = true;
  stale_ = false;
  for (auto& [uid, counted] : pods_) {
    counted.group = Find(*counted.pod);
    counted.request = Request(counted.requests, counted.group);
    Count(counted, Part::kRequest, 1);
    if (counted.on_node) Count(counted, Part::kUse, 1);
  }
}

void GroupLedger::ReadGroups() {
  QuotaGroup standard, system;
  standard.name = kDefaultGroup;
  system.name = kSystemGroup;
  std::vector<QuotaGroup> quotas;
  handle_.objects.Of<api::ElasticQuota>().ForEach([&](const auto& object) {
    if (object->metadata.name == kRootGroup) return;
    QuotaGroup group = ToQuotaGroup(*object);
    if (!group.special()) return quotas.push_back(std::move(group));
    QuotaGroup& special = group.name == kDefaultGroup ? standard : system;
    if (special.ns.empty()) special = std::move(group);
  });
  const bool root_is_a_name =
      std::ranges::any_of(quotas, [](const QuotaGroup& group) { return group.name == kOldRootGroup; });
  for (QuotaGroup& group : quotas) {
    if (!root_is_a_name && group.parent == kOldRootGroup) group.parent.clear();
  }
  std::vector<std::string> problems = FindProblems(quotas);
  groups_.clear();
  groups_.resize(2 + quotas.size());
  groups_[kDefaultId].quota = std::move(standard);
  groups_[kSystemId].quota = std::move(system);
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    groups_[2 + i].quota = std::move(quotas[i]);
    groups_[2 + i].problem = std::move(problems[i]);
  }
}

void GroupLedger::ReadResources() {
  std::map<std::string_view, std::uint32_t> index;
  for (const Group& group : groups_) {
    if (!group.problem.empty()) continue;
    for (const auto& [resource, max] : group.quota.max) {
      if (index.size() < QuotaTree::kMostResources) index.try_emplace(resource, 0);
    }
  }
  resources_.clear();
  columns_.clear();
  for (auto& [resource, at] : index) {
    at = static_cast<std::uint32_t>(resources_.size());
    resources_.emplace_back(resource);
    columns_.push_back(handle_.symbols.InternResource(resources_.back()));
  }
  for (Group& group : groups_) {
    group.used.assign(resources_.size(), 0);
    group.non_preemptible_used.assign(resources_.size(), 0);
    group.min.assign(resources_.size(), 0);
    group.max.assign(resources_.size(), INT64_MAX);
    for (const auto& [resource, max] : group.quota.max) {
      const auto at = index.find(resource);
      if (at == index.end()) continue;
      group.limited.push_back(at->second);
      group.max[at->second] = max;
      const auto min = group.quota.min.find(resource);
      if (min != group.quota.min.end()) group.min[at->second] = min->second;
    }
  }
  node_changes_ = 0;
}

void GroupLedger::FindNames() {
  by_name_.clear();
  by_namespace_.clear();
  for (GroupId id = 0; id < groups_.size(); ++id) by_name_.try_emplace(groups_[id].quota.name, id);
  for (GroupId id = 0; id < groups_.size(); ++id) {
    const QuotaGroup& quota = groups_[id].quota;
    if (quota.ns == quota.name) by_namespace_.try_emplace(quota.ns, id);
  }
  for (GroupId id = 0; id < groups_.size(); ++id) {
    for (const std::string& ns : groups_[id].quota.namespaces) by_namespace_.try_emplace(ns, id);
  }
}

// Siblings are added in the order of their names.
void GroupLedger::PlaceGroups() {
  std::map<std::string_view, std::vector<GroupId>> children;  // by the parent's name
  for (GroupId id = 0; id < groups_.size(); ++id) {
    const Group& group = groups_[id];
    if (group.problem.empty() && !group.quota.special()) children[group.quota.parent].push_back(id);
  }
  tree_ = std::make_unique<QuotaTree>(resources_.size());
  group_of_place_ = {kDefaultId};  // the root has no group
  std::vector<std::pair<QuotaTree::Id, std::string_view>> parents = {{QuotaTree::kRoot, ""}};
  while (!parents.empty()) {
    const auto [place, name] = parents.back();
    parents.pop_back();
    const auto below = children.find(name);
    if (below == children.end()) continue;
    std::ranges::sort(below->second, {},
                      [&](GroupId id) -> const std::string& { return groups_[id].quota.name; });
    for (const GroupId id : below->second) {
      Group& group = groups_[id];
      QuotaTree::Group limits{.min = group.min,
                              .max = Amounts(resources_.size()),
                              .weight = Amounts(resources_.size()),
                              .lends = group.quota.lends};
      for (const std::uint32_t at : group.limited) {
        limits.max[at] = group.max[at];
        const auto weight = group.quota.weight.find(resources_[at]);
        if (weight != group.quota.weight.end()) limits.weight[at] = weight->second;
      }
      group.place = tree_->Add(place, std::move(limits));
      group_of_place_.push_back(id);
      parents.emplace_back(group.place, group.quota.name);
    }
  }
}

void GroupLedger::ShowGroups() {
  series_.Begin();
  std::size_t problems = 0;
  for (const Group& group : groups_) {
    problems += std::size_t{!group.problem.empty()};
    if (group.problem.empty()) series_.Put(group.quota);
  }
  series_.End(problems);
  for (Group& group : groups_) {
    group.series.assign(resources_.size(), nullptr);
    if (!group.problem.empty()) continue;
    for (const std::uint32_t at : group.limited) {
      GroupSeries::Values* const values = series_.Find(group.quota.name, resources_[at]);
      group.series[at] = values;
      if (values == nullptr) continue;
      values->used = 0;
      // Outside of the tree the maximum is the limit.
      values->runtime = group.quota.special() ? values->max.load() : 0;
    }
  }
}

void GroupLedger::ReportProblems() {
  std::map<std::string, std::string> now;
  for (const Group& group : groups_) {
    if (group.problem.empty()) continue;
    std::string key = group.quota.ns + "/" + group.quota.name;
    const auto known = reported_.find(key);
    if (known == reported_.end() || known->second != group.problem)
      log::Warning("An elastic quota has no place in the quota tree; its pods are rejected",
                   {{"quota", key}, {"problem", group.problem}});
    now.emplace(std::move(key), group.problem);
  }
  reported_ = std::move(now);
}

void GroupLedger::UpdateTotal() {
  const std::uint64_t changes = handle_.nodes.node_changes();
  if (changes != node_changes_) {
    node_changes_ = changes;
    total_stale_ = true;
    allocatable_.clear();
    for (const cluster::ResourceId column : columns_) {
      const auto amounts = handle_.nodes.allocatable(column);
      allocatable_.push_back(std::accumulate(amounts.begin(), amounts.end(), std::int64_t{0}, SaturatedSum));
    }
  }
  if (!std::exchange(total_stale_, false)) return;
  for (std::size_t at = 0; at < resources_.size(); ++at)
    tree_->SetTotal(at, allocatable_[at] - std::min(allocatable_[at], outside_[at]));
}

GroupId GroupLedger::Find(const api::Pod& pod) const {
  if (const std::string_view label = GroupLabelOf(pod); !label.empty()) {
    const auto named = by_name_.find(label);
    return named == by_name_.end() ? kDefaultId : named->second;
  }
  const auto own = by_namespace_.find(pod.metadata.ns.str());
  return own == by_namespace_.end() ? kDefaultId : own->second;
}

// Computed once for each pod, and not when a quota changes: quotas can be edited at any rate.
GroupLedger::Requests GroupLedger::RequestsOf(const api::Pod& pod) {
  const QuotaGroup::Amounts amounts = GroupRequestOf(pod);
  return {amounts.begin(), amounts.end()};
}

// Both resources_ and the limited ones are in the order of names.
GroupLedger::Amounts GroupLedger::Request(const Requests& requests, GroupId id) const {
  const Group& group = groups_[id];
  Amounts amounts(resources_.size());
  for (const auto& [resource, amount] : requests) {
    const auto found = std::ranges::lower_bound(resources_, resource);
    if (found == resources_.end() || *found != resource) continue;
    const auto at = static_cast<std::uint32_t>(found - resources_.begin());
    if (group.place == QuotaTree::kRoot || std::ranges::binary_search(group.limited, at))
      amounts[at] = amount;
  }
  return amounts;
}

GroupId GroupLedger::GroupOf(const api::Pod& pod) {
  Update();
  return Find(pod);
}

GroupLedger::Amounts GroupLedger::RequestOf(const api::Pod& pod) {
  Update();
  const auto known = pods_.find(pod.metadata.uid);
  return known != pods_.end() ? known->second.request : Request(RequestsOf(pod), Find(pod));
}

std::span<const GroupId> GroupLedger::PathOf(GroupId id) {
  path_.assign(1, id);
  const QuotaTree::Id place = groups_[id].place;
  if (place == QuotaTree::kRoot) return path_;
  for (QuotaTree::Id above = tree_->parent(place); above != QuotaTree::kRoot; above = tree_->parent(above))
    path_.push_back(group_of_place_[above]);
  return path_;
}

std::span<const std::int64_t> GroupLedger::LimitOf(GroupId id) {
  Update();
  const Group& group = groups_[id];
  if (group.place == QuotaTree::kRoot) return group.max;
  const auto runtime = tree_->Runtime(group.place);
  ShowRuntimes();
  return runtime;
}

void GroupLedger::ShowRuntimes() {
  tree_->TakeChanged([this](QuotaTree::Id place, std::size_t resource, std::int64_t runtime) {
    GroupSeries::Values* const values = groups_[group_of_place_[place]].series[resource];
    if (values == nullptr) return;
    values->runtime.store(GroupSeries::InBaseUnits(resources_[resource], runtime), std::memory_order_relaxed);
  });
}

// --- pods ---

bool GroupLedger::IsUsed(const std::string& uid) const {
  const auto known = pods_.find(uid);
  return known != pods_.end() && known->second.on_node;
}

void GroupLedger::Count(const Counted& counted, Part part, std::int64_t sign) {
  Group& own = groups_[counted.group];
  const bool outside = own.place == QuotaTree::kRoot;
  for (std::size_t at = 0; at < resources_.size(); ++at) {
    const std::int64_t amount = sign * counted.request[at];
    if (amount == 0) continue;
    if (part == Part::kRequest) {
      if (!outside) tree_->AddRequest(own.place, at, amount);
      continue;
    }
    if (!IsPreemptible(*counted.pod)) own.non_preemptible_used[at] += amount;
    for (const GroupId id : PathOf(counted.group)) {
      Group& group = groups_[id];
      group.used[at] += amount;
      if (group.series[at] != nullptr)
        group.series[at]->used.store(GroupSeries::InBaseUnits(resources_[at], group.used[at]),
                                     std::memory_order_relaxed);
    }
    if (!outside) continue;
    outside_[at] += amount;
    total_stale_ = true;
  }
}

void GroupLedger::OnPodAdded(cluster::Row, const cluster::PlacedPod& placed) {
  const auto [entry, added] = pods_.try_emplace(placed.pod->metadata.uid);
  Counted& counted = entry->second;
  if (std::exchange(counted.on_node, true)) return;
  if (added) {
    counted.pod = placed.pod;
    counted.requests = RequestsOf(*placed.pod);
  }
  if (stale_) return;
  if (added) {
    counted.group = Find(*counted.pod);
    counted.request = Request(counted.requests, counted.group);
    Count(counted, Part::kRequest, 1);
  }
  Count(counted, Part::kUse, 1);
}

void GroupLedger::OnPodRemoved(cluster::Row, const cluster::PlacedPod& placed) {
  const auto entry = pods_.find(placed.pod->metadata.uid);
  if (entry == pods_.end() || !std::exchange(entry->second.on_node, false)) return;
  const Counted& counted = entry->second;
  if (!stale_) {
    Count(counted, Part::kUse, -1);
    if (!counted.pending) Count(counted, Part::kRequest, -1);
  }
  if (!counted.pending) pods_.erase(entry);
}

void GroupLedger::OnPendingPod(const api::PodPtr& pod) {
  if (AddPending(pod)) retry_.PostAfter(kRetryDelay);
}

void GroupLedger::OnPendingPodGone(const std::string& uid) {
  if (RemovePending(uid)) retry_.PostAfter(kRetryDelay);
}

// Returns whether the pod requested something else before. A pod with a node keeps its amounts.
bool GroupLedger::AddPending(const api::PodPtr& pod) {
  const auto [entry, added] = pods_.try_emplace(pod->metadata.uid);
  Counted& counted = entry->second;
  counted.pending = true;
  if (counted.on_node) return false;
  counted.pod = pod;
  counted.requests = RequestsOf(*pod);
  if (stale_) return false;
  const GroupId group = Find(*pod);
  Amounts request = Request(counted.requests, group);
  if (!added && counted.group == group && counted.request == request) return false;
  if (!added) Count(counted, Part::kRequest, -1);
  counted.group = group;
  counted.request = std::move(request);
  Count(counted, Part::kRequest, 1);
  return !added;
}

// Returns whether the pod is no longer counted.
bool GroupLedger::RemovePending(const std::string& uid) {
  const auto entry = pods_.find(uid);
  if (entry == pods_.end() || !std::exchange(entry->second.pending, false) || entry->second.on_node)
    return false;
  if (!stale_) Count(entry->second, Part::kRequest, -1);
  pods_.erase(entry);
  return true;
}

GroupLedger::Supposed::Supposed(GroupLedger& ledger, const api::PodPtr& pod)
    : ledger_(ledger), uid_(ledger.pods_.contains(pod->metadata.uid) ? "" : pod->metadata.uid) {
  if (!uid_.empty()) ledger_.AddPending(pod);
}

GroupLedger::Supposed::~Supposed() {
  if (!uid_.empty()) ledger_.RemovePending(uid_);
}

}  // namespace berth::plugins
