#include "scheduler/plugins/capacity_scheduling/quota_amounts.hpp"

#include <algorithm>

#include "kubernetes/api/requests.hpp"

namespace berth::plugins {
namespace {

using Scalar = std::pair<std::string, std::int64_t>;

std::int64_t Plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t Minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// Requests that exceed 2^63 in sum wrap to negative amounts. Such a pod must not lower the sums of its quota:
// it counts with the largest amount.
void Bound(std::int64_t& amount) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (amount < 0 || amount > kMost) amount = kMost;
}

// Applies `combine(amount so far, other amount)` to each of the others, which are in the order of names. Pods
// may name any number of resources: new ones are sorted in at once.
template <class Combine>
void MergeScalars(const std::vector<Scalar>& others, std::vector<Scalar>& scalars, Combine&& combine) {
  if (others.empty()) return;
  const auto known = static_cast<std::ptrdiff_t>(scalars.size());
  std::ptrdiff_t at = 0;
  for (const auto& [name, amount] : others) {
    const auto first = scalars.begin();
    at = std::ranges::lower_bound(first + at, first + known, name, {}, &Scalar::first) - first;
    if (at < known && scalars[static_cast<std::size_t>(at)].first == name) {
      std::int64_t& own = scalars[static_cast<std::size_t>(at)].second;
      own = combine(own, amount);
    } else {
      scalars.emplace_back(name, combine(std::int64_t{0}, amount));
    }
  }
  std::ranges::inplace_merge(scalars, scalars.begin() + known, {}, &Scalar::first);
}

// Applies `combine(amount so far, quantity's amount)` to every resource of the list.
template <class Combine>
void Merge(const api::ResourceList& list, QuotaAmounts& amounts, Combine&& combine) {
  std::vector<Scalar> scalars;
  for (const auto& [name, quantity] : list) {
    switch (api::ClassOf(name)) {
      case api::ResourceClass::kCpu:
        amounts.milli_cpu = combine(amounts.milli_cpu, quantity.MilliValue());
        break;
      case api::ResourceClass::kMemory:
        amounts.memory = combine(amounts.memory, quantity.Value());
        break;
      case api::ResourceClass::kEphemeralStorage:
        amounts.ephemeral_storage = combine(amounts.ephemeral_storage, quantity.Value());
        break;
      case api::ResourceClass::kPods:
        amounts.pods = combine(amounts.pods, quantity.Value());
        break;
      case api::ResourceClass::kScalar:
      case api::ResourceClass::kExtended:
        scalars.emplace_back(name, quantity.Value());
        break;
      case api::ResourceClass::kIgnored:
        break;
    }
  }
  MergeScalars(scalars, amounts.scalars, combine);
}

// Calls visit(name) for every resource of which `used` + `more` exceeds `limit`, until it returns true.
// Returns whether it did.
template <class Visit>
bool AnyExceeded(const QuotaAmounts& more, const QuotaAmounts& used, const QuotaAmounts& limit,
                 std::int64_t unlisted, Visit&& visit) {
  const auto exceeds = [&](std::string_view name, std::int64_t a, std::int64_t b, std::int64_t most) {
    return Plus(a, b) > most && visit(name);
  };
  if (exceeds("cpu", more.milli_cpu, used.milli_cpu, limit.milli_cpu)) return true;
  if (exceeds("memory", more.memory, used.memory, limit.memory)) return true;
  if (exceeds("ephemeral-storage", more.ephemeral_storage, used.ephemeral_storage, limit.ephemeral_storage))
    return true;
  if (exceeds("pods", more.pods, used.pods, limit.pods)) return true;
  return std::ranges::any_of(more.scalars, [&](const Scalar& scalar) {
    const auto& [name, amount] = scalar;
    const std::int64_t* const own = used.FindScalar(name);
    const std::int64_t* const most = limit.FindScalar(name);
    return exceeds(name, amount, own == nullptr ? 0 : *own, most == nullptr ? unlisted : *most);
  });
}

}  // namespace

const std::int64_t* QuotaAmounts::FindScalar(const std::string& name) const {
  const auto place = std::ranges::lower_bound(scalars, name, {}, &Scalar::first);
  return place != scalars.end() && place->first == name ? &place->second : nullptr;
}

QuotaAmounts& QuotaAmounts::operator+=(const QuotaAmounts& other) {
  milli_cpu = Plus(milli_cpu, other.milli_cpu);
  memory = Plus(memory, other.memory);
  ephemeral_storage = Plus(ephemeral_storage, other.ephemeral_storage);
  pods = Plus(pods, other.pods);
  MergeScalars(other.scalars, scalars, Plus);
  return *this;
}

QuotaAmounts& QuotaAmounts::operator-=(const QuotaAmounts& other) {
  milli_cpu = Minus(milli_cpu, other.milli_cpu);
  memory = Minus(memory, other.memory);
  ephemeral_storage = Minus(ephemeral_storage, other.ephemeral_storage);
  pods = Minus(pods, other.pods);
  MergeScalars(other.scalars, scalars, Minus);
  std::erase_if(scalars, [](const Scalar& scalar) { return scalar.second == 0; });
  return *this;
}

QuotaAmounts ToQuotaAmounts(const api::ResourceList& list) {
  QuotaAmounts amounts;
  Merge(list, amounts, Plus);
  return amounts;
}

QuotaAmounts QuotaRequestOf(const api::Pod& pod) {
  const auto higher = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
  QuotaAmounts amounts;
  for (const api::Container& container : pod.spec.containers)
    Merge(container.resources.requests, amounts, Plus);
  for (const api::Container& container : pod.spec.init_containers) {
    Merge(container.resources.requests, amounts, higher);
  }
  Merge(pod.spec.overhead, amounts, Plus);
  // Pods are not a resource that containers can request.
  amounts.pods = 0;
  for (std::int64_t* amount : {&amounts.milli_cpu, &amounts.memory, &amounts.ephemeral_storage})
    Bound(*amount);
  for (auto& [name, amount] : amounts.scalars) Bound(amount);
  return amounts;
}

std::vector<std::string> ExceededResources(const QuotaAmounts& more, const QuotaAmounts& used,
                                           const QuotaAmounts& limit, std::int64_t unlisted) {
  std::vector<std::string> exceeded;
  AnyExceeded(more, used, limit, unlisted, [&](std::string_view name) {
    exceeded.emplace_back(name);
    return false;
  });
  return exceeded;
}

bool Exceeds(const QuotaAmounts& more, const QuotaAmounts& used, const QuotaAmounts& limit,
             std::int64_t unlisted) {
  return AnyExceeded(more, used, limit, unlisted, [](std::string_view) { return true; });
}

std::int64_t AmountOf(const QuotaAmounts& amounts, const std::string& resource) {
  if (resource == "cpu") return amounts.milli_cpu;
  if (resource == "memory") return amounts.memory;
  if (resource == "ephemeral-storage") return amounts.ephemeral_storage;
  if (resource == "pods") return amounts.pods;
  const std::int64_t* const amount = amounts.FindScalar(resource);
  return amount == nullptr ? 0 : *amount;
}

std::string AmountText(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu") return api::Quantity::FromMilli(amount).Canonical();
  api::Quantity quantity = api::Quantity::FromInteger(amount);
  if (resource == "memory" || resource == "ephemeral-storage") {
    if (const auto binary = api::Quantity::Parse("1Ki")) quantity.FormatAs(*binary);
  }
  return quantity.Canonical();
}

}  // namespace berth::plugins
