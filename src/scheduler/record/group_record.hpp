// What the cycle of a pod group decided: a part of the records of its members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::record {

enum class Result : std::uint8_t;

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
  std::vector<std::string> victims = {};  // whose eviction begins, "namespace/name", sorted

  // The approximate memory use in bytes.
  std::size_t Bytes() const;
};

}  // namespace berth::record
