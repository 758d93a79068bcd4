#include "bench/stage.hpp"

#include <type_traits>
#include <utility>

#include "bench/measuring.hpp"

namespace berth::bench {
namespace {

void Apply(cluster::ClusterState& cache, Event::Type type, const api::NodePtr& node) {
  if (type == Event::Type::kDeleted) return cache.RemoveNode(node->metadata.name);
  cache.AddNode(node);
}

void Apply(cluster::ClusterState& cache, Event::Type type, const api::PodPtr& pod) {
  if (type != Event::Type::kDeleted) return cache.AddPod(pod);
  cache.RemovePod(pod->metadata.uid);
}

template <class T>
void Apply(cluster::ClusterState& cache, Event::Type type, const std::shared_ptr<const T>& object) {
  if (type == Event::Type::kDeleted) return cache.objects().Apply(ports::Change<T>{object, nullptr});
  cache.objects().Apply(ports::Change<T>{nullptr, object});
}

}  // namespace

Stage::Stage(cluster::ClusterState& cache, const Workload& workload, const Size& size) : cache_(cache) {
  EmitAll(workload, size, [this](const Event& event) { Take(event); });
}

void Stage::Take(const Event& event) {
  Decode(decoder_, event, [&]<class T>(const std::shared_ptr<const T>& object) {
    if constexpr (std::is_same_v<T, api::Pod>) {
      if (object->spec.node_name.empty()) {
        next_.pod = object;
        steps_.push_back(std::exchange(next_, {}));
        return;
      }
    }
    if (steps_.empty()) return Apply(cache_, event.type, object);
    next_.changes.push_back(
        [object, type = event.type](cluster::ClusterState& cache) { Apply(cache, type, object); });
  });
}

}  // namespace berth::bench
