#include "cel/evaluator.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace berth::cel {
namespace {

constexpr std::uint64_t kWorkPerCost = 16;
constexpr std::uint64_t kLeastWork = 100'000;
constexpr std::uint64_t kInterruptFrequency = 100;  // iterations
constexpr std::size_t kFirstCompaction = 1024;      // results

std::uint64_t WorkFor(std::uint64_t cost_limit) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / kWorkPerCost;
  return std::max(kLeastWork, std::min(cost_limit, most) * kWorkPerCost);
}

constexpr const char* kTooExpensive = "operation cancelled: actual cost limit exceeded";

}  // namespace

Evaluator::Evaluator(std::span<const Value> variables, std::size_t slots, const EvaluationOptions& options)
    : variables_(variables),
      options_(options),
      slots_(slots),
      compact_at_(kFirstCompaction),
      budget_(WorkFor(options.cost_limit)) {
  results_.reserve(32);
}

void Evaluator::Push(std::int64_t id, const Value& value) {
  if (cancelled_) return;
  if (results_.size() >= compact_at_) Compact();
  results_.push_back({id, value});
  budget_.Spend(1);
  if (cost_ > options_.cost_limit || budget_.exhausted()) Cancel(kTooExpensive);
}

void Evaluator::Drop(std::int64_t id) {
  for (std::size_t i = results_.size(); i > 0; --i) {
    if (results_[i - 1].id != id) continue;
    results_.resize(i - 1);
    return;
  }
}

bool Evaluator::Take(std::int64_t id, Value& value) {
  for (std::size_t i = results_.size(); i > 0; --i) {
    if (results_[i - 1].id != id) continue;
    value = std::move(results_[i - 1].value);
    results_.resize(i - 1);
    return true;
  }
  return false;
}

// Long comprehensions leave results behind in every iteration. Only the newest result of an id can be found,
// until it is removed.
void Evaluator::Compact() {
  std::unordered_set<std::int64_t> seen;
  std::vector<Result> kept;
  for (std::size_t i = results_.size(); i > 0; --i) {
    if (seen.insert(results_[i - 1].id).second) kept.push_back(std::move(results_[i - 1]));
  }
  std::reverse(kept.begin(), kept.end());
  results_ = std::move(kept);
  compact_at_ = std::max(kFirstCompaction, results_.size() * 2);
}

bool Evaluator::CheckInterrupt() {
  if (interrupted_) return true;
  if (++iterations_ % kInterruptFrequency == 0 && options_.interrupted && options_.interrupted()) {
    interrupted_ = true;
  }
  return interrupted_;
}

void Evaluator::Cancel(std::string message) {
  if (cancelled_) return;
  cancelled_ = true;
  cancellation_ = std::move(message);
}

}  // namespace berth::cel
