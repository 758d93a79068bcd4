#include "scheduler/explanation/neighbours.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kubernetes/api/label_selector_text.hpp"
#include "scheduler/cluster/pod_counters.hpp"

namespace berth::explanation {
namespace {

bool SameDomain(const api::Node& a, const api::Node& b, const std::string& key) {
  const std::string* of_a = a.metadata.labels.Find(key);
  const std::string* of_b = b.metadata.labels.Find(key);
  return of_a != nullptr && of_b != nullptr && *of_a == *of_b;
}

// Whether the two pods exclude each other in a domain of this key.
bool ExcludesPlaced(const Situation& at, const cluster::PlacedPod& placed,
                    const cluster::AffinityTerm& term) {
  return at.cluster.counters().Selects(*term.query, *placed.use().labels);
}
bool ExcludedByPlaced(const Situation& at, const cluster::AffinityTerm& term) {
  return at.cluster.counters().SelectsIncoming(term.clause(), *at.pod.use().labels);
}

bool Overlap(cluster::HostPort a, cluster::HostPort b) {
  return a.port == b.port &&
         (a.address == b.address || a.address == cluster::kAnyAddress || b.address == cluster::kAnyAddress);
}

void SortByKey(std::vector<api::PodPtr>& pods) {
  std::ranges::sort(pods, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
}

}  // namespace

std::vector<api::PodPtr> AntiAffinityConflicts(const Situation& at, cluster::Row row) {
  const cluster::NodeTable& nodes = at.nodes();
  const api::Node& node = nodes.node(row);
  const cluster::PodAffinityPtr own = at.pod.use().affinity;
  std::size_t tests = 0;
  std::vector<const cluster::AffinityTerm*> own_here;  // with a domain that contains both nodes
  std::vector<api::PodPtr> conflicts;
  const auto search = [&](std::size_t other) {
    const api::Node& there = nodes.node(static_cast<cluster::Row>(other));
    const auto in_domain = [&](const cluster::AffinityTermPtr& term) {
      ++tests;
      return SameDomain(node, there, at.symbols.KeyText(term->topology_key));
    };
    own_here.clear();
    if (own != nullptr) {
      for (const cluster::AffinityTermPtr& term : own->required_anti) {
        if (in_domain(term)) own_here.push_back(term.get());
      }
    }
    for (const cluster::PlacedPod* placed : nodes.pods(static_cast<cluster::Row>(other))) {
      if (tests >= kMostConflictTests) return;
      bool conflict = std::ranges::any_of(own_here, [&](const cluster::AffinityTerm* term) {
        ++tests;
        return ExcludesPlaced(at, *placed, *term);
      });
      if (const cluster::PodAffinityPtr& theirs = placed->use().affinity; !conflict && theirs != nullptr) {
        conflict = std::ranges::any_of(theirs->required_anti, [&](const auto& term) {
          return in_domain(term) && ExcludedByPlaced(at, *term);
        });
      }
      if (conflict) conflicts.push_back(placed->pod);
    }
  };
  search(row);  // first, because it is in every domain of the node
  nodes.all().ForEach([&](std::size_t other) {
    if (other != row && tests < kMostConflictTests) search(other);
  });
  SortByKey(conflicts);
  return conflicts;
}

std::vector<api::PodPtr> HostPortConflicts(const Situation& at, cluster::Row row) {
  std::vector<api::PodPtr> conflicts;
  for (const cluster::PlacedPod* placed : at.nodes().pods(row)) {
    const bool conflict = std::ranges::any_of(at.pod.use().ports, [&](cluster::HostPort wanted) {
      return std::ranges::any_of(placed->use().ports,
                                 [&](cluster::HostPort taken) { return Overlap(wanted, taken); });
    });
    if (conflict) conflicts.push_back(placed->pod);
  }
  SortByKey(conflicts);
  return conflicts;
}

RowSet RowsOfAffinity(const Situation& at, const cluster::AffinityTerm& term) {
  RowSet rows(at.nodes().rows());
  at.nodes().all().ForEach([&](std::size_t row) {
    for (const cluster::PlacedPod* placed : at.nodes().pods(static_cast<cluster::Row>(row))) {
      if (ExcludesPlaced(at, *placed, term)) return rows.Add(row);
    }
  });
  return rows;
}

std::string TermText(const cluster::AffinityTerm& term) {
  const cluster::PodClause& clause = term.clause();
  std::string text = clause.labels.nothing        ? "no pod (the selector is absent)"
                     : clause.labels.everything() ? "any pod"
                                                  : api::LabelSelectorText(clause.labels);
  if (!clause.namespaces.empty()) text += fmt::format(" in namespace {}", fmt::join(clause.namespaces, ", "));
  if (!clause.namespace_selector.nothing) {
    text += clause.namespaces.empty() ? " in " : " and in ";
    text += clause.namespace_selector.everything()
                ? "any namespace"
                : "namespaces with " + api::LabelSelectorText(clause.namespace_selector);
  }
  return text;
}

}  // namespace berth::explanation
