// Chooses devices for the unallocated claims of one pod on one node: the first solution of a depth-first
// search, by default the same devices as kube-scheduler v1.37.1 chooses
// (dynamic-resource-allocation/structured, the variant for default feature gates).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/devices/inventory.hpp"

namespace berth::devices {

// The API server accepts no claim with more devices.
inline constexpr std::int64_t kMostDevicesOfClaim = 32;

// Evaluates selectors (CEL expressions) on devices.
class SelectorEvaluator {
 public:
  struct Answer {
    enum class Kind : std::uint8_t { kMatch, kNoMatch, kCompileError, kRuntimeError };
    Kind kind = Kind::kNoMatch;
    std::string error{};  // the text of an error
    // Of the evaluation, in steps of a search; the same whether the result was cached or not.
    std::uint64_t steps = 0;
  };
  virtual ~SelectorEvaluator() = default;
  // Equal for devices of one driver and shape. Valid until the next call.
  virtual const Answer& Evaluate(const std::string& expression, std::string_view driver,
                                 const SliceDevice& device) = 0;
  // What the expression names of the device, for explanations: `model "a100", no attribute numa`. Equal for
  // devices of one driver and shape.
  virtual std::string ValuesOf(const std::string& expression, std::string_view driver,
                               const SliceDevice& device) = 0;
};

// A device chosen for a claim.
struct ChosenDevice {
  std::size_t request = 0;                 // index in the claim
  std::optional<std::size_t> alternative;  // index in firstAvailable
  const NodePool* pool = nullptr;
  const Slice* slice = nullptr;
  const SliceDevice* device = nullptr;
  bool admin_access = false;
  std::optional<api::QuantityMap> consumed;  // set: a share of the device
};

struct AllocationOutcome {
  enum class Kind : std::uint8_t {
    kAllocated,
    kImpossible,    // no devices for all claims
    kInvalidPools,  // neither, and the node has invalid pools
    kTimeout,       // the search took too long
    kError,         // a claim or class is wrong: scheduling of the pod must stop
  };
  Kind kind = Kind::kImpossible;
  std::string error{};                              // kError
  std::uint64_t steps = 0;                          // that the search took
  std::vector<std::vector<ChosenDevice>> claims{};  // kAllocated: by claim, in the order of allocation
};

// Null: there is no such class.
using FindClass = std::function<const api::DeviceClass*(std::string_view name)>;

// The limits of one search.
struct SearchLimits {
  // A step is a device that is tried. Evaluations of expressions cost further steps, as do devices, claims
  // and constraints with many amounts, taints or names. About a microsecond each. kube-scheduler limits the
  // time instead (filterTimeout).
  std::uint64_t steps = 10'000'000;
  // A search that has taken more steps does not try a device if an interchangeable one has led to no
  // solution. This changes no outcome but kTimeout. Most claims are allocated within a few steps.
  std::uint64_t group_after = 10'000;
};

// The order in which the devices of a node are tried. Whether the claims can be allocated does not depend on
// it, unless the search ends early (SearchLimits, errors of selectors).
enum class DeviceOrder : std::uint8_t {
  kListed,  // kube-scheduler's: pools, slices and devices as they are listed
  // By ascending FreeShare; equal ones as they are listed. Devices with binding conditions come last.
  kLeastWaste,
};

class Allocator {
 public:
  // The arguments must outlive the allocator.
  Allocator(const Features& features, const AllocatedDevices& allocated, FindClass classes,
            SelectorEvaluator& selectors, SearchLimits limits, DeviceOrder order = DeviceOrder::kListed)
      : features_(features),
        allocated_(allocated),
        classes_(std::move(classes)),
        selectors_(selectors),
        limits_(limits),
        order_(order) {}

  // `claims` are not allocated yet.
  AllocationOutcome Allocate(const NodeDevices& node,
                             std::span<const api::ResourceClaim* const> claims) const;

  // Why Allocate finds no devices, for explanations: a line per request that cannot be allocated and, if it
  // has alternatives, per alternative. Names neither devices nor pools, so the lines hold for every node with
  // the same picture. Does not search longer than Allocate.
  struct Diagnosis {
    std::vector<std::string> lines;
    std::uint64_t steps = 0;  // that the searches took
  };
  Diagnosis Diagnose(const NodeDevices& node, std::span<const api::ResourceClaim* const> claims) const;

  // The allocation to be written for a claim: results, configuration of classes and claim, and the nodes on
  // which it can be used. `chosen`: the devices of this claim, from an outcome of Allocate. An error has
  // kube-scheduler's text. Share ids are derived from `share_seed`, which must be unique to the claim.
  Expected<api::ResourceClaim::Allocation> Describe(const api::ResourceClaim& claim,
                                                    std::span<const ChosenDevice> chosen,
                                                    const std::string& node_name,
                                                    std::string_view share_seed) const;

 private:
  class Search;
  class Diagnostician;

  const Features& features_;
  const AllocatedDevices& allocated_;
  const FindClass classes_;
  SelectorEvaluator& selectors_;
  const SearchLimits limits_;
  const DeviceOrder order_;
};

// The free part of a device, from 0 to 1: of a device that is shared, the mean over its capacities of what is
// not consumed; of a partition that consumes counters of its pool, the mean of its shares of these counters;
// 1 for other devices.
double FreeShare(const NodePool& pool, const SliceDevice& device, const AllocatedDevices::Use& use);

// kube-scheduler's score of devices that were chosen for a claim, or that it has: for each request with
// alternatives, 8 minus the index of the alternative.
std::int64_t ScoreOf(const api::ResourceClaim& claim, std::span<const ChosenDevice> chosen);
std::int64_t ScoreOf(const api::ResourceClaim& claim, const api::ResourceClaim::Allocation& allocation);

}  // namespace berth::devices
