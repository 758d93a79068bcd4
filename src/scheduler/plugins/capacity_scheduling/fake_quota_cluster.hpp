// A cluster with the plugin CapacityScheduling, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/nominations.hpp"
#include "scheduler/plugins/capacity_scheduling/capacity_scheduling.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins::quota_testing {

using berth::testing::Cluster;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::Attempt;
using framework::FilterOutcome;
using framework::Status;

using QuotaList = std::vector<std::pair<std::string, std::string>>;

inline api::ResourceList ListOf(const QuotaList& amounts) {
  api::ResourceList list;
  for (const auto& [name, text] : amounts) list[name] = api::Quantity::Parse(text).value();
  return list;
}

inline api::ElasticQuota MakeQuota(const std::string& ns, const std::optional<QuotaList>& min,
                                   const std::optional<QuotaList>& max, const std::string& name = "quota") {
  api::ElasticQuota quota;
  quota.metadata.ns = ns;
  quota.metadata.name = name;
  if (min) quota.min = ListOf(*min);
  if (max) quota.max = ListOf(*max);
  return quota;
}

inline PodBuilder InNamespace(const std::string& ns, const std::string& name, std::string_view cpu,
                              std::int32_t priority = 0) {
  return MakePod(name).Namespace(ns).Cpu(cpu).Priority(priority);
}

// Filters by NodeResourcesFit; the plugin under test has extensions.
class QuotaServices final : public framework::PostFilterServices {
 public:
  QuotaServices(Cluster& cluster, const CapacityScheduling& plugin,
                std::span<framework::EvictionProtectionPlugin* const> protections)
      : cluster_(cluster),
        plugin_(plugin),
        fit_(cluster.Make<NodeResourcesFit>()),
        protections_(protections) {}

  void RunFilters(const Attempt& attempt, const RowSet& candidates, FilterOutcome& out) override {
    framework::Rejections rejected;
    out.Reset(candidates);
    out.rejections.clear();
    fit_->Filter(attempt, candidates, rejected);
    for (const auto& entry : rejected.entries()) {
      RowSet rows = entry.rows;
      rows &= candidates;
      if (rows.Empty()) continue;
      out.feasible -= rows;
      out.rejections.push_back({0, entry.reason, std::move(rows)});
    }
    out.used = out.rejections.size();
  }
  Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, cluster::Row row) override {
    return plugin_.AddPod(attempt, added, row);
  }
  Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, cluster::Row row) override {
    return plugin_.RemovePod(attempt, removed, row);
  }
  bool has_extensions() const override { return true; }
  cluster::NodeTable& table() override { return cluster_.nodes(); }
  Random* rng() override { return nullptr; }
  framework::EvictionProtections& protections() override { return protections_; }

 private:
  Cluster& cluster_;
  const CapacityScheduling& plugin_;
  const std::unique_ptr<NodeResourcesFit> fit_;
  framework::EvictionProtections protections_;
};

class QuotaTest : public ::testing::Test {
 protected:
  CapacityScheduling& plugin() {
    if (plugin_ == nullptr) plugin_ = cluster.Make<CapacityScheduling>(args);
    return *plugin_;
  }
  void Quota(const std::string& ns, const std::string& min_cpu, const std::string& max_cpu) {
    cluster.Put(MakeQuota(ns, QuotaList{{"cpu", min_cpu}}, QuotaList{{"cpu", max_cpu}}));
  }
  void Run(const std::string& node, const PodBuilder& pod) { cluster.Run(node, pod); }
  // Runs PreFilter; Nominate adds nominations.
  Status PreFilter(const PodBuilder& pod) {
    plugin();
    infos_.clear();
    nominations_.clear();
    for (const auto& [node, nominated] : nominated_) {
      infos_.push_back(std::make_unique<cluster::PodInfo>(cluster.Prepare(nominated)));
      nominations_.push_back({cluster.RowOf(node), infos_.back().get()});
    }
    state_ = framework::CycleState();
    info_ = cluster.Prepare(pod);
    attempt_.emplace(info_, cluster.nodes(), state_, scratch_);
    attempt_->Buffer(framework::kNominations) = nominations_;
    return plugin().PreFilter(*attempt_).status;
  }
  std::string Rejection(const PodBuilder& pod) { return PreFilter(pod).Message(); }
  void Nominate(const std::string& node, const PodBuilder& pod) { nominated_.emplace_back(node, pod); }
  framework::PostFilterResult PostFilter(const PodBuilder& pod) {
    (void)PreFilter(pod);
    FilterOutcome verdicts;
    verdicts.unresolvable.Resize(cluster.nodes().rows());
    QuotaServices services(cluster, plugin(), protections);
    return plugin().PostFilter(*attempt_, verdicts, services);
  }
  // "node: victims", or the message.
  std::string Preempt(const PodBuilder& pod) {
    const framework::PostFilterResult result = PostFilter(pod);
    if (!result.eviction) return result.status.Message();
    std::string text = *result.nominate + ":";
    for (const api::PodPtr& victim : result.eviction->victims) text += " " + victim->metadata.Key();
    return text;
  }
  std::vector<std::string> Details() {
    std::vector<std::string> lines;
    for (const auto& detail : plugin().RejectionDetails(*attempt_, cluster.nodes().all()))
      lines.insert(lines.end(), detail.lines.begin(), detail.lines.end());
    return lines;
  }

  std::string args;  // of the plugin; YAML
  metrics::Registry registry;
  std::vector<framework::EvictionProtectionPlugin*> protections;
  Cluster cluster;

 private:
  std::unique_ptr<CapacityScheduling> plugin_;
  std::vector<std::pair<std::string, PodBuilder>> nominated_;
  std::vector<std::unique_ptr<cluster::PodInfo>> infos_;
  std::vector<framework::Nomination> nominations_;
  framework::CycleState state_;
  framework::ScratchPool scratch_;
  cluster::PodInfo info_;
  std::optional<Attempt> attempt_;
};

}  // namespace berth::plugins::quota_testing
