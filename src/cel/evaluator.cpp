#include "cel/evaluator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace berth::cel {
namespace {

constexpr std::uint64_t kWorkPerCost = 16;
constexpr std::uint64_t kLeastWork = 100'000;
constexpr std::uint64_t kInterruptFrequency = 100;  // iterations
constexpr std::size_t kFirstCompaction = 1024;      // results
constexpr std::size_t kFirstIds = 64;

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

std::uint64_t Evaluator::Effort() const { return std::max(cost_, budget_.spent() / kWorkPerCost); }

void Evaluator::Push(std::int64_t id, const Value& value) {
  if (cancelled_) return;
  if (results_.size() >= compact_at_) Compact();
  Append(id, value, Newest(id));
  budget_.Spend(1);
  if (cost_ > options_.cost_limit || budget_.exhausted()) Cancel(kTooExpensive);
}

void Evaluator::Drop(std::int64_t id) {
  if (const std::size_t newest = Newest(id); newest > 0) Truncate(newest - 1);
}

bool Evaluator::Take(std::int64_t id, Value& value) {
  const std::size_t newest = Newest(id);
  if (newest == 0) return false;
  value = std::move(results_[newest - 1].value);
  Truncate(newest - 1);
  return true;
}

std::size_t Evaluator::Newest(std::int64_t id) const {
  const auto at = static_cast<std::size_t>(id);
  return at < newest_.size() ? newest_[at] : 0;
}

void Evaluator::Append(std::int64_t id, Value value, std::size_t older) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= newest_.size()) newest_.resize(std::max({at + 1, 2 * newest_.size(), kFirstIds}));
  results_.push_back({id, std::move(value), older});
  newest_[at] = results_.size();
}

void Evaluator::Truncate(std::size_t size) {
  while (results_.size() > size) {
    newest_[static_cast<std::size_t>(results_.back().id)] = results_.back().older;
    results_.pop_back();
  }
}

// Long comprehensions leave results behind in every iteration. Only the newest result of an id can be found,
// until it is removed.
void Evaluator::Compact() {
  std::vector<Result> all = std::exchange(results_, {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (Newest(all[i].id) == i + 1) Append(all[i].id, std::move(all[i].value), 0);
  }
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
