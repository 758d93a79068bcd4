#include "scheduler/cluster/pod_counters.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/check.hpp"

namespace berth::cluster {
namespace {

// Below this number of counters, idle ones are not dropped.
constexpr std::size_t kCountersMin = 1024;

// Whether the clause selects a pod. `labels_of_namespace()` returns the labels of the pod's namespace, or
// null if the namespace cannot be selected by labels. The namespace is tested first where that needs no
// labels: tests of labels are the expensive part of counting.
template <class LabelsOfNamespace>
bool SelectsPod(const PodClause& clause, const PodLabels& pod, LabelsOfNamespace&& labels_of_namespace) {
  const bool named =
      clause.namespace_selector.everything() || std::ranges::binary_search(clause.namespaces, pod.ns);
  if (!named && clause.namespace_selector.nothing) return false;
  if (!clause.labels.Matches(pod.labels)) return false;
  if (named) return true;
  const api::Labels* const labels = labels_of_namespace();
  return labels != nullptr && clause.namespace_selector.Matches(*labels);
}

// The memory of a group's list of counters.
template <class Group>
std::size_t ListBytes(const Group& group) {
  return group.counters.capacity() * sizeof(group.counters.front());
}

}  // namespace

PodCounters::PodCounters(NodeTable& nodes, ClusterObjects& objects, std::size_t bytes_max)
    : nodes_(nodes), objects_(objects), bytes_max_(bytes_max) {
  nodes.ObserveWithWithdrawals(*this);
  objects.Of<api::Namespace>().Listen([this](const ports::Change<api::Namespace>& change) {
    if (change.before == nullptr || change.after == nullptr ||
        change.before->metadata.labels != change.after->metadata.labels)
      NamespaceChanged();
  });
}

PodCounters::~PodCounters() { nodes_.Forget(*this); }

const RowCounts& PodCounters::Matching(const PodQueryPtr& query) {
  if (const auto found = counters_.find(query.get()); found != counters_.end()) {
    found->second->last_used = ++uses_;
    return found->second->rows;
  }
  if (counters_.size() >= drop_at_) DropIdle();
  const auto add_rows = [](RowCounts& to, const Group& group) {
    group.rows.ForEach([&](std::uint32_t row, RowCounts::Count pods) { to.Add(row, pods); });
  };
  if (bytes_ >= bytes_max_) {
    uncounted_ = {};
    ForEachSelected(*query, [&](Group& group) { add_rows(uncounted_, group); });
    return uncounted_;
  }
  auto counter = std::make_unique<Counter>(Counter{query, {}, ++uses_});
  ForEachSelected(*query, [&](Group& group) {
    List(group, *counter);
    add_rows(counter->rows, group);
  });
  bytes_ += counter->rows.bytes();
  counter_index_.Add(query->all_of.front().labels, counter.get());
  return counters_.emplace(query.get(), std::move(counter)).first->second->rows;
}

// New queries arrive with every rollout of an application. If the query requires a label, only pods with that
// label are evaluated.
template <class Visit>
void PodCounters::ForEachSelected(const PodQuery& query, Visit&& visit) {
  const auto count = [&](Group& group) {
    if (Selects(query, *group.labels)) visit(group);
  };
  const api::ParsedSelector& selector = query.all_of.front().labels;
  if (selector.nothing) return;
  if (const api::Requirement* anchor = RequiredLabelOf(selector)) {
    const auto found = groups_with_.find(HashOfLabel(anchor->key, anchor->values.front()));
    if (found == groups_with_.end()) return;
    for (const Member& member : found->second) count(*member.group);
  } else {
    for (auto& [labels, group] : groups_) count(group);
  }
}

void PodCounters::Join(Group& group) {
  const std::vector<std::size_t>& hashes = group.labels->hashes;
  for (std::uint32_t label = 0; label < hashes.size(); ++label) {
    std::vector<Member>& members = groups_with_[hashes[label]];
    group.member_of.push_back(static_cast<std::uint32_t>(members.size()));
    members.push_back({&group, label});
  }
}

void PodCounters::Leave(Group& group) {
  const std::vector<std::size_t>& hashes = group.labels->hashes;
  for (std::uint32_t label = 0; label < hashes.size(); ++label) {
    const auto found = groups_with_.find(hashes[label]);
    BERTH_CHECK(found != groups_with_.end(), label, hashes.size());
    std::vector<Member>& members = found->second;
    BERTH_CHECK(group.member_of[label] < members.size() && members[group.member_of[label]].group == &group,
                label, group.member_of[label], members.size());
    const Member last = members.back();
    members[group.member_of[label]] = last;
    last.group->member_of[last.label] = group.member_of[label];
    members.pop_back();
    if (members.empty()) groups_with_.erase(found);
  }
}

void PodCounters::List(Group& group, Counter& counter) {
  bytes_ -= ListBytes(group);
  group.counters.push_back(&counter);
  bytes_ += ListBytes(group);
}

// There may be many groups and counters, so their lists are read once for all that are dropped.
void PodCounters::Drop(const std::vector<const Counter*>& counters) {
  if (counters.empty()) return;
  const boost::unordered_flat_set<const Counter*> dropped(counters.begin(), counters.end());
  const auto is_dropped = [&](const Counter* counter) { return dropped.contains(counter); };
  for (auto& [labels, group] : groups_) {
    bytes_ -= ListBytes(group);
    std::erase_if(group.counters, is_dropped);
    if (group.counters.size() <= group.counters.capacity() / 2) group.counters.shrink_to_fit();
    bytes_ += ListBytes(group);
  }
  counter_index_.RemoveIf(is_dropped);
  for (const Counter* counter : counters) {
    const auto found = counters_.find(counter->query.get());
    BERTH_CHECK(found != counters_.end(), counters_.size());
    bytes_ -= counter->rows.bytes();
    counters_.erase(found);
  }
}

void PodCounters::DropHalf(std::vector<const Counter*> counters) {
  std::ranges::sort(counters, {}, &Counter::last_used);
  counters.resize((counters.size() + 1) / 2);
  Drop(counters);
}

// Drops half of the counters whose query no waiting pod holds.
void PodCounters::DropIdle() {
  std::vector<const Counter*> idle;
  for (const auto& [query, counter] : counters_) {
    if (counter->query.use_count() == 1) idle.push_back(counter.get());
  }
  DropHalf(std::move(idle));
  // If most counters are in use, the next scan is worthwhile only when their number has doubled.
  drop_at_ = std::max(kCountersMin, 2 * counters_.size());
}

// The distance to the limit for new counters, and halves, keep drops rare: each reads the lists of all
// groups.
void PodCounters::DropBeyondLimit() {
  if (bytes_ <= bytes_max_ + bytes_max_ / 4) return;
  while (bytes_ > bytes_max_ && !counters_.empty()) {
    std::vector<const Counter*> all;
    for (const auto& [query, counter] : counters_) all.push_back(counter.get());
    DropHalf(std::move(all));
  }
}

// Drops counters that depend on namespace labels; they are counted again on next use.
void PodCounters::NamespaceChanged() {
  std::vector<const Counter*> stale;
  for (const auto& [query, counter] : counters_) {
    if (std::ranges::any_of(query->all_of, [](const PodClause& clause) {
          return !clause.namespace_selector.nothing && !clause.namespace_selector.everything();
        }))
      stale.push_back(counter.get());
  }
  Drop(stale);
}

bool PodCounters::Selects(const PodClause& clause, const PodLabels& placed) const {
  return SelectsPod(clause, placed, [&] {
    const auto ns = objects_.Of<api::Namespace>().Find(placed.ns);
    return ns == nullptr ? nullptr : &ns->metadata.labels;
  });
}

bool PodCounters::Selects(const PodQuery& query, const PodLabels& placed) const {
  if (query.skip_terminating && placed.terminating) return false;
  return std::ranges::all_of(query.all_of, [&](const PodClause& clause) { return Selects(clause, placed); });
}

bool PodCounters::SelectsIncoming(const PodClause& clause, const PodLabels& incoming) const {
  static const api::Labels kNone;
  return SelectsPod(clause, incoming, [&] {
    const auto ns = objects_.Of<api::Namespace>().Find(incoming.ns);
    return ns == nullptr ? &kNone : &ns->metadata.labels;
  });
}

void PodCounters::OnPodAdded(Row row, const PlacedPod& pod) { Count(row, pod, 1); }
void PodCounters::OnPodRemoved(Row row, const PlacedPod& pod) { Count(row, pod, -1); }

void PodCounters::Count(Row row, const PlacedPod& pod, int amount) {
  const auto [entry, added] = groups_.try_emplace(pod.use().labels);
  Group& group = entry->second;
  if (added) {
    group.labels = pod.use().labels.get();
    Join(group);
    counter_index_.ForEachCandidate(*pod.use().labels, [&](Counter* counter) {
      if (Selects(*counter->query, *pod.use().labels)) List(group, *counter);
    });
  }
  group.rows.Add(row, amount);
  BERTH_DCHECK(group.rows.At(row) >= 0, row, amount, group.rows.At(row));
  for (Counter* counter : group.counters) {
    bytes_ -= counter->rows.bytes();
    counter->rows.Add(row, amount);
    bytes_ += counter->rows.bytes();
  }
  if (group.rows.empty()) {
    Leave(group);
    bytes_ -= ListBytes(group);
    groups_.erase(entry);
  }
  DropBeyondLimit();
  if (pod.use().affinity == nullptr) return;
  const PodAffinityTerms& terms = *pod.use().affinity;
  for (const AffinityTermPtr& term : terms.required) CountCarried(row, term, TermRole::kRequired, 0, amount);
  for (const AffinityTermPtr& term : terms.required_anti)
    CountCarried(row, term, TermRole::kRequiredAnti, 0, amount);
  for (const auto& [term, weight] : terms.preferred)
    CountCarried(row, term, TermRole::kPreferred, weight, amount);
}

void PodCounters::CountCarried(Row row, const AffinityTermPtr& term, TermRole role, std::int64_t weight,
                               int amount) {
  std::unique_ptr<CarriedTerm>& carried = carried_[{term.get(), role, weight}];
  auto& index = carried_index_[static_cast<std::size_t>(role)];
  if (carried == nullptr) {
    carried = std::make_unique<CarriedTerm>(CarriedTerm{term, role, weight, {}});
    index.Add(term->clause().labels, carried.get());
  }
  carried->rows.Add(row, amount);
  BERTH_DCHECK(carried->rows.At(row) >= 0, row, amount, carried->rows.At(row));
  if (!carried->rows.empty()) return;
  index.Remove(term->clause().labels, carried.get());
  carried_.erase(CarriedKey{term.get(), role, weight});
}

}  // namespace berth::cluster
