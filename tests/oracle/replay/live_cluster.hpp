// A cluster with Berth's engine, loaded from a recording and changed object by object.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/assembly/engine.hpp"

namespace berth::replay {

// Errors of the recording or the configuration are thrown as std::runtime_error. One thread.
class LiveCluster {
 public:
  // `gates` is a value of --feature-gates. `cluster` is a list of objects as JSON. Nodes and pods are added
  // in the order of their names.
  LiveCluster(const std::string& config, const std::string& gates, std::string_view cluster);
  // The same, with ports that have effects. They must outlive the cluster.
  LiveCluster(const std::string& config, const std::string& gates, std::string_view cluster,
              const assembly::EnginePorts& ports);

  assembly::Engine& engine() { return *engine_; }

  // The current version of an object; null if there is none. `key` is metadata.Key().
  template <class T>
  std::shared_ptr<const T> Find(const std::string& key) const {
    const auto& all = std::get<Objects<T>>(current_);
    const auto found = all.find(key);
    return found == all.end() ? nullptr : found->second;
  }

  // visit(const std::shared_ptr<const T>&)
  template <class T, class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, object] : std::get<Objects<T>>(current_)) visit(object);
  }

  // Replaces the current version of an object, or removes it (nullopt). Engine and cache do not change.
  ports::ClusterChange Replace(std::string_view kind, const std::string& key,
                               std::optional<std::string_view> json);
  // Replaces the current version of an existing object by one that was derived from it.
  template <class T>
  ports::ClusterChange Update(std::shared_ptr<const T> after) {
    std::shared_ptr<const T>& current = std::get<Objects<T>>(current_).at(after->metadata.Key());
    ports::Change<T> change{current, after};
    current = std::move(after);
    return change;
  }
  // Applies a change to the engine's cluster, as the scheduler loop does.
  void Apply(const ports::ClusterChange& change);

 private:
  template <class T>
  using Objects = std::map<std::string, std::shared_ptr<const T>>;
  template <class List>
  struct TupleOf;
  template <class... T>
  struct TupleOf<api::KindList<T...>> {
    using type = std::tuple<Objects<T>...>;
  };

  template <class T>
  std::shared_ptr<const T> Decode(std::string_view json);
  void Build(const std::string& config, const std::string& gates, std::string_view cluster,
             const assembly::EnginePorts& ports);
  void Load(std::string_view cluster);

  assembly::DryRunPorts ports_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<api::Decoder> decoder_;
  TupleOf<api::AllKinds>::type current_;
};

}  // namespace berth::replay
