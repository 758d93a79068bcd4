// Carries a plan out: evictions, events, metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubernetes/ports/ports.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/framework/handle.hpp"
#include "tools/rebalance/move_history.hpp"
#include "tools/rebalance/plan.hpp"

namespace berth::rebalance {

enum class EvictionResult : std::uint8_t {
  kEvicted,
  kRefused,  // 429: a PodDisruptionBudget, or too many requests
  kGone,     // the pod no longer existed, or its name belongs to another pod
  kUnknown,  // the response was lost
  kFailed,
  kDryRun,  // not sent
};
std::string_view NameOf(EvictionResult result);  // "evicted"

struct EvictionOutcome {
  EvictionResult result{};
  std::string error;
};

// Creates pods/eviction. `done` is called once, from any thread.
class Evictor {
 public:
  virtual ~Evictor() = default;
  virtual void Evict(const api::PodPtr& pod, std::move_only_function<void(EvictionOutcome)> done) = 0;
};

// Evicts nothing: every outcome is kDryRun.
class DryRunEvictor final : public Evictor {
 public:
  void Evict(const api::PodPtr&, std::move_only_function<void(EvictionOutcome)> done) override {
    done({EvictionResult::kDryRun, ""});
  }
};

struct ExecutorParts {
  Evictor& evictor;
  ports::EventSink& events;
  MoveHistory& history;
  metrics::Registry& metrics;
  const Clock& clock;
  framework::Poster post;  // to the loop
};

// Scheduler loop only.
class Executor {
 public:
  explicit Executor(ExecutorParts parts) : parts_(std::move(parts)) {}
  ~Executor() { *alive_ = false; }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Evicts the pods of the moves, one after the other: later moves are dropped if one fails for a reason that
  // is not the pod's own. `done` is called once, on the loop, with an outcome for each move that was tried.
  // Not to be called before the previous call is done. Outcomes of a dry run are not recorded as moves.
  using Done = std::move_only_function<void(std::vector<EvictionOutcome>)>;
  void Execute(std::vector<Move> moves, Done done);
  bool busy() const { return busy_; }

 private:
  void Next();
  void OnResult(EvictionOutcome outcome);
  void Record(const Move& move, EvictionOutcome& outcome);
  void EmitEvent(const Move& move, const EvictionOutcome& outcome);

  const ExecutorParts parts_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool busy_ = false;
  std::vector<Move> moves_;
  std::vector<EvictionOutcome> outcomes_;
  Done done_;
};

}  // namespace berth::rebalance
