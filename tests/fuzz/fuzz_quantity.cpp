// Arithmetic of quantities: order, sums and the two roundings are consistent.
#include "kubernetes/api/quantity.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using berth::api::Quantity;
using berth::fuzz::Require;

// Far enough from the limits of int64 that nothing saturates.
bool Moderate(const Quantity& q) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;
  return q.Compare(Quantity::FromInteger(kLimit)) < 0 && q.Compare(Quantity::FromInteger(-kLimit)) > 0;
}

std::int64_t RoundUp(std::int64_t milli) { return (milli + 999) / 1000; }

void Alone(const Quantity& q) {
  const Quantity zero;
  Require(q.Compare(q) == 0, "q = q");
  Require(q.IsZero() == (q.Compare(zero) == 0), "zero is zero");
  Require(q.Compare(zero) == -zero.Compare(q), "order is antisymmetric");
  Quantity sum = q;
  sum += zero;
  Require(sum.Compare(q) == 0, "q + 0 = q");
  Quantity stored = q;
  stored.RoundUpToMilli();
  Require((q.Compare(zero) >= 0) == (stored.Compare(zero) >= 0), "rounding keeps the sign");
  // With big numbers Go rounds negative values up instead of away from zero, and so does Berth.
  if (!Moderate(q) || q.Compare(zero) < 0) return;
  Require(q.Value() == RoundUp(q.MilliValue()), "both roundings agree");
  Require(stored.Compare(Quantity::FromMilli(q.MilliValue())) == 0, "what is stored is the milli value");
}

void Together(const Quantity& a, const Quantity& b) {
  Require(a.Compare(b) == -b.Compare(a), "order is antisymmetric");
  Quantity ab = a, ba = b;
  ab += b;
  ba += a;
  Require(ab.Compare(ba) == 0, "a + b = b + a");
  if (Moderate(a) && Moderate(b) && b.Compare(Quantity()) > 0) Require(ab.Compare(a) > 0, "a + b > a");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = berth::fuzz::Lines(berth::fuzz::Text(data, size));
  std::vector<Quantity> all;
  for (const auto& line : lines) {
    const auto q = Quantity::Parse(line);
    if (!q) {
      Require(!q.error().message.empty(), "a refusal has a reason");
      continue;
    }
    Alone(*q);
    all.push_back(*q);
    if (all.size() == 4) break;
  }
  for (const auto& a : all) {
    for (const auto& b : all) Together(a, b);
  }
  return 0;
}
