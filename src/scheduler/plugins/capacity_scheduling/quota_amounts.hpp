// Resource amounts of quotas, with the arithmetic of scheduler-plugins v0.33.5 (pkg/capacityscheduling).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/pod.hpp"

namespace berth::plugins {

// Milli-cores, bytes, and counts; sums wrap around, as in Go. Resources that the scheduler ignores, such as
// "storage", are not contained.
struct QuotaAmounts {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral_storage = 0;
  std::int64_t pods = 0;
  std::vector<std::pair<std::string, std::int64_t>> scalars = {};  // by name

  // Null: not listed.
  const std::int64_t* FindScalar(const std::string& name) const;
  QuotaAmounts& operator+=(const QuotaAmounts& other);
  // Scalars whose amount becomes 0 are removed.
  QuotaAmounts& operator-=(const QuotaAmounts& other);
  friend bool operator==(const QuotaAmounts&, const QuotaAmounts&) = default;
};

QuotaAmounts ToQuotaAmounts(const api::ResourceList& list);
// What a pod counts for: the sum over its containers, or the highest amount of an init container if that is
// more, plus the overhead. Sidecars count as init containers, and pod-level requests do not count, as in
// scheduler-plugins.
QuotaAmounts QuotaRequestOf(const api::Pod& pod);

// Whether, and for which resources, `used` + `more` exceeds `limit`; of scalars, only those of `more` are
// compared. A scalar that `limit` does not list has the limit `unlisted`.
bool Exceeds(const QuotaAmounts& more, const QuotaAmounts& used, const QuotaAmounts& limit,
             std::int64_t unlisted);
std::vector<std::string> ExceededResources(const QuotaAmounts& more, const QuotaAmounts& used,
                                           const QuotaAmounts& limit, std::int64_t unlisted);
// Of "cpu", "memory", "ephemeral-storage", "pods" or a scalar; 0 if the scalar is not listed.
std::int64_t AmountOf(const QuotaAmounts& amounts, const std::string& resource);
// The amount as a quantity: "1500m", "2Gi", "8".
std::string AmountText(const std::string& resource, std::int64_t amount);

}  // namespace berth::plugins
