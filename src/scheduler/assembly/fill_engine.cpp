#include "scheduler/assembly/fill_engine.hpp"

#include <algorithm>
#include <concepts>
#include <tuple>

namespace berth::assembly {

void FillEngine(Engine& engine, PodEvaluator& evaluator, ClusterContents contents) {
  cluster::ClusterState& cache = engine.cache();
  std::ranges::sort(contents.nodes, {},
                    [](const api::NodePtr& node) -> const std::string& { return node->metadata.name; });
  for (const api::NodePtr& node : contents.nodes) cache.AddNode(node);
  for (const ports::ClusterChange& object : contents.others) {
    std::visit(
        [&]<class T>(const ports::Change<T>& change) {
          cache.objects().Apply(change);
          if constexpr (std::derived_from<T, api::PodGroup>) engine.groups().PutObject(change.after);
        },
        object);
  }
  std::ranges::sort(contents.pods, {},
                    [](const api::PodPtr& pod) { return std::tie(pod->metadata.ns, pod->metadata.name); });
  for (const api::PodPtr& pod : contents.pods) {
    if (pod->terminal()) continue;
    engine.groups().Put(pod);
    if (!pod->spec.node_name.empty()) {
      cache.AddPod(pod);
      continue;
    }
    if (engine.FindProfile(pod->spec.scheduler_name.str()) != nullptr) engine.pending().Put(pod);
    if (!pod->status.nominated_node_name.empty()) evaluator.AddNominated(pod);
  }
}

Expected<std::unique_ptr<FilledEngine>> FilledEngine::Build(const config::SchedulerConfig& config,
                                                            const runtime::Registry& plugins,
                                                            ClusterContents contents,
                                                            std::vector<std::string>& notes) {
  std::unique_ptr<FilledEngine> filled(new FilledEngine());
  BERTH_TRY(filled->engine_, Engine::Build(config, plugins, filled->ports_.ports(), notes));
  filled->evaluator_ = std::make_unique<PodEvaluator>(*filled->engine_);
  FillEngine(*filled->engine_, *filled->evaluator_, std::move(contents));
  return filled;
}

}  // namespace berth::assembly
