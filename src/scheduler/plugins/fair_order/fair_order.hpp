// Divides activeQ among tenants by weighted dominant-resource fairness (tenant_tree.hpp). Off by default.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/framework/tenant_order.hpp"
#include "scheduler/plugins/fair_order/fair_order_args.hpp"
#include "scheduler/plugins/fair_order/tenant_series.hpp"
#include "scheduler/plugins/fair_order/tenant_tree.hpp"

namespace berth::plugins {

// Within a tenant, entries are ordered as by PrioritySort. A tenant uses the requests of its pods on nodes,
// assumed ones included; a pod group counts for the tenant of its first member, and each member's requests
// for its own tenant. Devices of claims do not count. Beyond maxTenants, pods of further tenants share the
// tenant "<other>"; pods without the label have the tenant "<none>". A tenant without pods takes no memory
// from the first attempt on that begins ten seconds after its own last one.
class FairOrder final : public framework::QueueSortPlugin,
                        public framework::TenantOrder,
                        public framework::SavedStatePlugin,
                        private cluster::PodObserver {
 public:
  // Unsettled attempts are forgotten after this time.
  static constexpr Duration kUnsettledPeriod = std::chrono::seconds(10);

  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  FairOrder(FairOrderArgs args, framework::Handle& handle);
  ~FairOrder() override;

  std::string_view Name() const override { return "FairOrder"; }
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override;

  void Start() override;
  void Stop() override;
  framework::TenantId TenantOf(const framework::QueuedEntity& entry) override;
  void OnWaiting(framework::TenantId tenant, const framework::QueuedEntity* first, std::size_t count,
                 MonoTime now) override;
  void OnAttempt(const framework::QueuedEntity& entry, MonoTime now) override;
  void ForEachWaiting(const Visit& visit) override;
  framework::TenantState StateOf(framework::TenantId tenant) const override;

  // An error while more than maxTenants have pods: which of them share a tenant depends on their order.
  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

  std::size_t tenants() const { return tenants_.size() - free_.size(); }

 private:
  struct Tenant {
    TenantTree::Node* node = nullptr;  // null: the id is free
    std::string name;
    std::size_t pods = 0;                  // on nodes
    std::size_t waiting = 0;               // entries in activeQ
    bool attempted = false;                // is in attempted_
    std::unique_ptr<TenantSeries> series;  // null: the tenant has no metrics
  };
  struct OnNode {
    framework::TenantId tenant = 0;
    bool settled = false;  // its placement has settled an attempt
  };
  using Path = std::vector<TenantTree::Step>;
  struct Saved {
    TenantTree::Saved tenants;
    MonoTime forget_at;
    static void VisitFields(auto& self, auto&& visit) {
      visit("tenants", self.tenants);
      visit("forgetAt", self.forget_at);
    }
  };

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void Unsettle(framework::TenantId id);
  framework::TenantId IdOf(const api::Pod& pod);
  framework::TenantId AddTenant(const Path& path);
  void RemoveIfUnused(framework::TenantId id);
  // Views of names that live as long as the pod and the arguments.
  const Path& PathOf(const api::Pod& pod);
  double WeightOf(std::string_view name) const;
  void SaveAttempted(TenantTree::Saved& node, Path& path);
  Expected<void> RestoreLeaves(const TenantTree::Saved& node, Path& path);
  void UpdateTotals();
  void ForgetAttempts(MonoTime now);
  void ShowShare(Tenant& tenant);
  const std::vector<std::int64_t>& AmountsOf(const cluster::PlacedPod& pod, std::int64_t sign);

  const FairOrderArgs args_;
  framework::Handle& handle_;
  std::vector<cluster::ResourceId> resources_;  // unknown id: pods
  FlatTextMap<double> weights_;
  FlatTextMap<Path> configured_;  // paths of configured tenants, without a separator
  TenantTree tree_;
  std::deque<Tenant> tenants_;  // by TenantId
  std::vector<framework::TenantId> free_;
  boost::unordered_flat_map<const cluster::PlacedPod*, OnNode> on_nodes_;
  std::vector<framework::TenantId> attempted_;  // that had attempts since forget_at_ was set
  std::vector<std::int64_t> amounts_;           // of one pod
  Path path_;                                   // of one pod
  MonoTime forget_at_;
  std::uint64_t node_changes_ = 0;  // of the node table, in the totals of the tree
  std::size_t series_ = 0;
  bool started_ = false;
};

}  // namespace berth::plugins
