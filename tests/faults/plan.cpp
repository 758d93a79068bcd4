#include "tests/faults/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"
#include "tests/faults/disk_fault.hpp"
#include "tests/faults/extender.hpp"
#include "tests/faults/prometheus.hpp"
#include "tests/faults/workload.hpp"

namespace berth::faults {
namespace {

using std::chrono::milliseconds;

// Steps begin within this time after the start, when the first leader has been elected.
constexpr milliseconds kFirst{3'000}, kLast{60'000};

struct Choice {
  StepKind kind;
  int weight;
};
constexpr Choice kUserSteps[] = {
    {StepKind::kCreatePods, 10}, {StepKind::kCreateReplicaSet, 5}, {StepKind::kScaleReplicaSet, 3},
    {StepKind::kDeletePods, 5},  {StepKind::kAddNode, 2},          {StepKind::kDeleteNode, 2},
    {StepKind::kFailNode, 1},    {StepKind::kCordonNode, 2},       {StepKind::kTaintNode, 2},
    {StepKind::kCreateGroup, 6},
};
constexpr Choice kFaults[] = {
    {StepKind::kKill, 4},           {StepKind::kTerminate, 2},  {StepKind::kStopProcess, 4},
    {StepKind::kSuspendMachine, 2}, {StepKind::kPartition, 4},  {StepKind::kSlowNetwork, 2},
    {StepKind::kRequestFaults, 5},  {StepKind::kCutWatches, 3}, {StepKind::kStallWatch, 3},
    {StepKind::kJumpClock, 2},      {StepKind::kServerDown, 2}, {StepKind::kCompact, 3},
    {StepKind::kExtenderFault, 5},
};

class Planner {
 public:
  explicit Planner(std::uint64_t seed) : random_(seed * 2654435761 + 17) { plan_.seed = seed; }

  Plan Make() {
    plan_.nodes = 2 + random_.Below(6);
    plan_.groups = random_.Below(2) == 0;
    plan_.extender = static_cast<ExtenderUse>(random_.Below(4) % 3);
    nodes_ = plan_.nodes;
    AddStep(StepKind::kCreatePods, milliseconds(100), [&](Step& step) { step.number = 2 + Below(5); });
    const std::uint64_t users = 4 + random_.Below(12);
    for (std::uint64_t i = 0; i < users; ++i) AddUserStep();
    const std::uint64_t faults = random_.Below(9);
    for (std::uint64_t i = 0; i < faults; ++i) AddFault();
    plan_.measured = random_.Below(3) == 0;
    if (plan_.measured) {
      for (std::uint64_t i = random_.Below(4); i > 0; --i) AddMeasurementFault();
    }
    plan_.recorded = random_.Below(4) == 0;
    if (plan_.recorded) {
      for (std::uint64_t i = random_.Below(5); i > 0; --i) AddDiskFault();
    }
    std::ranges::stable_sort(plan_.steps, {}, &Step::at);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) plan_.steps[i].index = i;
    return std::move(plan_);
  }

 private:
  std::int64_t Below(std::uint64_t bound) { return static_cast<std::int64_t>(random_.Below(bound)); }
  milliseconds Between(milliseconds from, milliseconds to) {
    return from + milliseconds(Below(static_cast<std::uint64_t>((to - from).count())));
  }
  template <std::size_t N>
  StepKind Choose(const Choice (&choices)[N]) {
    std::uint64_t total = 0;
    for (const Choice& choice : choices) total += static_cast<std::uint64_t>(choice.weight);
    std::int64_t left = Below(total);
    for (const Choice& choice : choices) {
      if ((left -= choice.weight) < 0) return choice.kind;
    }
    return choices[0].kind;
  }
  template <class Fill>
  void AddStep(StepKind kind, milliseconds at, Fill&& fill) {
    Step step{.at = at, .kind = kind};
    fill(step);
    plan_.steps.push_back(step);
  }

  void AddUserStep() {
    AddStep(Choose(kUserSteps), Between(kFirst, kLast), [&](Step& step) {
      switch (step.kind) {
        case StepKind::kCreatePods:
        case StepKind::kCreateReplicaSet:
          step.which = random_.Below(kTemplates.size());
          step.number = 1 + Below(8);
          if (kTemplates[step.which].runs_for_seconds > 0 || kTemplates[step.which].needs_volume)
            step.kind = StepKind::kCreatePods;
          break;
        case StepKind::kCreateGroup:
          step.which = random_.Below(kGroupTemplates);
          step.number = 2 + Below(4);
          if (!plan_.groups) step.kind = StepKind::kCreatePods;
          break;
        case StepKind::kScaleReplicaSet:
          step.which = random_.Below(4);
          step.number = Below(10);
          break;
        case StepKind::kDeletePods:
          step.number = 1 + Below(4);
          break;
        case StepKind::kAddNode:
          step.which = nodes_++;
          break;
        default:
          step.which = random_.Below(plan_.nodes);
          step.lasts = Between(milliseconds(2'000), milliseconds(40'000));
      }
    });
  }

  void AddFault() {
    AddStep(Choose(kFaults), Between(kFirst, kLast), [&](Step& step) {
      step.which = random_.Below(kReplicas);
      step.lasts = Between(milliseconds(100), milliseconds(random_.Below(3) == 0 ? 40'000 : 6'000));
      if (step.kind == StepKind::kSlowNetwork) step.number = 10 + Below(90);
      if (step.kind == StepKind::kRequestFaults) step.number = Below(1U << kRequestFaultBits);
      if (step.kind == StepKind::kStallWatch) step.number = Below(std::size(kStalledResources));
      if (step.kind == StepKind::kJumpClock) step.number = Below(14'400) - 7'200;
      if (step.kind == StepKind::kExtenderFault) step.number = 1 + Below(kExtenderFaults);
      if (step.kind == StepKind::kServerDown)
        step.lasts = std::min<Duration>(step.lasts, milliseconds(12'000));
      const bool momentary = step.kind == StepKind::kCutWatches || step.kind == StepKind::kJumpClock ||
                             step.kind == StepKind::kCompact;
      if (momentary) step.lasts = {};
    });
  }

  void AddMeasurementFault() {
    AddStep(StepKind::kMeasurementFault, Between(kFirst, kLast), [&](Step& step) {
      step.which = random_.Below(kReplicas);
      step.number = 1 + Below(kMeasurementFaults);
      step.lasts = Between(milliseconds(1'000), milliseconds(60'000));
    });
  }

  void AddDiskFault() {
    AddStep(StepKind::kDiskFault, Between(kFirst, kLast), [&](Step& step) {
      step.which = random_.Below(kReplicas);
      // A full disk ends the recording.
      step.number = static_cast<std::int64_t>(random_.Below(4) == 0 ? DiskFault::kFull : DiskFault::kSlow);
      step.lasts = Between(milliseconds(1'000), milliseconds(40'000));
    });
  }

  Random random_;
  Plan plan_;
  std::size_t nodes_ = 0;
};

std::string Seconds(Duration time) {
  return fmt::format("{:.3f} s", std::chrono::duration<double>(time).count());
}

// By ExtenderFault.
constexpr const char* kExtenderFaultNames[] = {"no fault", "no response", "error 500", "a malformed reply",
                                               "a refused connection"};

// By MeasurementFault.
constexpr const char* kMeasurementFaultNames[] = {
    "no fault", "no response", "error 503", "a truncated response", "a refused connection",
    "gaps",     "no series",   "NaN"};

// By DiskFault.
constexpr const char* kDiskFaultNames[] = {"no fault of the disk", "a slow disk", "a full disk"};

std::string Action(const Step& step) {
  const std::string replica = fmt::format("replica-{}", step.which);
  const std::string node = fmt::format("node {}", NodeName(step.which));
  const std::string lasts = "for " + Seconds(step.lasts);
  switch (step.kind) {
    case StepKind::kCreatePods:
      return fmt::format("create {} pods of \"{}\"", step.number, kTemplates[step.which].name);
    case StepKind::kCreateReplicaSet:
      return fmt::format("create a ReplicaSet of {} pods of \"{}\"", step.number,
                         kTemplates[step.which].name);
    case StepKind::kScaleReplicaSet:
      return fmt::format("scale ReplicaSet {} to {}", step.which, step.number);
    case StepKind::kDeletePods:
      return fmt::format("delete {} pods", step.number);
    case StepKind::kAddNode:
      return "add " + node;
    case StepKind::kDeleteNode:
      return fmt::format("delete {}, create it again after {}", node, Seconds(step.lasts));
    case StepKind::kFailNode:
      return fmt::format("{} is silent {}", node, lasts);
    case StepKind::kCordonNode:
      return fmt::format("{} is cordoned {}", node, lasts);
    case StepKind::kTaintNode:
      return fmt::format("{} is tainted {}", node, lasts);
    case StepKind::kCreateGroup:
      return fmt::format("create a pod group of {} pods of \"{}\"", step.number, kTemplates[step.which].name);
    case StepKind::kExtenderFault:
      return fmt::format("{} of the extender for {} {}", kExtenderFaultNames[step.number], replica, lasts);
    case StepKind::kKill:
      return fmt::format("kill {}, restart after {}", replica, Seconds(step.lasts));
    case StepKind::kTerminate:
      return fmt::format("terminate {}, restart {} after its end", replica, Seconds(step.lasts));
    case StepKind::kStopProcess:
      return fmt::format("stop the process of {} {}", replica, lasts);
    case StepKind::kSuspendMachine:
      return fmt::format("suspend the machine of {} {}", replica, lasts);
    case StepKind::kPartition:
      return fmt::format("partition {} from the API server {}", replica, lasts);
    case StepKind::kSlowNetwork:
      return fmt::format("the latency of {} is {} times as long {}", replica, step.number, lasts);
    case StepKind::kRequestFaults:
      return fmt::format("requests of {} fail {} (mask {})", replica, lasts, step.number);
    case StepKind::kCutWatches:
      return fmt::format("cut the watches of {}", replica);
    case StepKind::kStallWatch:
      return fmt::format("stall the watch of {} of {} {}", kStalledResources[step.number], replica, lasts);
    case StepKind::kJumpClock:
      return fmt::format("the time of day of {} jumps by {} s", replica, step.number);
    case StepKind::kServerDown:
      return fmt::format("the API server is down {}", lasts);
    case StepKind::kCompact:
      return "compact the history of the API server";
    case StepKind::kMeasurementFault:
      return fmt::format("{} of Prometheus for {} {}", kMeasurementFaultNames[step.number], replica, lasts);
    case StepKind::kDiskFault:
      return fmt::format("{} of {} {}", kDiskFaultNames[step.number], replica, lasts);
  }
  return {};
}

}  // namespace

bool Plan::IsPrompt() const {
  return std::ranges::none_of(steps, [this](const Step& step) {
    switch (step.kind) {
      case StepKind::kStopProcess:
      case StepKind::kSuspendMachine:
      case StepKind::kPartition:
      case StepKind::kSlowNetwork:
      case StepKind::kRequestFaults:
      case StepKind::kServerDown:
        return true;
      case StepKind::kExtenderFault:
        return extender != ExtenderUse::kNone;
      default:
        return false;
    }
  });
}

Duration Plan::End() const {
  Duration end{};
  for (const Step& step : steps) end = std::max(end, step.at + step.lasts);
  return end;
}

Plan MakePlan(std::uint64_t seed) { return Planner(seed).Make(); }

Plan KeepSteps(const Plan& plan, const std::set<std::size_t>& keep) {
  Plan kept = plan;
  std::erase_if(kept.steps, [&](const Step& step) { return !keep.contains(step.index); });
  return kept;
}

std::string DescribeCluster(const Plan& plan) {
  std::string text = fmt::format("{} nodes", plan.nodes);
  if (plan.groups) text += ", pod groups";
  if (plan.extender == ExtenderUse::kRequired) text += ", a required extender";
  if (plan.extender == ExtenderUse::kIgnorable) text += ", an ignorable extender";
  if (plan.measured) text += ", measured loads";
  if (plan.recorded) text += ", recordings";
  if (plan.calm) text += ", constant latency";
  return text;
}

std::string Describe(const Step& step) {
  return fmt::format("{:>11} #{:<3} {}", Seconds(step.at), step.index, Action(step));
}

}  // namespace berth::faults
