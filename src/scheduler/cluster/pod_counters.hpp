// How many pods of some sort are on which row: counters that follow the cluster, so that no decision counts
// pods again (for InterPodAffinity and PodTopologySpread).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered_map.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/row_counts.hpp"
#include "scheduler/cluster/selector_index.hpp"

namespace berth::cluster {

// What an affinity term does to the pods it selects.
enum class TermRole : std::uint8_t { kRequired, kRequiredAnti, kPreferred };

// A term that pods on nodes carry, and how many of them per row.
struct CarriedTerm {
  AffinityTermPtr term;
  TermRole role = TermRole::kRequired;
  std::int64_t weight = 0;  // kPreferred
  RowCounts rows;
};

// Counts bound and assumed pods, terminating ones too; pods that are only imagined (overlays) are not
// counted: plugins that use counters keep track of those by AddPod and RemovePod. References stay good until
// the next change of the cluster or the next Matching. One thread: the scheduler loop's.
class PodCounters final : public PodObserver {
 public:
  PodCounters(NodeTable& nodes, ClusterObjects& objects);
  ~PodCounters() override;
  PodCounters(const PodCounters&) = delete;
  PodCounters& operator=(const PodCounters&) = delete;

  // How many pods match, by row. A question is counted when it is asked for the first time and kept up to
  // date from then on; one that was not asked for long is forgotten.
  const RowCounts& Matching(const PodQuestionPtr& question);

  // Terms of that role whose carriers care about such a pod: visit(const CarriedTerm&).
  template <class Visit>
  void ForEachCarried(TermRole role, const PodLabels& incoming, Visit&& visit) const {
    carried_index_[static_cast<std::size_t>(role)].ForEachCandidate(
        incoming, [&](const CarriedTerm* carried) {
          if (Concerns(carried->term->clause(), incoming)) visit(*carried);
        });
  }

  // A term that belongs to a pod that wants a place asks about pods on nodes: its namespace selector stands
  // for the namespaces that exist.
  bool Selects(const PodClause& clause, const PodLabels& placed) const;
  bool Selects(const PodQuestion& question, const PodLabels& placed) const;
  // The other way round, a namespace that does not exist is one without labels.
  bool Concerns(const PodClause& clause, const PodLabels& incoming) const;

  void PodAppears(Row row, const PlacedPod& pod, bool imagined) override;
  void PodLeaves(Row row, const PlacedPod& pod, bool imagined) override;

 private:
  struct Counter {
    PodQuestionPtr question;
    RowCounts rows;
    std::uint64_t asked = 0;
  };
  struct Group {  // pods that look alike
    const PodLabels* labels = nullptr;
    RowCounts rows;
    std::vector<Counter*> counters;        // that count them
    std::vector<std::uint32_t> member_of;  // where it stands in the list of each of its labels
  };
  struct Member {
    Group* group = nullptr;
    std::uint32_t label = 0;  // which of the group's
  };
  using CarriedKey = std::tuple<const AffinityTerm*, TermRole, std::int64_t>;

  void Count(Row row, const PlacedPod& pod, int amount);
  void CountCarried(Row row, const AffinityTermPtr& term, TermRole role, std::int64_t weight, int amount);
  void Join(Group& group);
  void Leave(Group& group);
  void Build(Counter& counter);
  void Drop(const PodQuestion* question);
  void DropIdle();
  void NamespaceChanged();

  NodeTable& nodes_;
  const ClusterObjects& objects_;
  boost::unordered_map<PodLabelsPtr, Group> groups_;                         // groups do not move
  boost::unordered_flat_map<std::size_t, std::vector<Member>> groups_with_;  // by hash of a label
  boost::unordered_flat_map<const PodQuestion*, std::unique_ptr<Counter>> counters_;
  SelectorIndex<Counter*> counter_index_;
  boost::unordered_map<CarriedKey, std::unique_ptr<CarriedTerm>> carried_;
  SelectorIndex<const CarriedTerm*> carried_index_[3];  // by role
  std::uint64_t asked_ = 0;
  std::size_t drop_at_ = 1024;  // counters
};

}  // namespace berth::cluster
