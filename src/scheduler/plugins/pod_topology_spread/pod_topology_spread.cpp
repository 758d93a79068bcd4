// Hard constraints: nodes that would exceed maxSkew.
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "scheduler/plugins/node_affinity/matching_rows.hpp"
#include "scheduler/plugins/taint_toleration/taint_toleration.hpp"

namespace berth::plugins {

using cluster::Row;
using cluster::SpreadConstraint;
using framework::Attempt;
using framework::Status;

namespace {

constexpr const char* kNoFilterState = "reading \"PreFilterPodTopologySpread\" from cycleState: not found";

}  // namespace

framework::PluginOrError PodTopologySpread::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const PodTopologySpreadArgs args, ParsePodTopologySpreadArgs(raw));
  return std::make_unique<PodTopologySpread>(args, handle);
}

PodTopologySpread::PodTopologySpread(const PodTopologySpreadArgs& args, framework::Handle& handle)
    : symbols_(handle.symbols),
      counters_(handle.counters),
      system_defaults_(args.system_defaults),
      match_label_keys_(handle.gates.Enabled("MatchLabelKeysInPodTopologySpread")),
      hostname_(handle.symbols.InternKey("kubernetes.io/hostname")),
      mismatch_(handle.reasons.Intern("node(s) didn't match pod topology spread constraints")),
      missing_key_(handle.reasons.Intern(
          "node(s) didn't match pod topology spread constraints (missing required label)")),
      filter_key_(handle.NewKey<DryRunChanges>()),
      score_key_(handle.NewKey<bool>()),
      hard_(handle.NewBuffer<HardStates>()),
      soft_(handle.NewBuffer<SoftStates>()),
      defaults_(std::make_unique<DefaultSpread>(args.default_constraints, handle.symbols, handle.objects)) {}

cluster::SpreadPtr PodTopologySpread::ConstraintsOf(const cluster::PodInfo& pod) const {
  if (pod.spread() == nullptr) return defaults_->For(pod);
  if (match_label_keys_) return pod.spread();
  // The PodInfo was compiled with the feature.
  return cluster::SpreadOf(*pod.pod, false, symbols_);
}

Expected<cluster::SpreadPtr> PodTopologySpread::HardOf(const cluster::PodInfo& pod) const {
  cluster::SpreadPtr constraints = ConstraintsOf(pod);
  if (!constraints->hard_error.empty()) {
    return Invalid(
        fmt::format("obtaining pod's hard topology spread constraints: {}", constraints->hard_error));
  }
  return constraints;
}

framework::PreFilterResult PodTopologySpread::PreFilter(const Attempt& attempt) const {
  auto constraints = HardOf(attempt.pod());
  if (!constraints) {
    return {Status::Error(fmt::format("get constraints from pod: {}", constraints.error().message)),
            std::nullopt};
  }
  const std::vector<SpreadConstraint>& hard = (*constraints)->hard;
  if (hard.empty()) return {Status::Skip(), std::nullopt};

  auto with_all_keys = attempt.Scratch();
  *with_all_keys |= attempt.nodes().all();
  RestrictToAllKeys(hard, attempt.nodes(), *with_all_keys);
  auto& [states, count, owner] = attempt.Buffer(hard_);
  count = hard.size();
  if (states.size() < count) states.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    states[i].constraint = &hard[i];
    Sum(attempt, *with_all_keys, states[i]);
    FindLowest(states[i]);
  }
  owner = *std::move(constraints);
  attempt.state().Write(filter_key_, DryRunChanges{});
  return {};
}

void PodTopologySpread::RestrictToAllKeys(const std::vector<SpreadConstraint>& constraints,
                                          const cluster::NodeTable& nodes, RowSet& rows) {
  for (const SpreadConstraint& constraint : constraints) {
    if (const RowSet* with_key = nodes.WithKey(constraint.topology_key)) {
      rows &= *with_key;
    } else {
      rows.Clear();
    }
  }
}

// Removes rows that the constraint's inclusion policies exclude.
void PodTopologySpread::RestrictToIncluded(const Attempt& attempt, const SpreadConstraint& constraint,
                                           RowSet& rows) const {
  if (constraint.honor_affinity) RestrictToRequired(attempt.pod().selection(), attempt, rows);
  if (constraint.honor_taints) {
    auto untolerated = attempt.Scratch();
    AddUntolerated(attempt, *untolerated);
    rows -= *untolerated;
  }
}

void PodTopologySpread::Sum(const Attempt& attempt, const RowSet& with_all_keys, HardState& hard) const {
  const SpreadConstraint& constraint = *hard.constraint;
  hard.counts.Reset(constraint.topology_key, attempt.nodes());
  hard.admitted = with_all_keys;
  RestrictToIncluded(attempt, constraint, hard.admitted);
  const cluster::Topology& topology = *hard.counts.topology;
  hard.registered.assign(topology.domains(), false);
  const RowSet* with_key = attempt.nodes().WithKey(constraint.topology_key);
  if (with_key != nullptr && hard.admitted == *with_key) {
    for (std::size_t i = 0; i < topology.domains(); ++i) hard.registered[i] = topology.rows_in[i] > 0;
  } else {
    hard.admitted.ForEach([&](std::size_t row) { hard.registered[topology.domain[row]] = true; });
  }
  if (!constraint.counts) return;
  counters_.Matching(constraint.query).ForEach([&](std::uint32_t row, std::int64_t pods) {
    if (hard.admitted.Has(row)) hard.counts.Add(row, pods);
  });
}

void PodTopologySpread::FindLowest(HardState& hard) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();
  hard.lowest = hard.lowest_elsewhere = kNone;
  hard.lowest_at = hard.lowest_elsewhere_at = cluster::Topology::kNoDomain;
  hard.domains = 0;
  for (std::uint32_t domain = 0; domain < hard.registered.size(); ++domain) {
    if (!hard.registered[domain]) continue;
    ++hard.domains;
    const std::int64_t pods = hard.counts.by_domain[domain];
    if (pods < hard.lowest) {
      hard.lowest_elsewhere = std::exchange(hard.lowest, pods);
      hard.lowest_elsewhere_at = std::exchange(hard.lowest_at, domain);
    } else if (pods < hard.lowest_elsewhere) {
      hard.lowest_elsewhere = pods;
      hard.lowest_elsewhere_at = domain;
    }
  }
}

// The smallest number of pods in a domain. Dry runs change one domain, except when they evict pods of several
// nodes for or of a pod group.
std::int64_t PodTopologySpread::GlobalMinimum(std::size_t index, const HardState& hard,
                                              const DryRunChanges& changes) {
  if (static_cast<std::int64_t>(hard.domains) < hard.constraint->min_domains) return 0;
  std::int64_t pods = 0;
  std::uint32_t domain = cluster::Topology::kNoDomain;
  for (const DryRunChange& part : changes) {
    if (part.constraint != index) continue;
    if (domain != cluster::Topology::kNoDomain && domain != part.domain)
      return MinimumOfTwoPaths(index, hard, changes);
    domain = part.domain;
    pods += part.pods;
  }
  if (domain == cluster::Topology::kNoDomain) return hard.lowest;
  const std::int64_t elsewhere = domain == hard.lowest_at ? hard.lowest_elsewhere : hard.lowest;
  return std::min(elsewhere, hard.counts.by_domain[domain] + pods);
}

// kube-scheduler follows only the two domains that had the fewest pods (criticalPaths in
// pkg/scheduler/framework/plugins/podtopologyspread/filtering.go). After changes of several domains the
// result may be above the minimum.
std::int64_t PodTopologySpread::MinimumOfTwoPaths(std::size_t index, const HardState& hard,
                                                  const DryRunChanges& changes) {
  struct Path {
    std::uint32_t domain;
    std::int64_t pods;
  };
  Path first{hard.lowest_at, hard.lowest};
  Path second{hard.lowest_elsewhere_at, hard.lowest_elsewhere};
  std::vector<Path> counts;  // of the changed domains
  for (const DryRunChange& part : changes) {
    if (part.constraint != index) continue;
    auto count = std::ranges::find(counts, part.domain, &Path::domain);
    if (count == counts.end())
      count = counts.insert(counts.end(), {part.domain, hard.counts.by_domain[part.domain]});
    count->pods += part.pods;
    if (count->domain == first.domain || count->domain == second.domain) {
      (count->domain == first.domain ? first : second).pods = count->pods;
      if (first.pods > second.pods) std::swap(first, second);
    } else if (count->pods < first.pods) {
      second = std::exchange(first, *count);
    } else if (count->pods < second.pods) {
      second = *count;
    }
  }
  return first.pods;
}

Status PodTopologySpread::RecordChange(const Attempt& attempt, const cluster::PodLabels& labels, Row row,
                                       std::int64_t pods) const {
  DryRunChanges* changes = attempt.state().Read(filter_key_);
  if (changes == nullptr) return Status::Error(kNoFilterState);
  if (labels.ns != attempt.pod().use().labels->ns) return {};
  const std::span<const HardState> states = attempt.Buffer(hard_).all();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const HardState& hard = states[i];
    // As in kube-scheduler, terminating pods count here.
    if (!hard.admitted.Has(row) || !hard.constraint->query->all_of.front().labels.Matches(labels.labels))
      continue;
    changes->push_back({i, hard.counts.topology->domain[row], pods});
  }
  return {};
}

Status PodTopologySpread::AddPod(const Attempt& attempt, const cluster::PlacedPod& added, Row row) const {
  return RecordChange(attempt, *added.use().labels, row, 1);
}
Status PodTopologySpread::RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed,
                                    Row row) const {
  return RecordChange(attempt, *removed.use().labels, row, -1);
}

void PodTopologySpread::Filter(const Attempt& attempt, const RowSet& candidates,
                               framework::Rejections& out) const {
  const DryRunChanges* changes = attempt.state().Read(filter_key_);
  if (changes == nullptr) return out.Fail(candidates, kNoFilterState);
  auto alive = attempt.Scratch();
  *alive |= candidates;
  const std::span<const HardState> states = attempt.Buffer(hard_).all();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const HardState& hard = states[i];
    const cluster::Topology& topology = *hard.counts.topology;
    RowSet& lacking = out.Reject(missing_key_, attempt.nodes().rows());
    lacking |= *alive;
    if (const RowSet* with_key = attempt.nodes().WithKey(hard.constraint->topology_key)) lacking -= *with_key;
    out.unresolvable() |= lacking;
    *alive -= lacking;

    const std::int64_t limit = hard.constraint->max_skew + GlobalMinimum(i, hard, *changes) -
                               (hard.constraint->self_matches ? 1 : 0);
    RowSet& uneven = out.Reject(mismatch_, attempt.nodes().rows());
    const auto too_many = [&](std::uint32_t domain) {
      std::int64_t pods = hard.counts.by_domain[domain];
      for (const DryRunChange& part : *changes) {
        if (part.constraint == i && part.domain == domain) pods += part.pods;
      }
      return pods > limit;
    };
    if (limit >= 0 && changes->empty()) {
      AddRowsOf(topology, attempt.nodes(), *alive, hard.counts.touched, too_many, uneven);
    } else {
      alive->ForEach([&](std::size_t row) {
        if (too_many(topology.domain[row])) uneven.Add(row);
      });
    }
    *alive -= uneven;
  }
}

}  // namespace berth::plugins
