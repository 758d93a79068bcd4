#include "scheduler/assembly/pod_evaluator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::assembly {
namespace {

// The reason why no profile schedules the pod; empty if one does.
std::string IgnoredReason(const api::Pod& pod, const runtime::Profile* profile, const Engine& engine) {
  if (profile == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& known : engine.profiles()) names.push_back(known->name());
    return fmt::format("its schedulerName is \"{}\", the profiles are for {} (--config FILE: others)",
                       pod.spec.scheduler_name.str(), fmt::join(names, ", "));
  }
  if (pod.metadata.deleting()) return "it is being deleted";
  return pod.terminal() ? "it has finished" : "";
}

}  // namespace

PodEvaluator::PodEvaluator(Engine& engine)
    : engine_(engine),
      algorithm_({.percentage_of_nodes_to_score = 100,
                  .sample = false,
                  .tie_break = algorithm::TieBreak::kFirstByName,
                  .explanations = true},
                 engine.reasons(), engine.extenders()) {}

void PodEvaluator::AddNominated(const api::PodPtr& pod) {
  if (engine_.FindProfile(pod->spec.scheduler_name) == nullptr) return;
  std::unique_ptr<cluster::PodInfo>& info = nominated_[pod];
  if (info != nullptr) return;
  info = std::make_unique<cluster::PodInfo>(cluster::PreparePod(pod, engine_.symbols()));
  nominations_.push_back({engine_.cache().nodes().Find(info->nominated), info.get()});
}

void PodEvaluator::SetNominated(std::span<const std::pair<api::PodPtr, std::string_view>> pods) {
  std::map<api::PodPtr, std::unique_ptr<cluster::PodInfo>> before = std::exchange(nominated_, {});
  nominations_.clear();
  const cluster::NodeTable& nodes = std::as_const(engine_).cache().nodes();
  for (const auto& [pod, node] : pods) {
    std::unique_ptr<cluster::PodInfo>& info = nominated_[pod];
    if (const auto known = before.find(pod); known != before.end()) info = std::move(known->second);
    if (info == nullptr)
      info = std::make_unique<cluster::PodInfo>(cluster::PreparePod(pod, engine_.symbols()));
    nominations_.push_back({nodes.Find(node), info.get()});
  }
}

std::shared_ptr<const record::AttemptRecord> PodEvaluator::Evaluate(const api::PodPtr& pod,
                                                                    cluster::PodInfo& info) {
  if (auto record = Prepare(pod, info)) return record;
  const runtime::Profile& profile = *engine_.FindProfile(pod->spec.scheduler_name);
  return algorithm_.Schedule(info, profile, View(), nominations_).record;
}

void PodEvaluator::TryPreemption(const api::PodPtr& pod,
                                 const algorithm::SchedulingAlgorithm::VisitPostFilter& visit) {
  cluster::PodInfo info;
  if (Prepare(pod, info) != nullptr) return;
  const runtime::Profile& profile = *engine_.FindProfile(pod->spec.scheduler_name);
  algorithm_.PreviewPostFilter(info, profile, View(), nominations_, visit);
}

std::shared_ptr<const record::AttemptRecord> PodEvaluator::EvaluateFit(const api::PodPtr& pod) {
  cluster::PodInfo info;
  if (auto record = Prepare(pod, info)) return record;
  const runtime::Profile& profile = *engine_.FindProfile(pod->spec.scheduler_name);
  return algorithm_
      .ScheduleMember(info, profile, View(), engine_.cache().nodes().all(), algorithm::RecordedScores::kNone,
                      nominations_)
      .record;
}

std::shared_ptr<record::AttemptRecord> PodEvaluator::Prepare(const api::PodPtr& pod, cluster::PodInfo& info) {
  const auto without_attempt = [&](record::Result result, std::string message) {
    auto record = std::make_shared<record::AttemptRecord>();
    record->pod = pod->metadata.Key();
    record->scheduler_name = pod->spec.scheduler_name;
    record->result = result;
    record->message = std::move(message);
    return record;
  };
  const runtime::Profile* profile = engine_.FindProfile(pod->spec.scheduler_name);
  if (const std::string why_not = IgnoredReason(*pod, profile, engine_); !why_not.empty())
    return without_attempt(record::Result::kIgnored, why_not);
  cluster::PodInfo prepared = cluster::PreparePod(pod, engine_.symbols());
  if (const framework::Status status = profile->RunPreEnqueue(prepared); !status.ok())
    return without_attempt(record::Result::kGated, status.Message());
  info = std::move(prepared);
  return nullptr;
}

std::span<const cluster::Row> PodEvaluator::RowsByName() {
  const cluster::ClusterState& cache = std::as_const(engine_).cache();
  if (by_name_generation_ == cache.node_generation()) return by_name_;
  by_name_generation_ = cache.node_generation();
  const cluster::NodeTable& nodes = cache.nodes();
  const auto name = [&](cluster::Row row) -> const std::string& { return nodes.name(row); };
  // A node that is added for one evaluation and removed again leaves the order as it was.
  const bool valid = by_name_.size() == nodes.node_count() &&
                     std::ranges::all_of(by_name_, [&](cluster::Row row) { return nodes.all().Has(row); }) &&
                     std::ranges::is_sorted(by_name_, {}, name);
  if (valid) return by_name_;
  by_name_.clear();
  nodes.all().ForEach([&](std::size_t row) { by_name_.push_back(static_cast<cluster::Row>(row)); });
  std::ranges::sort(by_name_, {}, name);
  return by_name_;
}

algorithm::ClusterView PodEvaluator::View() {
  cluster::ClusterState& cache = engine_.cache();
  if (names_ == nullptr || names_generation_ != cache.node_generation()) {
    names_ = algorithm::NamesOf(cache.nodes());
    names_generation_ = cache.node_generation();
  }
  return {cache.nodes(), cache.VisitingOrder(), names_};
}

}  // namespace berth::assembly
