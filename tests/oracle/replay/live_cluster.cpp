#include "live_cluster.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"

namespace berth::replay {

LiveCluster::LiveCluster(const std::string& config, const std::string& gates, std::string_view cluster) {
  Build(config, gates, cluster, ports_.ports());
}
LiveCluster::LiveCluster(const std::string& config, const std::string& gates, std::string_view cluster,
                         const assembly::EnginePorts& ports) {
  Build(config, gates, cluster, ports);
}

void LiveCluster::Build(const std::string& config, const std::string& gates, std::string_view cluster,
                        const assembly::EnginePorts& ports) {
  std::vector<std::string> notes;
  const auto switched = config::FeatureGates::Parse(std::span(&gates, gates.empty() ? 0 : 1), notes);
  if (!switched) throw std::runtime_error("gates: " + switched.error().message);
  const auto parsed = config::ParseSchedulerConfig(config, *switched);
  if (!parsed) throw std::runtime_error("configuration: " + parsed.error().message);
  auto engine = assembly::Engine::Build(*parsed, assembly::InTreePlugins(), ports, notes);
  if (!engine) throw std::runtime_error("profiles: " + engine.error().message);
  engine_ = std::move(*engine);
  decoder_ = std::make_unique<api::Decoder>(engine_->retained_fields());
  Load(cluster);
}

void LiveCluster::Load(std::string_view cluster) {
  auto documents = api::SplitDocuments(cluster);
  if (!documents) throw std::runtime_error("cluster: " + documents.error().message);
  for (const api::Document& document : documents->objects) {
    api::AllKinds::ForEach([&]<class T>() {
      if (document.kind != T::kKind) return;
      auto object = Decode<T>(document.json);
      std::get<Objects<T>>(current_).insert_or_assign(object->metadata.Key(), object);
    });
  }
  for (const auto& [key, node] : std::get<Objects<api::Node>>(current_))
    Apply(ports::Change<api::Node>{nullptr, node});
  api::AllKinds::ForEach([&]<class T>() {
    if constexpr (!std::is_same_v<T, api::Pod> && !std::is_same_v<T, api::Node>) {
      for (const auto& [key, object] : std::get<Objects<T>>(current_))
        Apply(ports::Change<T>{nullptr, object});
    }
  });
  std::vector<api::PodPtr> pods;
  for (const auto& [key, pod] : std::get<Objects<api::Pod>>(current_)) pods.push_back(pod);
  std::ranges::sort(pods, {},
                    [](const api::PodPtr& pod) { return std::tie(pod->metadata.ns, pod->metadata.name); });
  for (const api::PodPtr& pod : pods) {
    // The scheduler does not watch finished pods.
    if (!pod->terminal()) Apply(ports::Change<api::Pod>{nullptr, pod});
  }
}

template <class T>
std::shared_ptr<const T> LiveCluster::Decode(std::string_view json) {
  auto object = decoder_->Object<T>(json);
  if (!object) throw std::runtime_error(std::string(T::kKind) + ": " + object.error().message);
  api::ApplyDefaults(*object);
  if (object->metadata.uid.empty()) object->metadata.uid = "made-up-for-" + object->metadata.Key();
  return std::make_shared<const T>(std::move(*object));
}

ports::ClusterChange LiveCluster::Replace(std::string_view kind, const std::string& key,
                                          std::optional<std::string_view> json) {
  std::optional<ports::ClusterChange> change;
  api::AllKinds::ForEach([&]<class T>() {
    if (kind != T::kKind) return;
    ports::Change<T> one{Find<T>(key), json ? Decode<T>(*json) : nullptr};
    if (one.before == nullptr && one.after == nullptr) throw std::runtime_error("no object " + key);
    if (one.after == nullptr) {
      std::get<Objects<T>>(current_).erase(key);
    } else {
      if (one.after->metadata.Key() != key) throw std::runtime_error("another key than " + key);
      std::get<Objects<T>>(current_).insert_or_assign(key, one.after);
    }
    change = std::move(one);
  });
  if (!change) throw std::runtime_error("unknown kind " + std::string(kind));
  return std::move(*change);
}

void LiveCluster::Apply(const ports::ClusterChange& change) {
  cluster::ClusterState& cluster = engine_->cache();
  std::visit(
      [&]<class T>(const ports::Change<T>& one) {
        if constexpr (std::is_same_v<T, api::Node>) {
          if (one.after == nullptr) return cluster.RemoveNode(one.before->metadata.name);
          if (one.before == nullptr) return cluster.AddNode(one.after);
          cluster.UpdateNode(one.after);
        } else if constexpr (std::is_same_v<T, api::Pod>) {
          if (one.after == nullptr) {
            cluster.RemovePod(one.before->metadata.uid);
          } else if (!one.after->spec.node_name.empty()) {
            cluster.AddPod(one.after);
          }
        } else {
          cluster.objects().Apply(one);
        }
      },
      change);
}

}  // namespace berth::replay
