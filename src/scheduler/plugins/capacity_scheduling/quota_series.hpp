// The metrics of elastic quotas.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/plugins/capacity_scheduling/quota.hpp"

namespace berth::plugins {

// Series of a namespace exist from Put to Remove, and end with this object. At most kMostNamespaces
// namespaces have series: one more gets them with the first Put after another one was removed. Of each, the
// first kMostResources of Quota::resources count. A limit that does not exist has no series. Changed by one
// thread, exported by any.
class QuotaSeries {
 public:
  static constexpr std::size_t kMostNamespaces = 500;
  static constexpr std::size_t kMostResources = 16;

  // Null: no metrics are collected, and no call has an effect. The registry must outlive this object.
  explicit QuotaSeries(metrics::Registry* registry) : registry_(registry) {}
  ~QuotaSeries();
  QuotaSeries(const QuotaSeries&) = delete;
  QuotaSeries& operator=(const QuotaSeries&) = delete;

  // The namespace has this quota, instead of an earlier one, and uses these amounts.
  void Put(const std::string& ns, const Quota& quota, const QuotaAmounts& used);
  void Remove(const std::string& ns);
  // No effect for a namespace without series.
  void SetUsed(std::string_view ns, const QuotaAmounts& used);
  // A pod of the namespace is evicted for one of another namespace.
  void CountReclaimed(std::string_view ns);
  // An attempt of a pod of the namespace failed, although the namespace would be within its minimum with it.
  void CountUnserved(std::string_view ns);

 private:
  // Cores, bytes, and counts.
  struct Values {
    std::atomic<double> used = 0, min = 0, max = 0;
  };
  struct Resource {
    std::string name;
    bool limited = false;  // has a maximum
    std::shared_ptr<Values> values;
  };
  struct Namespace {
    std::vector<Resource> resources;
    std::shared_ptr<std::atomic<std::uint64_t>> reclaimed, unserved;
  };
  static std::vector<Resource> ResourcesOf(const Quota& quota);
  void Export(const std::string& ns, const Resource& resource);
  void WithdrawCounters(const std::string& ns);
  void Withdraw(const std::string& ns, const Namespace& known);

  metrics::Registry* const registry_;
  std::map<std::string, Namespace, std::less<>> namespaces_;
};

}  // namespace berth::plugins
