#include "scheduler/plugins/capacity_scheduling/group_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scheduler/framework/plugin_state_change.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_amounts.hpp"

namespace berth::plugins {

using framework::Attempt;
using framework::PreFilterResult;
using framework::Status;

namespace {

constexpr std::size_t kMostGroupSentences = 10;

}  // namespace

GroupRules::GroupRules(framework::Handle& handle)
    : shared_ledger_(GroupLedger::Of(handle)), ledger_(*shared_ledger_), trial_(handle.NewKey<GroupTrial>()) {
  handle.requested_resources.emplace_back(kResource);
  for (const std::string_view annotation : {kSharedWeight, kNamespaces})
    handle.annotations.emplace_back(annotation);
}

PreFilterResult GroupRules::Admit(const Attempt& attempt) const {
  const api::PodPtr& pod = attempt.pod().pod;
  const GroupLedger::Group& group = ledger_.group(ledger_.GroupOf(*pod));
  if (!group.problem.empty()) {
    return {Status::Unresolvable(
                fmt::format("ElasticQuota {}/{}: {}", group.quota.ns, group.quota.name, group.problem)),
            {}};
  }
  if (group.quota.is_parent) {
    return {Status::Unresolvable(fmt::format("ElasticQuota {}/{}: pods cannot belong to a parent",
                                             group.quota.ns, group.quota.name)),
            {}};
  }
  // Nothing limits such a pod, and it evicts none.
  if (group.place == QuotaTree::kRoot && group.limited.empty()) return {Status::Skip(), {}};
  const GroupTrial& trial = attempt.state().Write(trial_, TrialFor(pod));
  return {Check(*pod, trial), {}};
}

// A pod that does not exist, as in an explanation of a file, requests its amounts like one that waits.
GroupTrial GroupRules::TrialFor(const api::PodPtr& pod) const {
  const GroupLedger::GroupId id = ledger_.GroupOf(*pod);
  const GroupLedger::Supposed supposed(ledger_, pod);
  GroupTrial trial;
  trial.request = ledger_.RequestOf(*pod);
  trial.non_preemptible_used = ledger_.group(id).non_preemptible_used;
  for (const GroupLedger::GroupId level : ledger_.PathOf(id))
    trial.levels.push_back({.id = level, .used = ledger_.group(level).used, .limit = {}});
  for (GroupTrial::Level& level : trial.levels) {
    const auto limit = ledger_.LimitOf(level.id);
    level.limit.assign(limit.begin(), limit.end());
  }
  return trial;
}

bool GroupRules::Admits(const api::Pod& pod, const GroupTrial& trial) const {
  for (std::size_t i = 0; i < trial.levels.size(); ++i) {
    if (!ExceededOn(i, trial).empty()) return false;
  }
  return ExceededMin(pod, trial).empty();
}

// The texts are Koordinator's.
Status GroupRules::Check(const api::Pod& pod, const GroupTrial& trial) const {
  const GroupLedger::Group& own = ledger_.group(trial.levels.front().id);
  for (std::size_t i = 0; i < trial.levels.size(); ++i) {
    const GroupTrial::Level& level = trial.levels[i];
    if (const auto exceeded = ExceededOn(i, trial); !exceeded.empty()) {
      const GroupLedger::Group& group = ledger_.group(level.id);
      const std::string where =
          i == 0 ? "quotaName: " + group.quota.name : fmt::format("quotaNameTopo: [{}]", PathText(trial, i));
      return Status::Unschedulable(fmt::format(
          "Insufficient quotas, {}, runtime: {}, used: {}, pod's request: {}, exceedDimensions: [{}]", where,
          ListOf(group, level.limit), ListOf(group, level.used), ListOf(own, trial.request),
          NamesOf(exceeded)));
    }
    if (i > 0) continue;
    if (const auto exceeded = ExceededMin(pod, trial); !exceeded.empty()) {
      return Status::Unschedulable(fmt::format(
          "Insufficient non-preemptible quotas, quotaName: {}, min: {}, nonPreemptibleUsed: {}, pod's "
          "request: {}, exceedDimensions: [{}]",
          own.quota.name, ListOf(own, own.min), ListOf(own, trial.non_preemptible_used),
          ListOf(own, trial.request), NamesOf(exceeded)));
    }
  }
  return {};
}

// Of the groups above, only the resources that the pod requests count.
std::vector<std::uint32_t> GroupRules::ExceededOn(std::size_t level, const GroupTrial& trial) const {
  const GroupTrial::Level& at_level = trial.levels[level];
  std::vector<std::uint32_t> exceeded;
  for (const std::uint32_t at : ledger_.group(at_level.id).limited) {
    if (level > 0 && trial.request[at] == 0) continue;
    if (at_level.used[at] > at_level.limit[at] - trial.request[at]) exceeded.push_back(at);
  }
  return exceeded;
}

// Resources that the minimum does not list are not limited.
std::vector<std::uint32_t> GroupRules::ExceededMin(const api::Pod& pod, const GroupTrial& trial) const {
  std::vector<std::uint32_t> exceeded;
  if (IsPreemptible(pod)) return exceeded;
  const GroupLedger::Group& group = ledger_.group(trial.levels.front().id);
  for (const std::uint32_t at : group.limited) {
    if (group.quota.min.contains(ledger_.resources()[at]) &&
        trial.non_preemptible_used[at] > group.min[at] - trial.request[at])
      exceeded.push_back(at);
  }
  return exceeded;
}

// --- dry runs ---

void GroupRules::Add(const Attempt& attempt, const api::Pod& pod) const { Toggle(attempt, pod, true); }

void GroupRules::Remove(const Attempt& attempt, const api::Pod& pod) const { Toggle(attempt, pod, false); }

void GroupRules::Toggle(const Attempt& attempt, const api::Pod& pod, bool add) const {
  GroupTrial* const trial = attempt.state().Read(trial_);
  if (trial == nullptr) return;
  const std::string& uid = pod.metadata.uid;
  const bool toggled = trial->toggled.contains(uid);
  if ((ledger_.IsUsed(uid) != toggled) == add) return;
  toggled ? (void)trial->toggled.erase(uid) : (void)trial->toggled.insert(uid);
  const GroupLedger::Amounts request = ledger_.RequestOf(pod);
  const GroupLedger::GroupId id = ledger_.GroupOf(pod);
  const std::int64_t sign = add ? 1 : -1;
  for (const GroupLedger::GroupId other : ledger_.PathOf(id)) {
    const auto level = std::ranges::find(trial->levels, other, &GroupTrial::Level::id);
    if (level == trial->levels.end()) continue;
    for (std::size_t at = 0; at < request.size(); ++at) level->used[at] += sign * request[at];
  }
  if (id != trial->levels.front().id || IsPreemptible(pod)) return;
  for (std::size_t at = 0; at < request.size(); ++at) trial->non_preemptible_used[at] += sign * request[at];
}

bool GroupRules::MayEvict(Claim, const Attempt& attempt, const api::Pod& other) const {
  if (other.spec.priority >= attempt.pod().priority() || !IsPreemptible(other)) return false;
  const GroupLedger::GroupId id = ledger_.GroupOf(other);
  // Pods of the default group may belong to different tenants, whose priorities are not comparable.
  return ledger_.group(id).quota.name != kDefaultGroup && id == ledger_.GroupOf(*attempt.pod().pod);
}

// As in Koordinator, a pod that cannot be evicted makes room, too.
bool GroupRules::MakesRoom(Claim, const Attempt& attempt, const api::Pod& other) const {
  return other.spec.priority < attempt.pod().priority() &&
         ledger_.GroupOf(other) == ledger_.GroupOf(*attempt.pod().pod);
}

bool GroupRules::Exceeds(const Attempt& attempt) const {
  const GroupTrial* const trial = attempt.state().Read(trial_);
  return trial != nullptr && !Admits(*attempt.pod().pod, *trial);
}

// --- events and explanations ---

// Whatever has changed: the pod may be admitted now.
std::vector<framework::EventRegistration> GroupRules::Events() const {
  const auto admitted = [this](const cluster::PodInfo& waiting) {
    const GroupLedger::Group& group = ledger_.group(ledger_.GroupOf(*waiting.pod));
    if (!group.problem.empty() || group.quota.is_parent) return framework::Hint::kSkip;
    return framework::QueueIf(Admits(*waiting.pod, TrialFor(waiting.pod)));
  };
  const auto pod = [admitted](const cluster::PodInfo& waiting, const api::Pod*, const api::Pod*) {
    return admitted(waiting);
  };
  const auto node = [admitted](const cluster::PodInfo& waiting, const api::Node*, const api::Node*) {
    return admitted(waiting);
  };
  const auto quota = [admitted](const cluster::PodInfo& waiting, const api::ElasticQuota*,
                                const api::ElasticQuota*) { return admitted(waiting); };
  const auto requests = [admitted, state = ledger_.state()](const cluster::PodInfo& waiting,
                                                            const framework::PluginStateChange*,
                                                            const framework::PluginStateChange* after) {
    return after == nullptr || after->plugin == state ? admitted(waiting) : framework::Hint::kSkip;
  };
  using framework::EventResource;
  return {framework::WhenAssignedPod(framework::kDelete, pod),
          framework::WhenTargetPod(framework::kUpdatePodLabel, pod),
          framework::WhenNode(framework::kAdd | framework::kUpdateNodeAllocatable, node),
          framework::When<api::ElasticQuota>(EventResource::kElasticQuota, framework::kAllActions, quota),
          framework::When<framework::PluginStateChange>(EventResource::kPluginState, framework::kUpdate,
                                                        requests)};
}

std::vector<std::string> GroupRules::Explain(const Attempt& attempt) const {
  const GroupTrial* const trial = attempt.state().Read(trial_);
  if (trial == nullptr) return {};
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (sentences.size() < kMostGroupSentences) sentences.push_back(std::move(sentence));
  };
  const auto text = [&](std::uint32_t at, std::int64_t amount) {
    return AmountText(ledger_.resources()[at], amount);
  };
  const GroupLedger::Group& own = ledger_.group(trial->levels.front().id);
  for (std::size_t i = 0; i < trial->levels.size(); ++i) {
    const GroupTrial::Level& level = trial->levels[i];
    const GroupLedger::Group& group = ledger_.group(level.id);
    const std::string name =
        i == 0 ? group.quota.name : fmt::format("{} (above {})", group.quota.name, own.quota.name);
    for (const std::uint32_t at : ExceededOn(i, *trial)) {
      add(fmt::format(
          "quota {} has used {} of {} {} (runtime quota; minimum {}, maximum {}); the pod requests {}", name,
          text(at, level.used[at]), text(at, level.limit[at]), ledger_.resources()[at],
          text(at, group.min[at]), text(at, group.max[at]), text(at, trial->request[at])));
    }
  }
  for (const std::uint32_t at : ExceededMin(*attempt.pod().pod, *trial)) {
    add(
        fmt::format("quota {} has used {} of {} {} for pods that are not preemptible (its minimum); the pod "
                    "requests {}",
                    own.quota.name, text(at, trial->non_preemptible_used[at]), text(at, own.min[at]),
                    ledger_.resources()[at], text(at, trial->request[at])));
  }
  return sentences;
}

// "cpu:4,memory:8Gi", of the resources that the group limits.
std::string GroupRules::ListOf(const GroupLedger::Group& group, const GroupLedger::Amounts& amounts) const {
  std::string text;
  for (const std::uint32_t at : group.limited) {
    if (!text.empty()) text += ',';
    const std::string& resource = ledger_.resources()[at];
    text += fmt::format("{}:{}", resource, AmountText(resource, amounts[at]));
  }
  return text.empty() ? "<empty>" : text;
}

std::string GroupRules::NamesOf(const std::vector<std::uint32_t>& resources) const {
  std::vector<std::string_view> names;
  for (const std::uint32_t at : resources) names.emplace_back(ledger_.resources()[at]);
  return fmt::format("{}", fmt::join(names, " "));
}

// The names from the group of this level down to the pod's group.
std::string GroupRules::PathText(const GroupTrial& trial, std::size_t level) const {
  std::vector<std::string_view> names;
  for (std::size_t i = level + 1; i-- > 0;) names.emplace_back(ledger_.group(trial.levels[i].id).quota.name);
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace berth::plugins
