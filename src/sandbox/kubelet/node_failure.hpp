// Node failures: requested by annotation, or random.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// Annotation of a node; one or more values, separated by commas:
//   silent               its kubelet sends no heartbeats and does nothing
//   not-ready            Ready=False; new pods do not start
//   memory-pressure, disk-pressure, pid-pressure, network-unavailable: the condition of that name is True
// Removing the annotation repairs the node.
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

// The failure kinds, in the order above.
const std::vector<std::string>& FailureKinds();
// False if there is no such kind.
bool AddFailure(NodeFailure& failure, std::string_view kind);
// Parses the annotation; unknown kinds are ignored.
NodeFailure FailureOf(const Object& node);

// Sets the conditions of a node according to its failure, in the form its kubelet posts; false if nothing
// differs. The heartbeat time is set only where a condition changes, or everywhere if `heartbeat` is true.
bool PostConditions(json::object& node, const NodeFailure& failure, WallTime now, bool heartbeat);

// Random failures: each node fails on average once per `between` of healthy time, for `lasts` on average, in
// one of the `kinds`. Both times are exponentially distributed.
struct FailurePlan {
  Duration between{};  // zero: never
  Duration lasts = std::chrono::minutes(5);
  std::vector<std::string> kinds = {"silent"};
};

// Sets and removes the annotation kFailure. Nodes with an annotation from a client are not changed. One
// thread.
class FailureSchedule {
 public:
  FailureSchedule(Verbs& verbs, TimerQueue& timers, Random& random)
      : verbs_(verbs), timers_(timers), random_(random) {}

  // Schedules failures until the node is deleted.
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
