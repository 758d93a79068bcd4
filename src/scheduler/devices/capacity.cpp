#include "scheduler/devices/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>

#include "base/go_quote.hpp"
#include "kubernetes/api/quantity_arithmetic.hpp"

namespace berth::devices {
namespace {

using api::CapacityRequestPolicy;
using api::DeviceCapacity;
using api::Quantity;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kNotRepresentable =
    "capacity request cannot be represented in the device's range arithmetic";

// The amount in thousandths; nullopt: it is not a whole number of them.
std::optional<std::int64_t> Milli(const Quantity& amount) {
  const std::int64_t milli = amount.MilliValue();
  if (amount.Compare(Quantity::FromMilli(milli)) != 0) return std::nullopt;
  return milli;
}

// Whether steps are counted in thousandths.
bool CountsInMilli(const CapacityRequestPolicy::Range& range, bool fractional) {
  if (!fractional) return false;
  for (const auto* bound : {&range.min, &range.max, &range.step}) {
    if (*bound && !Milli(**bound)) return false;
  }
  return !range.step || *Milli(*range.step) >= 1;
}

// min + step * n, the smallest such number not below `requested`. nullopt: beyond 2^63-1. Differences wrap
// around as Go's do.
std::optional<std::int64_t> RoundUp(std::int64_t requested, std::int64_t min, std::int64_t step) {
  const auto added =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(requested) - static_cast<std::uint64_t>(min));
  const std::int64_t steps = added / step + (added % step != 0 ? 1 : 0);
  if (min >= 0 && steps > (kMax - min) / step) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(min) +
                                   static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(steps));
}

Expected<Quantity> RoundUpToRange(const Quantity& requested, const CapacityRequestPolicy::Range& range,
                                  bool fractional) {
  if (requested.Compare(*range.min) < 0) return *range.min;
  if (!range.step) return requested;
  if (CountsInMilli(range, fractional)) {
    const auto milli = Milli(requested);
    if (!milli) {
      return Invalid(fmt::format("{}: request {} is not a representable milli value", kNotRepresentable,
                                 requested.Canonical()));
    }
    const auto rounded = RoundUp(*milli, *Milli(*range.min), *Milli(*range.step));
    if (!rounded) {
      return Invalid(fmt::format("{}: rounding request {} up to the next step passes the milli-value range",
                                 kNotRepresentable, requested.Canonical()));
    }
    Quantity result =
        *rounded % 1000 == 0 ? Quantity::FromInteger(*rounded / 1000) : Quantity::FromMilli(*rounded);
    result.FormatAs(*range.step);
    return result;
  }
  if (requested.Compare(Quantity::FromInteger(kMax)) > 0) {
    return Invalid(fmt::format("{}: request {} exceeds MaxInt64", kNotRepresentable, requested.Canonical()));
  }
  const std::int64_t step = range.step->Value();
  if (step == 0) return Invalid("capacity step is zero");
  const auto rounded = RoundUp(requested.Value(), range.min->Value(), step);
  if (!rounded) {
    return Invalid(fmt::format("{}: rounding request {} up to the next step passes MaxInt64",
                               kNotRepresentable, requested.Canonical()));
  }
  Quantity result = Quantity::FromInteger(*rounded);
  result.FormatAs(*range.step);
  return result;
}

Expected<Quantity> Consumed(const DeviceCapacity& capacity, const Quantity* requested, bool fractional) {
  const auto& policy = capacity.request_policy;
  if (requested == nullptr)
    return policy && policy->default_request ? *policy->default_request : capacity.value;
  if (!policy) return *requested;
  if (policy->valid_range && policy->valid_range->min)
    return RoundUpToRange(*requested, *policy->valid_range, fractional);
  const auto fitting = std::ranges::find_if(
      policy->valid_values, [&](const Quantity& value) { return requested->Compare(value) <= 0; });
  return fitting == policy->valid_values.end() ? *requested : *fitting;
}

bool ViolatesRange(const Quantity& consumed, const CapacityRequestPolicy::Range& range, bool fractional) {
  if (range.max && consumed.Compare(*range.max) > 0) return true;
  if (!range.step) return false;
  std::int64_t amount = 0, step = 0, min = 0;
  if (CountsInMilli(range, fractional)) {
    const auto milli = Milli(consumed);
    if (!milli) return true;
    amount = *milli;
    step = *Milli(*range.step);
    min = range.min ? *Milli(*range.min) : 0;
  } else {
    amount = consumed.Value();
    step = range.step->Value();
    min = range.min ? range.min->Value() : 0;
  }
  const auto added =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(amount) - static_cast<std::uint64_t>(min));
  return step != 0 && added % step != 0;
}

bool Violates(const Quantity& consumed, const std::optional<CapacityRequestPolicy>& policy, bool fractional) {
  if (!policy) return false;
  if (policy->default_request && consumed == *policy->default_request) return false;
  if (policy->valid_range) return ViolatesRange(consumed, *policy->valid_range, fractional);
  return !policy->valid_values.empty() &&
         std::ranges::none_of(policy->valid_values,
                              [&](const Quantity& value) { return consumed.Compare(value) == 0; });
}

// Finds amounts by names that ascend from call to call.
class AscendingFinder {
 public:
  explicit AscendingFinder(const api::QuantityMap& amounts) : at_(amounts.begin()), end_(amounts.end()) {}
  // Null: there is none with this name.
  const Quantity* operator()(std::string_view name) {
    for (; at_ != end_; ++at_) {
      const int order = at_->first.compare(name);
      if (order >= 0) return order == 0 ? &at_->second : nullptr;
    }
    return nullptr;
  }

 private:
  api::QuantityMap::const_iterator at_;
  const api::QuantityMap::const_iterator end_;
};

const api::QuantityMap& OrNothing(const std::optional<api::QuantityMap>& amounts) {
  static const api::QuantityMap kNothing;
  return amounts ? *amounts : kNothing;
}

// Calls take(name, amount) for each capacity of the device, in order.
Expected<void> ForEachConsumed(const api::Device& device, const std::optional<api::QuantityMap>& requested,
                               bool fractional, auto&& take) {
  AscendingFinder find(OrNothing(requested));
  for (const auto& [name, capacity] : device.capacity) {
    auto amount = Consumed(capacity, find(name), fractional);
    if (!amount) return std::unexpected(std::move(amount).error().In("capacity " + GoQuote(name)));
    if (amount->Compare(Quantity()) < 0)
      return Invalid(fmt::format("capacity {}: capacity value is negative", GoQuote(name)));
    take(name, *std::move(amount));
  }
  return {};
}

}  // namespace

Expected<api::QuantityMap> ConsumedCapacity(const api::Device& device,
                                            const std::optional<api::QuantityMap>& requested,
                                            bool fractional) {
  api::QuantityMap consumed;
  BERTH_RETURN_IF_ERROR(
      ForEachConsumed(device, requested, fractional, [&](const std::string& name, Quantity amount) {
        consumed.emplace_hint(consumed.end(), name, std::move(amount));
      }));
  return consumed;
}

// Runs for every device of every node that is not like another one: it allocates nothing in usual cases.
Expected<bool> HasCapacity(const api::Device& device, const std::optional<api::QuantityMap>& requested,
                           const api::QuantityMap& used, const api::QuantityMap& chosen, bool fractional) {
  for (const auto& [name, amount] : OrNothing(requested)) {
    if (!device.capacity.contains(name)) return false;
  }
  // An error counts whatever the other capacities are, so all amounts are computed first.
  boost::container::small_vector<Quantity, 4> totals;
  BERTH_RETURN_IF_ERROR(
      ForEachConsumed(device, requested, fractional,
                      [&](const std::string&, Quantity amount) { totals.push_back(std::move(amount)); }));
  AscendingFinder find_used(used), find_chosen(chosen);
  auto total = totals.begin();
  for (const auto& [name, capacity] : device.capacity) {
    if (Violates(*total, capacity.request_policy, fractional)) return false;
    if (const Quantity* amount = find_used(name)) *total += *amount;
    if (const Quantity* amount = find_chosen(name)) *total += *amount;
    if (total->Compare(capacity.value) > 0) return false;
    ++total;
  }
  return true;
}

void AddAmounts(api::QuantityMap& sums, const api::QuantityMap& amounts) {
  for (const auto& [name, amount] : amounts) sums[name] += amount;
}

void SubtractAmounts(api::QuantityMap& sums, const api::QuantityMap& amounts) {
  for (const auto& [name, amount] : amounts) {
    const auto sum = sums.try_emplace(name).first;
    api::QuantityArithmetic::Subtract(sum->second, amount);
    if (sum->second.IsZero()) sums.erase(sum);
  }
}

}  // namespace berth::devices
