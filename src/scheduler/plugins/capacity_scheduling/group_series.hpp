// The metrics of quota groups.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_group.hpp"

namespace berth::plugins {

// Series of a group exist from Put to the next Begin and End without Put, and end with this object. At most
// kMostGroups groups have series, the first that were Put, each with at most kMostResources resources.
// Changed by one thread, exported by any.
class GroupSeries {
 public:
  static constexpr std::size_t kMostGroups = 500;
  static constexpr std::size_t kMostResources = 16;

  // Null: no metrics are collected, and no call has an effect. The registry must outlive this object.
  explicit GroupSeries(metrics::Registry* registry);
  ~GroupSeries();
  GroupSeries(const GroupSeries&) = delete;
  GroupSeries& operator=(const GroupSeries&) = delete;

  // All groups are Put in between. `problems`: how many have no place in the tree.
  void Begin();
  void Put(const QuotaGroup& group);
  void End(std::size_t problems);

  // Cores, bytes, and counts.
  struct Values {
    std::atomic<double> used = 0, runtime = 0, min = 0, max = 0;
  };
  // Of a group that was Put; null: it has no series. Valid until the next End.
  Values* Find(const std::string& group, const std::string& resource) const;
  static double InBaseUnits(const std::string& resource, std::int64_t amount);

 private:
  struct Group {
    std::map<std::string, std::shared_ptr<Values>> resources;
    bool put = false;
  };
  void Export(const std::string& group, const std::string& resource, const std::shared_ptr<Values>& values);
  void Withdraw(const std::string& group, const std::string& resource);

  metrics::Registry* const registry_;
  std::map<std::string, Group> groups_;
  const std::shared_ptr<std::atomic<std::size_t>> problems_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace berth::plugins
