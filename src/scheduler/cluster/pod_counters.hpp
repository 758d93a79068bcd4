// Counts of matching pods per row, updated incrementally as pods come and go, for InterPodAffinity and
// PodTopologySpread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered_map.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/row_counts.hpp"
#include "scheduler/cluster/selector_index.hpp"

namespace berth::cluster {

// The effect of an affinity term on the pods that it selects.
enum class TermRole : std::uint8_t { kRequired, kRequiredAnti, kPreferred };

// An affinity term of pods on nodes, with the number of these pods per row.
struct CarriedTerm {
  AffinityTermPtr term;
  TermRole role = TermRole::kRequired;
  std::int64_t weight = 0;  // kPreferred
  RowCounts rows;
};

// Counts bound and assumed pods, including terminating pods, without those that are withdrawn. Overlays have
// no effect; plugins adjust for their pods in AddPod and RemovePod. References are valid until the cluster
// changes or, unless IsMaintained, Matching is called again. Scheduler loop only.
class PodCounters final : public PodObserver {
 public:
  // Pods may have any number of queries and distinct labels: beyond about `bytes_max`, new queries are
  // counted at each use instead of being maintained. If pods and nodes that arrive later make the counters
  // a quarter larger than that, those that were not used for the longest time are dropped.
  static constexpr std::size_t kBytesMax = std::size_t{128} << 20;
  PodCounters(NodeTable& nodes, ClusterObjects& objects, std::size_t bytes_max = kBytesMax);
  ~PodCounters() override;
  PodCounters(const PodCounters&) = delete;
  PodCounters& operator=(const PodCounters&) = delete;

  // The number of pods that match, by row. Counted on first use and then maintained; counters that were not
  // used for a long time are dropped.
  const RowCounts& Matching(const PodQueryPtr& query);
  // Whether this result of Matching stays valid when Matching is called again.
  bool IsMaintained(const RowCounts& result) const { return &result != &uncounted_; }
  // The number of counters that are maintained.
  std::size_t counters() const { return counters_.size(); }
  // The memory of these counters and of their lists per set of labels.
  std::size_t bytes() const { return bytes_; }

  // Calls visit(const CarriedTerm&) for the terms of that role that select the incoming pod.
  template <class Visit>
  void ForEachCarried(TermRole role, const PodLabels& incoming, Visit&& visit) const {
    carried_index_[static_cast<std::size_t>(role)].ForEachCandidate(
        incoming, [&](const CarriedTerm* carried) {
          if (SelectsIncoming(carried->term->clause(), incoming)) visit(*carried);
        });
  }

  // Evaluates a term of an incoming pod against a pod on a node: the namespace selector matches existing
  // namespaces only.
  bool Selects(const PodClause& clause, const PodLabels& placed) const;
  bool Selects(const PodQuery& query, const PodLabels& placed) const;
  // Evaluates a term of a pod on a node against an incoming pod: a namespace that does not exist counts as
  // one without labels.
  bool SelectsIncoming(const PodClause& clause, const PodLabels& incoming) const;

  void OnPodAdded(Row row, const PlacedPod& pod) override;
  void OnPodRemoved(Row row, const PlacedPod& pod) override;

 private:
  struct Counter {
    PodQueryPtr query;
    RowCounts rows;
    std::uint64_t last_used = 0;  // when it was last used, in terms of uses_
  };
  struct Group {  // pods with equal PodLabels
    const PodLabels* labels = nullptr;
    RowCounts rows;
    std::vector<Counter*> counters;        // the counters that include these pods
    std::vector<std::uint32_t> member_of;  // the group's index in the list of each of its labels
  };
  struct Member {
    Group* group = nullptr;
    std::uint32_t label = 0;  // index of the label in the group
  };
  using CarriedKey = std::tuple<const AffinityTerm*, TermRole, std::int64_t>;

  void Count(Row row, const PlacedPod& pod, int amount);
  void CountCarried(Row row, const AffinityTermPtr& term, TermRole role, std::int64_t weight, int amount);
  void Join(Group& group);
  void Leave(Group& group);
  // From now on, the counter includes the group's pods.
  void List(Group& group, Counter& counter);
  // Calls visit(Group&) for the groups whose pods match.
  template <class Visit>
  void ForEachSelected(const PodQuery& query, Visit&& visit);
  void Drop(const std::vector<const Counter*>& counters);
  // Drops the half that was not used for the longest time.
  void DropHalf(std::vector<const Counter*> counters);
  void DropIdle();
  void DropBeyondLimit();
  void NamespaceChanged();

  NodeTable& nodes_;
  const ClusterObjects& objects_;
  // references stay valid on rehash
  boost::unordered_map<PodLabelsPtr, Group> groups_;
  boost::unordered_flat_map<std::size_t, std::vector<Member>> groups_with_;  // by hash of a label
  boost::unordered_flat_map<const PodQuery*, std::unique_ptr<Counter>> counters_;
  SelectorIndex<Counter*> counter_index_;
  boost::unordered_map<CarriedKey, std::unique_ptr<CarriedTerm>> carried_;
  SelectorIndex<const CarriedTerm*> carried_index_[3];  // by role
  std::uint64_t uses_ = 0;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;       // of counters' rows and of groups' counters
  RowCounts uncounted_;         // the last result that is not maintained
  std::size_t drop_at_ = 1024;  // number of counters at which idle ones are dropped
};

}  // namespace berth::cluster
