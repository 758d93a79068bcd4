// Which topology of a node counts: the object of the API server lags behind what the scheduler decides.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/row_set.hpp"
#include "base/text_map.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_topologies.hpp"

namespace berth::plugins {

// Scheduler loop only.
class TopologyCache {
 public:
  virtual ~TopologyCache() = default;
  virtual const NumaResourceNames& names() const = 0;
  // By row; without a group all pods fit.
  virtual std::span<const RowTopology> by_row() const = 0;
  // The rows of nodes whose topology does not count until it has been refreshed: no pod fits. Valid until the
  // next call of a function of this class.
  virtual const RowSet& stale() = 0;
  // A pod was placed on the node; the placement was undone; the pod was bound.
  virtual void Reserve(const std::string& node, const api::Pod& pod) = 0;
  virtual void Unreserve(const std::string& node, const api::Pod& pod) = 0;
  virtual void PostBind(const std::string& node, const api::Pod& pod) = 0;
};

// The last objects of the API server (cacheResyncPeriodSeconds 0).
class Passthrough final : public TopologyCache {
 public:
  explicit Passthrough(framework::Handle& handle);

  const NumaResourceNames& names() const override { return topologies_.names(); }
  std::span<const RowTopology> by_row() const override { return topologies_.by_row(); }
  const RowSet& stale() override { return none_; }
  void Reserve(const std::string&, const api::Pod&) override {}
  void Unreserve(const std::string&, const api::Pod&) override {}
  void PostBind(const std::string&, const api::Pod&) override {}

 private:
  NumaTopologies topologies_;
  const RowSet none_;
  const std::shared_ptr<const void> self_ = std::make_shared<const char>();  // of the listener
};

// The same; a node is stale while a pod is placed on it that is not bound yet (discardReservedNodes).
class DiscardReserved final : public TopologyCache {
 public:
  // A reload keeps the reservations of the profile.
  DiscardReserved(const std::string& profile, framework::Handle& handle);

  const NumaResourceNames& names() const override { return latest_.names(); }
  std::span<const RowTopology> by_row() const override { return latest_.by_row(); }
  const RowSet& stale() override;
  void Reserve(const std::string& node, const api::Pod& pod) override;
  void Unreserve(const std::string& node, const api::Pod& pod) override { Release(node, pod); }
  void PostBind(const std::string& node, const api::Pod& pod) override { Release(node, pod); }

 private:
  struct Reservations {
    TextMap<std::set<std::string, std::less<>>> pods;  // by node: UIDs; never empty
    std::uint64_t version = 1;
  };
  void Release(const std::string& node, const api::Pod& pod);
  void Changed(const std::string& node);

  framework::Handle& handle_;
  Passthrough latest_;
  const std::shared_ptr<Reservations> reservations_;
  RowSet rows_;  // of reservations_->version and node_changes_
  std::uint64_t version_ = 0, node_changes_ = 0;
};

}  // namespace berth::plugins
