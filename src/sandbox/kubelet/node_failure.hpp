// Nodes that fail, because somebody asked for it or by chance.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// A node's annotation; one or more, separated by commas:
//   silent               its kubelet says nothing any more and does nothing
//   not-ready            Ready=False; new pods do not start
//   memory-pressure, disk-pressure, pid-pressure, network-unavailable: the condition of that name is True
// Removing it mends the node.
constexpr std::string_view kFailure = "sandbox.berth.dev/failure";

struct NodeFailure {
  bool silent = false;
  bool not_ready = false;
  bool memory_pressure = false;
  bool disk_pressure = false;
  bool pid_pressure = false;
  bool network_unavailable = false;

  bool any() const { return *this != NodeFailure(); }
  friend bool operator==(const NodeFailure&, const NodeFailure&) = default;
};

// The kinds by name, in the order above.
const std::vector<std::string>& FailureKinds();
// False if there is no such kind.
bool AddFailure(NodeFailure& failure, std::string_view kind);
// From the annotation; unknown kinds count for nothing.
NodeFailure FailureOf(const Object& node);

// Brings the conditions of a node into line with its failure, as its kubelet would post them; false if
// nothing differs. The time of the heartbeat is set only where a condition changes, or with `heartbeat`
// everywhere.
bool PostConditions(json::object& node, const NodeFailure& failure, WallTime now, bool heartbeat);

// Failures by chance: each node fails on average once in `between` of its healthy time, for `lasts` on
// average, in one of the `kinds`. Both times are exponentially distributed.
struct FailurePlan {
  Duration between{};  // zero: never
  Duration lasts = std::chrono::minutes(5);
  std::vector<std::string> kinds = {"silent"};
};

// Sets and removes the annotation kFailure. A node that carries one set by hand is left alone. One thread.
class FailureSchedule {
 public:
  FailureSchedule(Verbs& verbs, TimerQueue& timers, Random& random)
      : verbs_(verbs), timers_(timers), random_(random) {}

  // Until the node is deleted.
  void Add(const std::string& node, const std::string& uid, const FailurePlan& plan);

 private:
  void Await(const std::string& node, const std::string& uid, const FailurePlan& plan);
  void Fail(const std::string& node, const std::string& uid, const FailurePlan& plan);
  void Mend(const std::string& node, const std::string& uid, const std::string& kind,
            const FailurePlan& plan);
  Duration Draw(Duration mean);

  Verbs& verbs_;
  TimerQueue& timers_;
  Random& random_;
};

}  // namespace berth::sandbox
