#include "scheduler/assembly/explainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/dump.hpp"

namespace berth::assembly {
struct Explainer::Input {
  explicit Input(const api::RetainedFields& retained) : decoder(retained), others(retained) {}

  api::Decoder decoder;
  // sorted by name: the order in which they are added to the cache
  std::map<std::string, api::NodePtr> nodes;
  std::vector<api::PodPtr> pods;  // in the order of the input
  std::map<std::string, std::size_t> pod_index;
  api::Dump others;
  std::map<std::string, std::size_t> kinds;
  bool filled = false;

  void AddPod(api::Pod pod) {
    api::ApplyDefaults(pod);
    const std::string key = pod.metadata.Key();
    if (pod.metadata.uid.empty()) pod.metadata.uid = "made-up-for-" + key;
    auto shared = std::make_shared<const api::Pod>(std::move(pod));
    const auto [entry, added] = pod_index.try_emplace(key, pods.size());
    if (added) {
      pods.push_back(std::move(shared));
    } else {
      pods[entry->second] = std::move(shared);
    }
  }

  // Returns an empty text, or the reason why the object is left out.
  std::string Add(const api::Document& document) {
    ++kinds[document.kind];
    if (document.kind == "Pod") {
      auto pod = decoder.Object<api::Pod>(document.json);
      if (!pod) return pod.error().message;
      if (pod->metadata.name.empty()) return "metadata.name: Required value";
      AddPod(std::move(*pod));
    } else if (document.kind == "Node") {
      auto node = decoder.Object<api::Node>(document.json);
      if (!node) return node.error().message;
      if (node->metadata.name.empty()) return "metadata.name: Required value";
      api::ApplyDefaults(*node);
      auto shared = std::make_shared<const api::Node>(std::move(*node));
      nodes.insert_or_assign(shared->metadata.name, shared);
    } else if (auto added = others.Add(document); !added) {
      return added.error().message;
    }
    return "";
  }
};

Explainer::Explainer() = default;
Explainer::~Explainer() = default;

Expected<std::unique_ptr<Explainer>> Explainer::Create(const config::SchedulerConfig& config,
                                                       const runtime::Registry& registry,
                                                       std::vector<std::string>& notes,
                                                       const ExtenderAccess& access) {
  std::unique_ptr<Explainer> explainer(new Explainer());
  BERTH_TRY(explainer->engine_,
            Engine::Build(config, registry, explainer->ports_.ports(), notes, {}, access));
  explainer->input_ = std::make_unique<Input>(explainer->engine_->retained_fields());
  explainer->evaluator_ = std::make_unique<PodEvaluator>(*explainer->engine_);
  return explainer;
}

Expected<void> Explainer::Load(std::string_view text, const std::string& file,
                               std::vector<std::string>& problems) {
  auto documents = api::SplitDocuments(text);
  if (!documents) return std::unexpected(std::move(documents).error().In(file));
  for (const std::string& error : documents->errors) problems.push_back(fmt::format("{}: {}", file, error));
  for (const api::Document& document : documents->objects) {
    if (const std::string wrong = input_->Add(document); !wrong.empty()) {
      problems.push_back(fmt::format("{}: {}: {}: {}", file, document.location, document.kind, wrong));
    }
  }
  return {};
}

void Explainer::FillCluster() {
  if (std::exchange(input_->filled, true)) return;
  cluster::ClusterState& cache = engine_->cache();
  for (const auto& [name, node] : input_->nodes) cache.AddNode(node);
  api::AllKinds::ForEach([&]<class T>() {
    for (const auto& [key, object] : input_->others.Of<T>())
      cache.objects().Apply(ports::Change<T>{nullptr, object});
  });
  for (const auto& [key, group] : input_->others.Of<api::PodGroup>())
    engine_->handle().groups.PutObject(group);
  std::vector<api::PodPtr> sorted = input_->pods;
  std::ranges::sort(sorted, {},
                    [](const api::PodPtr& pod) { return std::tie(pod->metadata.ns, pod->metadata.name); });
  for (const api::PodPtr& pod : sorted) {
    if (pod->terminal()) continue;
    engine_->handle().groups.Put(pod);
    if (!pod->spec.node_name.empty()) {
      cache.AddPod(pod);
    } else if (!pod->status.nominated_node_name.empty()) {
      evaluator_->AddNominated(pod);
    }
  }
}

const std::vector<api::PodPtr>& Explainer::pods() const { return input_->pods; }

api::PodPtr Explainer::FindPod(const std::string& key) const {
  const auto found = input_->pod_index.find(key);
  return found == input_->pod_index.end() ? nullptr : input_->pods[found->second];
}

const std::map<std::string, std::size_t>& Explainer::kinds() const { return input_->kinds; }

Expected<void> Explainer::Evaluate(const std::vector<std::string>& only,
                                   const std::function<void(const Evaluated&)>& visit) {
  FillCluster();
  for (const std::string& key : only) {
    const auto found = input_->pod_index.find(key);
    if (found == input_->pod_index.end())
      return Fail(ErrorCode::kNotFound, fmt::format("--pod {}: no such pod in the input", key));
    if (!input_->pods[found->second]->spec.node_name.empty()) {
      return Invalid(fmt::format("--pod {}: the pod is on node {} already", key,
                                 input_->pods[found->second]->spec.node_name));
    }
  }
  for (const api::PodPtr& pod : input_->pods) {
    if (!pod->spec.node_name.empty()) continue;
    if (!only.empty() && std::ranges::find(only, pod->metadata.Key()) == only.end()) continue;
    cluster::PodInfo info;
    const auto record = evaluator_->Evaluate(pod, info);
    visit({record, info.pod == nullptr ? nullptr : &info});
  }
  return {};
}

}  // namespace berth::assembly
