#include "tests/faults/shrink.hpp"

#include <algorithm>

namespace berth::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Shorter durations and distances stay.
constexpr milliseconds kShortest{200};
constexpr seconds kClose{1};

class Shrinker {
 public:
  Shrinker(const Plan& plan, const Violates& violates, std::size_t max_runs)
      : smallest_(plan), violates_(violates), runs_left_(max_runs) {}

  Plan Run() {
    RemoveSteps();
    bool smaller = true;
    while (smaller && runs_left_ > 0) {
      smaller = Simplify([](Plan& plan) { plan.calm = true; });
      smaller |= Simplify([](Plan& plan) { plan.groups = false; });
      smaller |= Simplify([](Plan& plan) { plan.extender = ExtenderUse::kNone; });
      smaller |= Simplify([](Plan& plan) { plan.measured = false; });
      smaller |= Simplify([](Plan& plan) { plan.recorded = false; });
      smaller |= RemoveNodes();
      for (std::size_t i = 0; i < smallest_.steps.size(); ++i) smaller |= ShrinkStep(i);
      smaller |= RemoveSteps();
    }
    return smallest_;
  }

 private:
  bool Try(Plan candidate) {
    if (runs_left_ == 0) return false;
    --runs_left_;
    if (!violates_(candidate)) return false;
    smallest_ = std::move(candidate);
    return true;
  }

  // Halves, quarters and so on, at last single steps.
  bool RemoveSteps() {
    bool smaller = false;
    for (std::size_t size = std::max<std::size_t>(smallest_.steps.size() / 2, 1); size > 0; size /= 2) {
      for (std::size_t begin = 0; begin < smallest_.steps.size();) {
        Plan candidate = smallest_;
        const auto first = candidate.steps.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t count = std::min(size, candidate.steps.size() - begin);
        candidate.steps.erase(first, first + static_cast<std::ptrdiff_t>(count));
        if (Try(std::move(candidate))) {
          smaller = true;
        } else {
          begin += size;
        }
      }
    }
    return smaller;
  }

  template <class Change>
  bool Simplify(Change&& change) {
    Plan candidate = smallest_;
    change(candidate);
    return candidate != smallest_ && Try(std::move(candidate));
  }

  bool RemoveNodes() {
    bool smaller = false;
    while (smallest_.nodes > 1) {
      Plan candidate = smallest_;
      --candidate.nodes;
      if (!Try(std::move(candidate))) break;
      smaller = true;
    }
    return smaller;
  }

  bool ShrinkStep(std::size_t i) {
    const bool fewer = Halve(i, [](Step& step) {
      const bool counts_pods = step.kind == StepKind::kCreatePods ||
                               step.kind == StepKind::kCreateReplicaSet ||
                               step.kind == StepKind::kCreateGroup ||
                               step.kind == StepKind::kScaleReplicaSet || step.kind == StepKind::kDeletePods;
      if (!counts_pods || step.number < 2) return false;
      step.number /= 2;
      return true;
    });
    const bool one_less = Halve(i, [](Step& step) {
      if (step.kind != StepKind::kCreatePods && step.kind != StepKind::kCreateReplicaSet) return false;
      return --step.number > 0;
    });
    const bool shorter = Halve(i, [](Step& step) {
      if (step.lasts < 2 * kShortest) return false;
      step.lasts = milliseconds(step.lasts / milliseconds(2));
      return true;
    });
    const bool simpler = FewerFaults(i);
    return CloseGap(i) || fewer || one_less || shorter || simpler;
  }

  // `change` returns false if the step cannot become smaller.
  template <class Change>
  bool Halve(std::size_t i, Change&& change) {
    bool smaller = false;
    for (;;) {
      Plan candidate = smallest_;
      if (i >= candidate.steps.size() || !change(candidate.steps[i]) || !Try(std::move(candidate))) break;
      smaller = true;
    }
    return smaller;
  }

  // The kinds of request faults, one by one.
  bool FewerFaults(std::size_t i) {
    bool smaller = false;
    for (unsigned bit = 0; bit < kRequestFaultBits; ++bit) {
      Plan candidate = smallest_;
      Step& step = candidate.steps[i];
      if (step.kind != StepKind::kRequestFaults || (step.number >> bit & 1) == 0) continue;
      step.number &= ~(std::int64_t{1} << bit);
      smaller |= Try(std::move(candidate));
    }
    return smaller;
  }

  // Moves this step and all later ones towards the one before.
  bool CloseGap(std::size_t i) {
    bool smaller = false;
    for (;;) {
      const Duration before = i == 0 ? Duration{} : smallest_.steps[i - 1].at;
      const Duration gap = smallest_.steps[i].at - before;
      if (gap <= kClose) break;
      Plan candidate = smallest_;
      const Duration less = milliseconds(gap / milliseconds(2));
      for (std::size_t j = i; j < candidate.steps.size(); ++j) candidate.steps[j].at -= less;
      if (!Try(std::move(candidate))) break;
      smaller = true;
    }
    return smaller;
  }

  Plan smallest_;
  const Violates& violates_;
  std::size_t runs_left_;
};

}  // namespace

Plan Shrink(const Plan& plan, const Violates& violates, std::size_t max_runs) {
  return Shrinker(plan, violates, max_runs).Run();
}

}  // namespace berth::faults
