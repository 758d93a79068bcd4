// Required terms of the incoming pod and of pods on nodes: the nodes that violate them.
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::plugins {

using cluster::AffinityTermPtr;
using cluster::Row;
using cluster::TermRole;
using framework::Attempt;
using framework::Status;

namespace {

constexpr const char* kNoPreFilterState =
    "error reading \"PreFilterInterPodAffinity\" from cycleState: not found";

}  // namespace

framework::PluginOrError InterPodAffinity::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const InterPodAffinityArgs args, ParseInterPodAffinityArgs(raw));
  return std::make_unique<InterPodAffinity>(args, handle);
}

InterPodAffinity::InterPodAffinity(const InterPodAffinityArgs& args, framework::Handle& handle)
    : args_(args),
      symbols_(handle.symbols),
      counters_(handle.counters),
      affinity_(handle.reasons.Intern("node(s) didn't match pod affinity rules")),
      anti_affinity_(handle.reasons.Intern("node(s) didn't match pod anti-affinity rules")),
      existing_anti_affinity_(
          handle.reasons.Intern("node(s) didn't satisfy existing pods anti-affinity rules")),
      filter_key_(handle.NewKey<DryRunChanges>()),
      score_key_(handle.NewKey<bool>()),
      sums_(handle.NewBuffer<AttemptSums>()) {}

DomainCounts& InterPodAffinity::Sums::Of(cluster::LabelKeyId key, const cluster::NodeTable& nodes) {
  for (std::size_t i = 0; i < used_; ++i) {
    if (sums_[i].key == key) return sums_[i];
  }
  if (used_ == sums_.size()) sums_.emplace_back();
  sums_[used_].Reset(key, nodes);
  return sums_[used_++];
}

const DomainCounts* InterPodAffinity::Sums::Find(cluster::LabelKeyId key) const {
  const auto found = std::ranges::find(all(), key, &DomainCounts::key);
  return found == all().end() ? nullptr : &*found;
}

bool InterPodAffinity::Sums::Empty() const {
  return std::ranges::all_of(all(), [](const DomainCounts& counts) { return counts.touched.empty(); });
}

framework::PreFilterResult InterPodAffinity::PreFilter(const Attempt& attempt) const {
  const cluster::PodAffinityTerms& terms =
      attempt.pod().use().affinity != nullptr ? *attempt.pod().use().affinity : no_terms_;
  if (!terms.error.empty()) return {Status::Unresolvable("parsing pod: " + terms.error), std::nullopt};
  AttemptSums& sums = attempt.Buffer(sums_);
  SumExisting(attempt, sums);
  if (sums.existing.Empty() && terms.required.empty() && terms.required_anti.empty())
    return {Status::Skip(), std::nullopt};
  SumIncoming(attempt, terms, sums);
  attempt.state().Write(filter_key_, DryRunChanges{});
  return {};
}

void InterPodAffinity::SumExisting(const Attempt& attempt, AttemptSums& sums) const {
  sums.existing.Reset();
  counters_.ForEachCarried(
      TermRole::kRequiredAnti, *attempt.pod().use().labels, [&](const cluster::CarriedTerm& carried) {
        sums.existing.Of(carried.term->topology_key, attempt.nodes()).AddAll(carried.rows);
      });
}

void InterPodAffinity::SumIncoming(const Attempt& attempt, const cluster::PodAffinityTerms& terms,
                                   AttemptSums& sums) const {
  sums.matching.Reset();
  sums.against.Reset();
  if (terms.all_required != nullptr) {
    const cluster::RowCounts& matching = counters_.Matching(terms.all_required);
    for (const AffinityTermPtr& term : terms.required)
      sums.matching.Of(term->topology_key, attempt.nodes()).AddAll(matching);
  }
  for (const AffinityTermPtr& term : terms.required_anti)
    sums.against.Of(term->topology_key, attempt.nodes()).AddAll(counters_.Matching(term->query));
}

Status InterPodAffinity::AddPod(const Attempt& attempt, const cluster::PlacedPod& added, Row row) const {
  return RecordChange(attempt, added.use(), row, 1);
}
Status InterPodAffinity::RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, Row row) const {
  return RecordChange(attempt, removed.use(), row, -1);
}

Status InterPodAffinity::RecordChange(const Attempt& attempt, const cluster::PodUse& use, Row row,
                                      std::int64_t amount) const {
  DryRunChanges* changes = attempt.state().Read(filter_key_);
  if (changes == nullptr) return Status::Error(kNoPreFilterState);
  const auto note = [&](Sum sum, cluster::LabelKeyId key) {
    const std::uint32_t domain = attempt.nodes().TopologyOf(key).domain[row];
    if (domain != cluster::Topology::kNoDomain) changes->push_back({sum, key, domain, amount});
  };
  if (use.affinity != nullptr) {
    for (const AffinityTermPtr& term : use.affinity->required_anti) {
      if (!counters_.SelectsIncoming(term->clause(), *attempt.pod().use().labels)) continue;
      attempt.Buffer(sums_).existing.Of(term->topology_key,
                                        attempt.nodes());  // so that Filter evaluates this key
      note(Sum::kExisting, term->topology_key);
    }
  }
  if (attempt.pod().use().affinity == nullptr) return {};
  const cluster::PodAffinityTerms& terms = *attempt.pod().use().affinity;
  if (terms.all_required != nullptr && counters_.Selects(*terms.all_required, *use.labels)) {
    for (const AffinityTermPtr& term : terms.required) note(Sum::kAffinity, term->topology_key);
  }
  for (const AffinityTermPtr& term : terms.required_anti) {
    if (counters_.Selects(term->clause(), *use.labels)) note(Sum::kAnti, term->topology_key);
  }
  return {};
}

std::int64_t InterPodAffinity::CountIn(Sum sum, const DomainCounts& counts, std::uint32_t domain,
                                       const DryRunChanges& changes) const {
  std::int64_t count = counts.by_domain[domain];
  for (const DryRunChange& part : changes) {
    if (part.sum == sum && part.key == counts.key && part.domain == domain) count += part.amount;
  }
  return count;
}

// Whether no pod matches the incoming pod's required terms.
bool InterPodAffinity::NoMatchingPod(const Sums& matching, const DryRunChanges& changes) const {
  for (const DomainCounts& counts : matching.all()) {
    for (const std::uint32_t domain : counts.touched) {
      if (CountIn(Sum::kAffinity, counts, domain, changes) != 0) return false;
    }
    for (const DryRunChange& part : changes) {
      if (part.sum == Sum::kAffinity && part.key == counts.key &&
          CountIn(Sum::kAffinity, counts, part.domain, changes) != 0)
        return false;
    }
  }
  return true;
}

bool InterPodAffinity::MatchesItself(const cluster::PodInfo& pod) const {
  return counters_.Selects(*pod.use().affinity->all_required, *pod.use().labels);
}

void InterPodAffinity::Filter(const Attempt& attempt, const RowSet& candidates,
                              framework::Rejections& out) const {
  const DryRunChanges* changes = attempt.state().Read(filter_key_);
  if (changes == nullptr) return out.Fail(candidates, kNoPreFilterState);
  const AttemptSums& sums = attempt.Buffer(sums_);
  auto alive = attempt.Scratch();
  *alive |= candidates;
  if (attempt.pod().use().affinity != nullptr && attempt.pod().use().affinity->all_required != nullptr)
    RejectForAffinity(attempt, *changes, *alive, out);
  RejectDomainsWithPods(attempt, Sum::kAnti, sums.against, anti_affinity_, *changes, *alive, out);
  RejectDomainsWithPods(attempt, Sum::kExisting, sums.existing, existing_anti_affinity_, *changes, *alive,
                        out);
}

void InterPodAffinity::RejectForAffinity(const Attempt& attempt, const DryRunChanges& changes, RowSet& alive,
                                         framework::Rejections& out) const {
  const Sums& matching = attempt.Buffer(sums_).matching;
  // The first pod of a group with affinity to itself may go to any node with the labels.
  const bool first = NoMatchingPod(matching, changes) && MatchesItself(attempt.pod());
  auto good = attempt.Scratch();
  *good |= alive;
  for (const DomainCounts& counts : matching.all()) {
    const RowSet* with_key = attempt.nodes().WithKey(counts.key);
    if (with_key == nullptr) {
      good->Clear();
    } else {
      *good &= *with_key;
    }
    if (first || good->Empty()) continue;
    const auto holds = [&](std::uint32_t domain) {
      return CountIn(Sum::kAffinity, counts, domain, changes) > 0;
    };
    auto where = attempt.Scratch();
    if (changes.empty()) {
      AddRowsOf(*counts.topology, attempt.nodes(), *good, counts.touched, holds, *where);
    } else {
      good->ForEach([&](std::size_t row) {
        if (holds(counts.topology->domain[row])) where->Add(row);
      });
    }
    *good &= *where;
  }
  RowSet& rejected = out.Reject(affinity_, attempt.nodes().rows());
  rejected |= alive;
  rejected -= *good;
  out.unresolvable() |= rejected;
  alive = *good;
}

void InterPodAffinity::RejectDomainsWithPods(const Attempt& attempt, Sum sum, const Sums& sums,
                                             framework::ReasonId reason, const DryRunChanges& changes,
                                             RowSet& alive, framework::Rejections& out) const {
  if (sums.all().empty()) return;
  RowSet& rejected = out.Reject(reason, attempt.nodes().rows());
  for (const DomainCounts& counts : sums.all()) {
    const auto occupied = [&](std::uint32_t domain) { return CountIn(sum, counts, domain, changes) > 0; };
    if (changes.empty()) {
      AddRowsOf(*counts.topology, attempt.nodes(), alive, counts.touched, occupied, rejected);
    } else {
      alive.ForEach([&](std::size_t row) {
        const std::uint32_t domain = counts.topology->domain[row];
        if (domain != cluster::Topology::kNoDomain && occupied(domain)) rejected.Add(row);
      });
    }
  }
  alive -= rejected;
}

}  // namespace berth::plugins
