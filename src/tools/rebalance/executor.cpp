#include "tools/rebalance/executor.hpp"

#include <fmt/format.h>

#include "observability/log/log.hpp"
#include "tools/rebalance/protection.hpp"

namespace berth::rebalance {
namespace {

constexpr const char* kController = "berth-rebalance";

// Whether the reason applies to one pod, so that the next one can be tried.
bool ConcernsOnePod(EvictionResult result) {
  return result != EvictionResult::kFailed && result != EvictionResult::kUnknown;
}

}  // namespace

std::string_view NameOf(EvictionResult result) {
  constexpr std::string_view kNames[] = {"evicted", "refused", "gone", "unknown", "failed", "dry-run"};
  return kNames[static_cast<std::size_t>(result)];
}

void Executor::Execute(std::vector<Move> moves, Done done) {
  busy_ = true;
  moves_ = std::move(moves);
  outcomes_.clear();
  done_ = std::move(done);
  Next();
}

void Executor::Next() {
  if (outcomes_.size() == moves_.size() || (!outcomes_.empty() && !ConcernsOnePod(outcomes_.back().result))) {
    busy_ = false;
    auto done = std::move(done_);
    return done(std::move(outcomes_));
  }
  parts_.evictor.Evict(moves_[outcomes_.size()].pod,
                       [this, alive = std::weak_ptr(alive_), post = parts_.post](EvictionOutcome outcome) {
                         post([this, alive, outcome = std::move(outcome)]() mutable {
                           if (!alive.expired()) OnResult(std::move(outcome));
                         });
                       });
}

void Executor::OnResult(EvictionOutcome outcome) {
  const Move& move = moves_[outcomes_.size()];
  Record(move, outcome);
  EmitEvent(move, outcome);
  outcomes_.push_back(std::move(outcome));
  Next();
}

void Executor::Record(const Move& move, EvictionOutcome& outcome) {
  const WallTime now = parts_.clock.WallNow();
  const std::string subject = move.Subject();
  if (outcome.result == EvictionResult::kEvicted || outcome.result == EvictionResult::kUnknown) {
    parts_.history.Add({now, subject, move.from, move.to});
    parts_.history.Accepted(subject);
  } else if (outcome.result == EvictionResult::kRefused) {
    outcome.error +=
        fmt::format(" (next attempt in {})", ShortDuration(parts_.history.Refused(subject, now)));
  }
  parts_.metrics
      .Counter("berth_rebalance_evictions_total",
               "[ALPHA] Planned evictions by result: evicted, refused (429, for example by a "
               "PodDisruptionBudget), gone, unknown (the response was lost), failed, dry-run.",
               {{"result", std::string(NameOf(outcome.result))}})
      .Add();
  log::Info("Rebalancing", {{"pod", move.pod->metadata.Key()},
                            {"from", move.from},
                            {"to", move.to},
                            {"benefit", fmt::format("{:.1f}", move.benefit)},
                            {"result", NameOf(outcome.result)},
                            {"error", outcome.error},
                            {"why", move.reason}});
}

void Executor::EmitEvent(const Move& move, const EvictionOutcome& outcome) {
  ports::Event event;
  event.controller = kController;
  event.action = "Evicting";
  event.regarding = move.pod;
  if (outcome.result == EvictionResult::kEvicted) {
    event.reason = "Rebalanced";
    event.note = fmt::format("Evicted: {}", move.reason);
  } else if (outcome.result == EvictionResult::kRefused || outcome.result == EvictionResult::kFailed) {
    event.type = ports::Event::Type::kWarning;
    event.reason = "RebalancingFailed";
    event.note = fmt::format("Could not evict the pod: {}", outcome.error);
  } else {
    return;
  }
  parts_.events.Emit(std::move(event));
}

}  // namespace berth::rebalance
