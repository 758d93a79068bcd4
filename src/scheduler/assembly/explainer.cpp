#include "scheduler/assembly/explainer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/assembly/fill_engine.hpp"
#include "scheduler/assembly/loaded_cluster.hpp"

namespace berth::assembly {

Explainer::Explainer() = default;
Explainer::~Explainer() = default;

Expected<std::unique_ptr<Explainer>> Explainer::Create(const config::SchedulerConfig& config,
                                                       const runtime::Registry& registry,
                                                       std::vector<std::string>& notes,
                                                       const ExtenderAccess& access) {
  std::unique_ptr<Explainer> explainer(new Explainer());
  BERTH_TRY(explainer->engine_,
            Engine::Build(config, registry, explainer->ports_.ports(), notes, {}, access));
  explainer->input_ = std::make_unique<LoadedCluster>(explainer->engine_->retained_fields());
  explainer->evaluator_ = std::make_unique<PodEvaluator>(*explainer->engine_);
  return explainer;
}

Expected<void> Explainer::Load(std::string_view text, const std::string& file,
                               std::vector<std::string>& problems) {
  return input_->Load(text, file, problems);
}

void Explainer::FillCluster() {
  if (std::exchange(filled_, true)) return;
  ClusterContents contents{.nodes = {}, .pods = input_->pods(), .others = {}};
  for (const auto& [name, node] : input_->nodes()) contents.nodes.push_back(node);
  api::AllKinds::ForEach([&]<class T>() {
    for (const auto& [key, object] : input_->others().Of<T>())
      contents.others.emplace_back(ports::Change<T>{nullptr, object});
  });
  FillEngine(*engine_, *evaluator_, std::move(contents));
}

const std::vector<api::PodPtr>& Explainer::pods() const { return input_->pods(); }
api::PodPtr Explainer::FindPod(const std::string& key) const { return input_->FindPod(key); }
const std::map<std::string, std::size_t>& Explainer::kinds() const { return input_->kinds(); }

Expected<void> Explainer::Evaluate(const std::vector<std::string>& only,
                                   const std::function<void(const Evaluated&)>& visit) {
  FillCluster();
  for (const std::string& key : only) {
    const api::PodPtr pod = input_->FindPod(key);
    if (pod == nullptr)
      return Fail(ErrorCode::kNotFound, fmt::format("--pod {}: no such pod in the input", key));
    if (!pod->spec.node_name.empty())
      return Invalid(fmt::format("--pod {}: the pod is on node {} already", key, pod->spec.node_name));
  }
  for (const api::PodPtr& pod : input_->pods()) {
    if (!pod->spec.node_name.empty()) continue;
    if (!only.empty() && std::ranges::find(only, pod->metadata.Key()) == only.end()) continue;
    cluster::PodInfo info;
    const auto record = evaluator_->Evaluate(pod, info);
    visit({record, info.pod == nullptr ? nullptr : &info});
  }
  return {};
}

}  // namespace berth::assembly
