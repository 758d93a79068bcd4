// The loop's side of a copy of the cluster: reads what has changed since the copy was brought up to date.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/evaluation/copy_update.hpp"

namespace berth::evaluation {

// Reads in steps of bounded work, between which the cluster may change: the update is consistent when its
// last step has ended, except that members of pod groups may be as in an earlier step. Pointers to immutable
// objects are copied, never objects. Scheduler loop only. While nothing is read (Drop), the reader costs one
// test per change of an object.
class ChangeReader {
 public:
  // Work of one step.
  static constexpr std::size_t kPodsPerStep = 1'000;
  static constexpr std::size_t kObjectsPerStep = 2'000;
  static constexpr std::size_t kMembersPerStep = 1'000;  // and groups
  // Changes of objects that are kept between two updates. With more of them the next update is complete.
  static constexpr std::size_t kMostChanges = 10'000;
  static constexpr std::size_t kMostNominations = 1'000;
  // Of all groups of a tree; of each group at least as many as it needs.
  static constexpr std::size_t kMostMembers = 1'000;

  // Both must outlive this object. `live` must outlive everything that changes its objects.
  ChangeReader(assembly::Engine& live, const cycle::Scheduler& scheduler);
  ~ChangeReader();
  ChangeReader(const ChangeReader&) = delete;
  ChangeReader& operator=(const ChangeReader&) = delete;

  // One step of an update for the evaluation of a pod ("namespace/name"). Returns whether it was the last
  // one. An update that was begun must be continued.
  bool Read(const std::string& pod, WallTime now, CopyUpdate& update);
  // Forgets what was read: the next update is complete.
  void Drop();

  struct Work {
    std::size_t rows = 0;
    std::size_t pods = 0;
    std::size_t objects = 0;
    std::size_t members = 0;
  };
  const Work& last_step() const { return work_; }

 private:
  struct Journal;
  struct Listing;
  struct MemberListing;

  void Begin(CopyUpdate& update);
  void FindChangedRows();
  bool ReadRows(CopyUpdate& update);
  bool ReadObjects(CopyUpdate& update);
  void ReadSignals(CopyUpdate& update);
  void ReadNominations(CopyUpdate& update);
  bool ReadMembers(const std::string& key, CopyUpdate& update);
  bool ReadGroup(MemberListing& listing, CopyUpdate& update);
  void ReadTree(CopyUpdate& update);

  assembly::Engine& live_;
  const cycle::Scheduler& scheduler_;
  const std::shared_ptr<Journal> journal_;  // shared with the listeners of the live tables
  std::unique_ptr<Listing> listing_;        // of objects; null: complete
  std::unique_ptr<MemberListing> members_;  // of the evaluated pod's tree; null: none is being read
  bool reading_ = false;                    // an update was read, or has begun
  std::vector<api::NodePtr> nodes_;         // as last read, by row
  RowSet changed_;                          // rows to read
  std::uint64_t seen_changes_ = 0;          // NodeTable::pod_changes
  std::uint64_t seen_starts_ = 0;           // NodeTable::start_changes
  std::vector<MonoTime> polled_at_;         // as last read, by signal
  std::vector<load_metrics::SignalState> states_;
  Work work_;
};

}  // namespace berth::evaluation
