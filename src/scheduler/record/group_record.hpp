// What the cycle of a pod group decided: a part of the records of its members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace berth::record {

enum class Result : std::uint8_t;

// What was found for each group of a tree of composite groups.
struct GroupTreeRecord {
  // kIncomplete: the group has too few members or, if it is composite, too few complete groups; no group of
  // the tree is tried then. kNotTried: the group is complete, but was not tried.
  enum class Verdict : std::uint8_t { kStarts, kFails, kIncomplete, kNotTried };
  // The complete text of members that found no node.
  struct Reason {
    std::string message;
    std::size_t members = 0;
  };
  static constexpr std::size_t kReasonsMax = 3;
  // A tree may have thousands of groups.
  static constexpr std::size_t kGroupsMax = 64;

  struct Group {
    std::string name;  // "namespace/name"
    bool composite = false;
    std::size_t level = 1;     // that of the root
    Verdict verdict{};         // of this group, whatever those above it do
    std::string message = {};  // why it does not start; empty if it does, or if it was not tried
    // In pods; of a composite group in groups directly below it:
    std::int32_t min_count = 0;  // that must have a node, or start
    std::size_t scheduled = 0;   // members with a node at the beginning of the cycle
    std::size_t pending = 0;     // members in the queue's entry, or groups
    std::size_t placed = 0;      // of the pending ones: found a node, or start
    std::size_t failed = 0;      // found none, or do not start
    std::size_t not_tried = 0;
    std::vector<Reason> reasons = {};  // the most frequent ones of the failed members, at most kReasonsMax
  };

  std::vector<Group> groups = {};  // the root first, each before those below it; the first kGroupsMax
  std::size_t more_groups = 0;     // without those
  // The name of the group that does not start without a group below it that caused it; empty: the root
  // starts. Of several, the first one in the order of the cycle.
  std::string fails_at = {};

  // The approximate memory use in bytes.
  std::size_t Bytes() const;
};

// The group that fails without a group below it that causes it; null: the root does not fail. Of several, the
// first one. `groups`: a tree, the root first and each before those below it, with a member `level`, which is
// 1 for the root. fails(group) is called for some of them.
template <class Group, class Fails>
const Group* FindCause(std::span<const Group> groups, Fails&& fails) {
  const Group* cause = nullptr;
  std::size_t level = 1;  // of the next group on the way down
  for (const Group& group : groups) {
    if (group.level < level) break;
    if (group.level > level || !fails(group)) continue;
    cause = &group;
    ++level;
  }
  return cause;
}

struct GroupRecord {
  // A member that found no node, with the complete text.
  struct Failure {
    std::string pod;  // "namespace/name"
    std::string message;
  };
  // With placements by topology.
  struct Placement {
    std::string name = {};      // of the one that was chosen; empty: none is feasible
    std::size_t evaluated = 0;  // placements in which the members were tried
    std::size_t feasible = 0;
  };
  // A group may have thousands of members that fail for reasons of their own.
  static constexpr std::size_t kFailuresMax = 16;

  std::string group = {};      // "namespace/name"
  Result result{};             // kScheduled, kUnschedulable or kError
  std::string message = {};    // that of the group's condition
  std::int32_t min_count = 0;  // members that must be scheduled for the others to be bound
  // At the beginning of the cycle:
  std::size_t scheduled = 0;  // members with a node
  std::size_t pending = 0;    // members in the queue's entry
  // Of the pending members; those of a rejected group do not get the nodes that they found:
  std::size_t placed = 0;              // found a node
  std::size_t failed = 0;              // found none
  std::size_t not_tried = 0;           // the search ended before them
  std::vector<Failure> failures = {};  // the first kFailuresMax of the failed ones, in the group's order
  std::optional<Placement> placement = {};
  bool waits_for_evictions = false;
  std::vector<std::string> victims = {};             // whose eviction begins, "namespace/name", sorted
  std::shared_ptr<const GroupTreeRecord> tree = {};  // of the group's tree; null: it is in none

  // The approximate memory use in bytes.
  std::size_t Bytes() const;
};

}  // namespace berth::record
