// The GPUs that pods request.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/devices.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_fragmentation_args.hpp"

namespace berth::plugins {

// Which devices a request accepts, and what it takes of each.
struct GpuAsk {
  enum class Kind : std::uint8_t {
    kResource,  // of an extended resource: whole devices
    kClass,     // of a device class
    kAny,       // of all resources (if whole) and classes
  };
  Kind kind = Kind::kAny;
  std::uint32_t index = 0;                        // of the resource or class in the arguments
  std::vector<std::string> selectors = {};        // CEL expressions
  std::optional<api::QuantityMap> capacity = {};  // requested of each device
  std::string key = {};                           // equal for equal asks
};

// What pods of one kind request. Ordered, for maps.
struct GpuDemand {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::vector<std::pair<GpuAsk, std::int64_t>> requests;  // with the number of devices of each

  std::string Key() const;
};

// The demand of pods as a value, for recordings.
struct SavedGpuDemand {
  struct Request {
    bool of_class = false;  // of a device class; else of an extended resource
    std::uint32_t index = 0;
    std::vector<std::string> selectors;
    std::optional<std::vector<std::pair<std::string, std::string>>> capacity;  // names with quantities
    std::int64_t count = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("class", self.of_class);
      visit("index", self.index);
      visit("selectors", self.selectors);
      visit("capacity", self.capacity);
      visit("count", self.count);
    }
  };
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::vector<Request> requests;
  static void VisitFields(auto& self, auto&& visit) {
    visit("milliCpu", self.milli_cpu);
    visit("memory", self.memory);
    visit("requests", self.requests);
  }
};

// Reads demands from pods and their claims. Scheduler loop only.
class GpuDemands {
 public:
  // The arguments must outlive it.
  GpuDemands(const GpuFragmentationArgs& args, framework::Handle& handle);

  enum class Claims : std::uint8_t {
    kAll,
    kUnallocated,  // only those that need devices
  };
  // Demands with longer keys do not count anywhere.
  static constexpr std::size_t kLongestKey = 4096;
  // nullopt: a claim of the pod does not exist (yet), or the claims need a key of more than kLongestKey.
  // Other keys may be too long, too. Of a request with alternatives the first one counts. Requests of all
  // devices of a node, and with administrative access, do not count.
  std::optional<GpuDemand> Of(const api::Pod& pod, const cluster::Amounts& amounts, Claims claims) const;
  GpuDemand Of(const GpuFragmentationArgs::TypicalPod& pod) const;
  // "namespace/name" of the pod's claims, ascending and different; without those that have no name yet.
  static std::vector<std::string> ClaimsOf(const api::Pod& pod);
  // Of a demand of a pod.
  static SavedGpuDemand Save(const GpuDemand& demand);
  // The saved demand. Errors name what is wrong, such as an index that the arguments do not have.
  Expected<GpuDemand> Restore(const SavedGpuDemand& saved) const;
  cluster::ResourceId resource(std::size_t index) const { return resources_[index]; }

 private:
  void AddClaim(const api::ResourceClaim& claim, GpuDemand& demand) const;

  const GpuFragmentationArgs& args_;
  framework::Handle& handle_;
  std::vector<cluster::ResourceId> resources_;  // as in the arguments
};

}  // namespace berth::plugins
