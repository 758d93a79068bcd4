// What a pod requests and a node does not have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/quantity.hpp"
#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// Amounts of the engine: milli-cores, bytes, counts.
struct Shortage {
  std::string resource;  // "cpu"; "pods": the number of pods is exhausted
  std::int64_t request = 0;
  std::int64_t free = 0;  // negative if the node is overcommitted
  std::int64_t total = 0;

  std::int64_t missing() const { return request - free; }
  double part() const { return static_cast<double>(missing()) / static_cast<double>(request); }
};

// Sorted as NodeResourcesFit reports them: pods, cpu, memory, ephemeral-storage, others by name.
std::vector<Shortage> ShortagesOn(const Situation& at, cluster::Row row);
// The shortage of this resource, whether NodeResourcesFit ignores it or not; nullopt: there is none.
std::optional<Shortage> ShortageOf(const Situation& at, cluster::Row row, const std::string& resource);
// The largest part() of the shortages on the row; 0: none.
double ShortfallOn(const Situation& at, cluster::Row row);

// "1500m" for cpu, "1.5Gi" for bytes, plain numbers for other resources; rounded to four digits.
std::string AmountText(const std::string& resource, std::int64_t amount);
// At most the amount, and exact: bytes are rounded down to whole Mi where the amount has one.
api::Quantity AmountQuantity(const std::string& resource, std::int64_t amount);

}  // namespace berth::explanation
