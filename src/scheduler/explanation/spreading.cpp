#include "scheduler/explanation/spreading.hpp"

#include <algorithm>

#include "scheduler/cluster/pod_counters.hpp"
#include "scheduler/cluster/pod_selectors.hpp"

namespace berth::explanation {
namespace {

// Nodes whose domains count for the constraint.
RowSet EligibleRows(const Situation& at, const cluster::SpreadConstraint& constraint) {
  const cluster::NodeTable& nodes = at.nodes();
  RowSet rows = nodes.all();
  for (const cluster::SpreadConstraint& each : at.pod.spread()->hard) {
    const RowSet* with_key = nodes.WithKey(each.topology_key);
    rows &= with_key == nullptr ? RowSet() : *with_key;
  }
  if (constraint.honor_affinity) rows -= at.obstacles.RejectedBy("NodeAffinity", nodes.rows());
  if (constraint.honor_taints) rows -= at.obstacles.RejectedBy("TaintToleration", nodes.rows());
  return rows;
}

std::int64_t MatchingOn(const Situation& at, const cluster::SpreadConstraint& constraint, cluster::Row row) {
  if (!constraint.counts) return 0;
  std::int64_t count = 0;
  for (const cluster::PlacedPod* placed : at.nodes().pods(row)) {
    if (at.cluster.counters().Selects(*constraint.query, *placed->use().labels)) ++count;
  }
  return count;
}

}  // namespace

std::int64_t SpreadState::SkewOn(const api::Node& node) const {
  const std::string* value = node.metadata.labels.Find(key);
  if (value == nullptr) return 0;
  const auto found = counts.find(*value);
  return found == counts.end() ? 0 : found->second + self - minimum;
}

std::vector<SpreadState> SpreadStates(const Situation& at) {
  std::vector<SpreadState> states;
  if (at.pod.spread() == nullptr) return states;
  const auto& spec = at.pod.pod->spec.topology_spread_constraints;
  std::size_t index = 0;
  for (const cluster::SpreadConstraint& constraint : at.pod.spread()->hard) {
    while (index < spec.size() && spec[index].when_unsatisfiable != "DoNotSchedule") ++index;
    if (index == spec.size()) break;
    SpreadState state{.index = index,
                      .key = spec[index].topology_key,
                      .max_skew = constraint.max_skew,
                      .self = constraint.self_matches ? 1 : 0};
    ++index;
    EligibleRows(at, constraint).ForEach([&](std::size_t row) {
      const api::Node& node = at.nodes().node(static_cast<cluster::Row>(row));
      if (const std::string* value = node.metadata.labels.Find(state.key))
        state.counts[*value] += MatchingOn(at, constraint, static_cast<cluster::Row>(row));
    });
    if (!state.counts.empty() && std::ssize(state.counts) >= constraint.min_domains) {
      state.minimum = std::ranges::min_element(state.counts, {}, [](const auto& domain) {
                        return domain.second;
                      })->second;
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace berth::explanation
