// Soft constraints: domains with fewer matching pods get higher scores.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/percent.hpp"
#include "base/truncate.hpp"
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.hpp"

namespace berth::plugins {
namespace {

using cluster::RowCounts;
using cluster::SpreadConstraint;
using cluster::Topology;
using framework::Attempt;
using framework::Status;

// The domain of nodes with an empty label value; nodes without the label belong to it if labels are not
// required.
std::uint32_t DomainOfEmpty(const Topology& topology, cluster::LabelKeyId key,
                            const cluster::SymbolTable& words) {
  const cluster::LabelId label = words.FindLabel(key, "");
  if (!label.known()) return Topology::kNoDomain;
  const auto found = std::ranges::find(topology.label_of, label);
  return found == topology.label_of.end() ? Topology::kNoDomain
                                          : static_cast<std::uint32_t>(found - topology.label_of.begin());
}

// Half away from zero, as math.Round.
std::int64_t Round(double value) {
  if (value < 0 || value >= 9e18) return Truncate(std::round(value));
  const auto whole = static_cast<std::int64_t>(value);
  return whole + (value - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

// An upper bound for the number of domains among the rows; nodes without the label count as one.
std::size_t KindsOfRows(const cluster::NodeTable& nodes, const DomainCounts& counts, const RowSet& rows) {
  const std::vector<std::uint32_t>& rows_in = counts.topology->rows_in;
  const RowSet* with_key = nodes.WithKey(counts.key);
  const bool all_have_it = with_key != nullptr && rows.IsSubsetOf(*with_key);
  return rows_in.size() - static_cast<std::size_t>(std::ranges::count(rows_in, 0U)) + (all_have_it ? 0 : 1);
}

// The minimum and maximum raw score; a low raw score (few matching pods) gives a high final score.
struct RawRange {
  std::int64_t lowest = INT64_MAX;
  std::int64_t highest = 0;

  void Take(std::int64_t raw) {
    lowest = std::min(lowest, raw);
    highest = std::max(highest, raw);
  }
  std::int64_t Points(std::int64_t raw) const {
    return highest == 0 ? framework::kMaxScore : Percent(highest + lowest - raw, highest);
  }
};

}  // namespace

Status PodTopologySpread::PreScore(const Attempt& attempt, const RowSet& feasible) const {
  const cluster::SpreadPtr owner = ConstraintsOf(attempt.pod());
  const cluster::SpreadConstraints& constraints = *owner;
  if (!constraints.soft_error.empty()) {
    return Status::Error(
        fmt::format("calculating preScoreState: obtaining pod's soft topology spread constraints: {}",
                    constraints.soft_error));
  }
  if (constraints.soft.empty()) return Status::Skip();
  // With the system defaults, nodes without a zone label are scored too.
  const bool require_all = attempt.pod().spread() != nullptr || !system_defaults_;
  auto counted = attempt.Scratch();
  *counted |= attempt.nodes().all();
  if (require_all) RestrictToAllKeys(constraints.soft, attempt.nodes(), *counted);
  SoftStates& soft = attempt.Buffer(soft_);
  soft.ignored = feasible;
  soft.ignored -= *counted;
  if (!require_all) soft.ignored.Clear();
  auto scored = attempt.Scratch();
  *scored |= feasible;
  *scored -= soft.ignored;
  soft.owner = owner;
  soft.count = constraints.soft.size();
  if (soft.states.size() < soft.count) soft.states.resize(soft.count);
  for (std::size_t i = 0; i < soft.count; ++i) {
    soft.states[i].constraint = &constraints.soft[i];
    ComputeSoftState(attempt, *scored, *counted, require_all, soft.states[i]);
  }
  FindCommonSums(attempt, feasible, soft);
  attempt.state().Write(score_key_, true);
  return {};
}

// Returns the number of domains of the scored nodes.
std::size_t PodTopologySpread::MarkSeen(const Attempt& attempt, const RowSet& scored, bool require_all,
                                        SoftState& weighed) const {
  const Topology& topology = *weighed.counts.topology;
  weighed.seen.assign(topology.domains(), false);
  std::size_t size = 0;
  bool seen_zero = false;
  const RowSet* with_key = attempt.nodes().WithKey(weighed.counts.key);
  if (with_key != nullptr && scored == *with_key) {
    for (std::size_t i = 0; i < topology.domains(); ++i) {
      weighed.seen[i] = topology.rows_in[i] > 0;
      size += weighed.seen[i] ? 1 : 0;
    }
    return size;
  }
  std::size_t unseen = KindsOfRows(attempt.nodes(), weighed.counts, scored);
  scored.AnyOf([&](std::size_t row) {
    const std::uint32_t domain = topology.domain[row];
    if (domain == Topology::kNoDomain) {
      unseen -= seen_zero ? 0 : 1;
      seen_zero = true;
    } else if (!weighed.seen[domain]) {
      weighed.seen[domain] = true;
      ++size;
      --unseen;
    }
    return unseen == 0;
  });
  if (seen_zero && !require_all) {
    const std::uint32_t empty = DomainOfEmpty(topology, weighed.counts.key, attempt.nodes().symbols());
    if (empty == Topology::kNoDomain || !weighed.seen[empty]) ++size;
  }
  return size;
}

void PodTopologySpread::ComputeSoftState(const Attempt& attempt, const RowSet& scored, const RowSet& counted,
                                         bool require_all, SoftState& weighed) const {
  const SpreadConstraint& constraint = *weighed.constraint;
  static const RowCounts kNoPods;
  const RowCounts& matching = constraint.counts ? counters_.Matching(constraint.query) : kNoPods;
  weighed.counts.Reset(constraint.topology_key, attempt.nodes());
  const Topology& topology = *weighed.counts.topology;
  if (constraint.topology_key == hostname_) {
    weighed.weight = std::log(static_cast<double>(scored.Count() + 2));
    // The next constraint's query overwrites counts that are not maintained.
    if (!counters_.IsMaintained(matching)) weighed.copy = matching;
    weighed.by_row = counters_.IsMaintained(matching) ? &matching : &weighed.copy;
    return;
  }
  weighed.by_row = nullptr;
  weighed.weight = std::log(static_cast<double>(MarkSeen(attempt, scored, require_all, weighed) + 2));
  auto included = attempt.Scratch();
  *included |= counted;
  RestrictToIncluded(attempt, constraint, *included);
  const std::uint32_t empty =
      require_all ? Topology::kNoDomain
                  : DomainOfEmpty(topology, constraint.topology_key, attempt.nodes().symbols());
  matching.ForEach([&](std::uint32_t row, std::int64_t pods) {
    if (!included->Has(row)) return;
    const std::uint32_t domain = topology.domain[row] == Topology::kNoDomain ? empty : topology.domain[row];
    if (domain != Topology::kNoDomain && weighed.seen[domain]) weighed.counts.by_domain[domain] += pods;
  });
  weighed.of_domain.resize(topology.domains());
  for (std::size_t i = 0; i < topology.domains(); ++i) {
    weighed.of_domain[i] = static_cast<double>(weighed.counts.by_domain[i]) * weighed.weight +
                           static_cast<double>(constraint.max_skew - 1);
  }
}

// Sums are computed constraint by constraint in kube-scheduler's order, because the order of floating-point
// additions affects the last bit.
void PodTopologySpread::AddToSums(const SoftState& weighed, SoftStates& soft) {
  std::vector<double>& sums = soft.sums;
  const std::vector<std::uint32_t>& domain = weighed.counts.topology->domain;
  if (weighed.by_row == nullptr) {
    for (std::size_t row = 0; row < sums.size(); ++row) {
      if (domain[row] != Topology::kNoDomain) sums[row] += weighed.of_domain[domain[row]];
    }
    return;
  }
  // Most nodes have no matching pods.
  const auto base = static_cast<double>(weighed.constraint->max_skew - 1);
  soft.with_pods.clear();
  weighed.by_row->ForEach([&](std::uint32_t row, std::int64_t pods) {
    if (domain[row] != Topology::kNoDomain)
      soft.with_pods.emplace_back(row, sums[row] + (static_cast<double>(pods) * weighed.weight + base));
  });
  for (std::size_t row = 0; row < sums.size(); ++row) {
    if (domain[row] != Topology::kNoDomain) sums[row] += base;
  }
  for (const auto& [row, sum] : soft.with_pods) sums[row] = sum;
}

Status PodTopologySpread::Score(const Attempt& attempt, const RowSet& feasible,
                                framework::ScoreColumn& scores) const {
  if (attempt.state().Read(score_key_) == nullptr)
    return Status::Error("reading \"PreScorePodTopologySpread\" from cycleState: not found");
  SoftStates& soft = attempt.Buffer(soft_);
  if (soft.common != nullptr) {
    ScoreByDomain(soft, scores);
    return {};
  }
  soft.sums.assign(attempt.nodes().rows(), 0.0);
  for (const SoftState& state : soft.all()) AddToSums(state, soft);
  const auto values = scores.Mutable();
  feasible.ForEach([&](std::size_t row) { values[row] = Round(soft.sums[row]); });
  soft.ignored.ForEach([&](std::size_t row) { values[row] = 0; });
  return {};
}

Status PodTopologySpread::Normalize(const Attempt& attempt, const RowSet& feasible,
                                    framework::ScoreColumn& scores) const {
  if (attempt.state().Read(score_key_) == nullptr)
    return Status::Error("reading \"PreScorePodTopologySpread\" from cycleState: not found");
  SoftStates& soft = attempt.Buffer(soft_);
  auto scored = attempt.Scratch();
  *scored |= feasible;
  *scored -= soft.ignored;
  if (soft.common != nullptr) {
    NormalizeByDomain(attempt, *scored, soft, scores);
    return {};
  }
  const auto values = scores.Mutable();
  RawRange range;
  scored->ForEach([&](std::size_t row) { range.Take(values[row]); });
  // There are few distinct sums, so each is divided once.
  constexpr std::int64_t kTableMax = 1024;
  if (range.highest - range.lowest >= kTableMax) {
    scored->ForEach([&](std::size_t row) { values[row] = range.Points(values[row]); });
    return {};
  }
  soft.normalized.clear();
  for (std::int64_t value = range.lowest; value <= range.highest; ++value)
    soft.normalized.push_back(range.Points(value));
  scored->ForEach([&](std::size_t row) {
    values[row] = soft.normalized[static_cast<std::size_t>(values[row] - range.lowest)];
  });
  return {};
}

// --- scores per domain ---

// With at most one constraint on multi-node domains, as in the system defaults, all nodes of a domain without
// matching pods have the same score, and the others are few. Sets soft.common to that constraint, else to
// null.
void PodTopologySpread::FindCommonSums(const Attempt& attempt, const RowSet& feasible, SoftStates& soft) {
  soft.common = nullptr;
  const SoftState* common = nullptr;
  soft.with_kind.Resize(attempt.nodes().rows());
  soft.with_kind.Clear();
  for (const SoftState& weighed : soft.all()) {
    if (weighed.by_row != nullptr) {
      const RowSet* with_key = attempt.nodes().WithKey(weighed.counts.key);
      if (with_key == nullptr || !feasible.IsSubsetOf(*with_key)) return;
      weighed.by_row->ForEach([&](std::uint32_t row, std::int64_t) {
        if (feasible.Has(row)) soft.with_kind.Add(row);
      });
    } else if (common != nullptr) {
      return;
    } else {
      common = &weighed;
    }
  }
  soft.common = common;
}

// Adds in the order of AddToSums. If a row is given, its own matching pods count.
std::int64_t PodTopologySpread::RawScore(std::uint32_t domain, std::optional<std::uint32_t> row,
                                         const SoftStates& soft) {
  double sum = 0;
  for (const SoftState& weighed : soft.all()) {
    if (weighed.by_row == nullptr) {
      if (domain != Topology::kNoDomain) sum += weighed.of_domain[domain];
    } else {
      const auto pods = static_cast<double>(row ? weighed.by_row->At(*row) : 0);
      sum += pods * weighed.weight + static_cast<double>(weighed.constraint->max_skew - 1);
    }
  }
  return Round(sum);
}

// The index of a row's domain in columns by domain: nodes without the label have the last one.
std::size_t PodTopologySpread::PlaceOf(std::size_t row, const SoftStates& soft) {
  const Topology& topology = *soft.common->counts.topology;
  return std::min<std::size_t>(topology.domain[row], topology.domains());
}

void PodTopologySpread::ScoreByDomain(SoftStates& soft, framework::ScoreColumn& scores) {
  const Topology& topology = *soft.common->counts.topology;
  soft.raw.clear();
  for (std::uint32_t i = 0; i < topology.domains(); ++i) soft.raw.push_back(RawScore(i, {}, soft));
  soft.raw.push_back(RawScore(Topology::kNoDomain, {}, soft));
  const auto values = scores.Overwrite();
  for (std::size_t row = 0; row < values.size(); ++row) values[row] = soft.raw[PlaceOf(row, soft)];
  soft.with_kind.ForEach([&](std::size_t row) {
    values[row] = RawScore(topology.domain[row], static_cast<std::uint32_t>(row), soft);
  });
  soft.ignored.ForEach([&](std::size_t row) { values[row] = 0; });
}

void PodTopologySpread::NormalizeByDomain(const Attempt& attempt, const RowSet& scored, SoftStates& soft,
                                          framework::ScoreColumn& scores) {
  RawRange range;
  soft.present.assign(soft.raw.size(), false);
  std::size_t unseen = KindsOfRows(attempt.nodes(), soft.common->counts, scored);
  scored.AnyOf([&](std::size_t row) {
    const std::size_t place = PlaceOf(row, soft);
    if (soft.present[place] || soft.with_kind.Has(row)) return false;
    soft.present[place] = true;
    range.Take(soft.raw[place]);
    return --unseen == 0;
  });
  const auto values = scores.values();
  soft.with_kind.ForEach([&](std::size_t row) {
    if (scored.Has(row)) range.Take(values[row]);
  });
  soft.normalized.assign(soft.raw.size(), 0);
  for (std::size_t i = 0; i < soft.raw.size(); ++i) {
    if (soft.present[i]) soft.normalized[i] = range.Points(soft.raw[i]);
  }
  const auto bytes = scores.OverwriteBytes();
  for (std::size_t row = 0; row < bytes.size(); ++row)
    bytes[row] = static_cast<std::uint8_t>(soft.normalized[PlaceOf(row, soft)]);
  soft.with_kind.ForEach([&](std::size_t row) {
    if (scored.Has(row)) bytes[row] = static_cast<std::uint8_t>(range.Points(values[row]));
  });
  soft.ignored.ForEach([&](std::size_t row) { bytes[row] = 0; });
}

}  // namespace berth::plugins
