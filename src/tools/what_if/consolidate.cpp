#include "tools/what_if/consolidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "kubernetes/api/owners.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/cluster/eviction_budgets.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "tools/what_if/node_edits.hpp"

namespace berth::what_if {
namespace {

class Consolidator {
 public:
  static Expected<std::unique_ptr<Consolidator>> Create(const assembly::ClusterContents& cluster,
                                                        const config::SchedulerConfig& config,
                                                        const runtime::Registry& plugins,
                                                        const std::atomic<bool>& stop) {
    std::unique_ptr<Consolidator> made(new Consolidator(stop));
    std::vector<std::string> ignored;  // those of the scenario were printed
    BERTH_TRY(made->filled_, assembly::FilledEngine::Build(config, plugins, cluster, ignored));
    made->algorithm_ = std::make_unique<algorithm::SchedulingAlgorithm>(
        algorithm::AlgorithmOptions{.percentage_of_nodes_to_score = 100,
                                    .sample = false,
                                    .tie_break = algorithm::TieBreak::kFirstByName},
        made->engine().reasons(), made->engine().extenders());
    made->budgets_.emplace(made->cache().objects());
    return made;
  }

  Expected<Consolidation> Run(const std::function<void(std::size_t)>& progress) {
    const std::vector<std::string> nodes = NodesByUse();
    std::size_t in_a_row = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (in_a_row == kMostKept) {
        result_.not_tried = nodes.size() - i;
        break;
      }
      const std::string why = Empty(nodes[i]);
      if (stop_.load()) return Fail(ErrorCode::kCancelled, "interrupted");
      in_a_row = why.empty() ? 0 : in_a_row + 1;
      if (!why.empty()) result_.kept.push_back({nodes[i], why});
      progress(i + 1);
    }
    for (const auto& [uid, move] : moves_) result_.moves.push_back(move);
    std::ranges::stable_sort(result_.moves, {}, [&](const MovedPod& move) { return order_.at(move.pod); });
    return std::move(result_);
  }

 private:
  struct Step {
    api::PodPtr before;
    std::string to;
  };

  explicit Consolidator(const std::atomic<bool>& stop) : stop_(stop) {}
  assembly::Engine& engine() { return filled_->engine(); }
  const assembly::Engine& engine() const { return std::as_const(*filled_).engine(); }
  cluster::ClusterState& cache() { return engine().cache(); }
  cluster::Row RowOf(const std::string& node) { return cache().nodes().Find(node); }

  // By the share of requested CPU, then by name. Nodes without CPUs come last.
  std::vector<std::string> NodesByUse() {
    std::vector<std::pair<double, std::string>> nodes;
    const cluster::NodeTable& table = std::as_const(cache()).nodes();
    table.all().ForEach([&](std::size_t index) {
      const auto row = static_cast<cluster::Row>(index);
      double requested = 0;
      for (const cluster::PlacedPod* pod : table.pods(row))
        requested += static_cast<double>(pod->use().non_zero_milli_cpu);
      const auto offered = table.allocatable(cluster::kCpu);
      const double all = row < offered.size() ? static_cast<double>(offered[row]) : 0;
      nodes.emplace_back(all > 0 ? requested / all : 2, table.name(row));
    });
    std::ranges::sort(nodes);
    std::vector<std::string> names;
    for (auto& [use, name] : nodes) names.push_back(std::move(name));
    return names;
  }

  // Empty: the node is emptied. Otherwise the reason, and the cluster is as before.
  std::string Empty(const std::string& node) {
    std::vector<api::PodPtr> pods;
    for (const cluster::PlacedPod* placed : std::as_const(cache()).nodes().pods(RowOf(node))) {
      if (!api::ComesBack(placed->pod->metadata)) pods.push_back(placed->pod);
    }
    std::ranges::sort(pods, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
    for (const api::PodPtr& pod : pods) {
      if (std::string why = Obstacle(*pod); !why.empty()) return why;
    }
    const api::NodePtr before = cache().nodes().shared_node(RowOf(node));
    cache().UpdateNode(std::make_shared<const api::Node>(WithCordon(*before, true)));
    leaving_.insert(RowOf(node));
    std::vector<Step> steps;
    for (const api::PodPtr& pod : pods) {
      // A node may have many pods. Run discards what was moved.
      if (stop_.load()) return "interrupted";
      const auto to = Place(pod);
      if (to) {
        steps.push_back({pod, *to});
        continue;
      }
      for (auto step = steps.rbegin(); step != steps.rend(); ++step) PutBack(step->before);
      cache().UpdateNode(before);
      leaving_.erase(RowOf(node));
      return fmt::format("pod {} fits on no other node that remains", pod->metadata.Key());
    }
    for (const Step& step : steps) Note(step);
    result_.emptied.push_back({node, pods.size()});
    return "";
  }

  // Why the pod may not be evicted; empty: it may.
  std::string Obstacle(const api::Pod& pod) const {
    const std::string key = pod.metadata.Key();
    if (!pod.metadata.controller) return fmt::format("pod {} has no controller that would replace it", key);
    if (pod.metadata.deleting()) return fmt::format("pod {} is being deleted", key);
    const auto room = budgets_->For(pod);
    if (room.budgets > 1) return fmt::format("pod {} has more than one PodDisruptionBudget", key);
    if (room.budgets == 1 && room.left <= 0)
      return fmt::format("PodDisruptionBudget {}/{} allows no disruption of pod {}", pod.metadata.ns.str(),
                         room.name, key);
    if (engine().FindProfile(pod.spec.scheduler_name) == nullptr)
      return fmt::format("pod {} has another scheduler, {}", key, pod.spec.scheduler_name.str());
    return "";
  }

  // Moves the pod to the node that the scheduler chooses; nullopt: none fits, and the pod is where it was.
  std::optional<std::string> Place(const api::PodPtr& pod) {
    cache().RemovePod(pod->metadata.uid);
    api::Pod free = *pod;
    free.spec.node_name = "";
    free.spec.never_preempts = true;
    free.status = {};
    std::string to;
    {
      const cluster::PodInfo info =
          cluster::PreparePod(std::make_shared<const api::Pod>(std::move(free)), engine().symbols());
      const auto decided =
          algorithm_->Schedule(info, *engine().FindProfile(pod->spec.scheduler_name), view_.Of(cache()), {});
      to = BestThatRemains(*decided.record);
    }
    if (to.empty()) {
      cache().AddPod(pod);
      return std::nullopt;
    }
    api::Pod moved = *pod;
    moved.spec.node_name = to;
    cache().AddPod(std::make_shared<const api::Pod>(std::move(moved)));
    return to;
  }

  // The best node but those that are emptied: a pod may tolerate that a node is cordoned. Empty: none.
  std::string BestThatRemains(const record::AttemptRecord& record) const {
    const cluster::NodeTable& nodes = engine().cache().nodes();
    if (record.result != record::Result::kScheduled) return "";
    if (!leaving_.contains(record.node)) return std::string(record.SelectedNode());
    std::optional<std::pair<std::int64_t, std::string>> best;  // total and name
    record.feasible.ForEach([&](std::size_t index) {
      const auto row = static_cast<cluster::Row>(index);
      if (leaving_.contains(row)) return;
      const std::int64_t total = record.scored ? record.Total(row) : 0;
      const std::string name(nodes.name(row));
      if (!best || total > best->first || (total == best->first && name < best->second))
        best.emplace(total, name);
    });
    return best ? best->second : "";
  }

  void PutBack(const api::PodPtr& pod) {
    cache().RemovePod(pod->metadata.uid);
    cache().AddPod(pod);
  }

  void Note(const Step& step) {
    const api::Pod& pod = *step.before;
    const auto [entry, first] = moves_.try_emplace(
        pod.metadata.uid,
        MovedPod{pod.metadata.Key(), explanation::OwnerOf(pod), pod.spec.node_name.str(), step.to});
    if (first) order_.emplace(pod.metadata.Key(), order_.size());
    entry->second.to = step.to;
  }

  const std::atomic<bool>& stop_;
  std::unique_ptr<assembly::FilledEngine> filled_;
  std::unique_ptr<algorithm::SchedulingAlgorithm> algorithm_;
  algorithm::CurrentView view_;
  std::optional<cluster::EvictionBudgets> budgets_;
  std::set<cluster::Row> leaving_;            // the emptied nodes, and the one that is tried
  std::map<std::string, MovedPod> moves_;     // by UID
  std::map<std::string, std::size_t> order_;  // of the first moves, by pod
  Consolidation result_;
};

}  // namespace

Expected<Consolidation> FindConsolidation(const assembly::ClusterContents& cluster,
                                          const config::SchedulerConfig& config,
                                          const runtime::Registry& plugins, const std::atomic<bool>& stop,
                                          const std::function<void(std::size_t)>& progress) {
  BERTH_TRY(const auto consolidator, Consolidator::Create(cluster, config, plugins, stop));
  return consolidator->Run(progress);
}

}  // namespace berth::what_if
