#include "tools/rebalance/cluster_copy.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/plugins/load_aware/forecast_query.hpp"

namespace berth::rebalance {

using load_metrics::Signal;
using load_metrics::SignalAnswer;
using load_metrics::SignalId;
using load_metrics::Subject;

namespace {

algorithm::AlgorithmOptions WholeCluster() {
  return {.percentage_of_nodes_to_score = 100,
          .sample = false,
          .tie_break = algorithm::TieBreak::kFirstByName,
          .equivalence_cache_bytes = 0};
}

// A new pod from the template of the pod's controller, as far as it can be derived from the pod.
api::PodPtr ReplacementOf(const api::Pod& pod) {
  api::Pod replacement = pod;
  replacement.metadata.uid = "replacement-of-" + pod.metadata.uid;
  replacement.spec.node_name = "";
  replacement.status = {};
  return std::make_shared<const api::Pod>(std::move(replacement));
}

std::vector<std::string> NearBest(const record::AttemptRecord& record) {
  if (!record.scored) return {record.nodes->by_row[record.node]};  // the only one that fits
  const auto best = static_cast<double>(record.Total(record.node));
  std::vector<std::string> near;
  record.feasible.ForEach([&](std::size_t row) {
    if (static_cast<double>(record.Total(static_cast<cluster::Row>(row))) >= best * (1 - ClusterCopy::kNear))
      near.push_back(record.nodes->by_row[row]);
  });
  return near;
}

}  // namespace

ClusterCopy::ClusterCopy(const Clock& clock) : ports_(clock.WallNow()), polled_at_(clock.Now()) {}

Expected<std::unique_ptr<ClusterCopy>> ClusterCopy::Create(const CopySource& source) {
  std::unique_ptr<ClusterCopy> copy(new ClusterCopy(source.clock));
  std::vector<std::string> ignored_notes;  // of plugins: the live engine's were logged
  BERTH_TRY(copy->engine_,
            assembly::Engine::Build(source.config, source.plugins, copy->ports_.ports(), ignored_notes));
  copy->engine_->handle().signals.SetClock(source.clock);
  copy->algorithm_ = std::make_unique<algorithm::SchedulingAlgorithm>(
      WholeCluster(), copy->engine_->reasons(), copy->engine_->extenders());
  copy->CopyObjects(source);
  copy->CopyMeasurements(source);
  return copy;
}

void ClusterCopy::CopyObjects(const CopySource& source) {
  cluster::ClusterState& to = engine_->cache();
  cluster::ClusterState& from = source.live.cache();
  const cluster::NodeTable& nodes = from.nodes();
  api::AllKinds::ForEach([&]<class T>() {
    if constexpr (!std::is_same_v<T, api::Node> && !std::is_same_v<T, api::Pod>) {
      from.objects().Of<T>().ForEach([&](const std::shared_ptr<const T>& object) {
        to.objects().Apply(ports::Change<T>{nullptr, object});
      });
    }
  });
  nodes.all().ForEach([&](std::size_t row) {
    to.AddNode(std::make_shared<const api::Node>(nodes.node(static_cast<cluster::Row>(row))));
  });
  std::vector<api::PodPtr> pods;
  from.AppendBoundPods(pods);
  for (api::PodPtr& pod : pods) to.AddPod(std::move(pod));
  for (const api::PodPtr& pod : source.pending) {
    if (!pod->status.nominated_node_name.empty())
      nominated_.push_back(cluster::PreparePod(pod, engine_->symbols()));
  }
  for (const cluster::PodInfo& pod : nominated_)
    nominations_.push_back({to.nodes().Find(pod.nominated), &pod});
}

// The plugins of both engines declare the same signals in the same order.
void ClusterCopy::CopyMeasurements(const CopySource& source) {
  load_metrics::SignalTable& to = engine_->handle().signals;
  const load_metrics::SignalTable& from = source.live.handle().signals;
  const cluster::NodeTable& nodes = source.live.cache().nodes();
  std::vector<load_metrics::SeriesName> names;
  std::vector<cluster::Row> rows;
  nodes.all().ForEach([&](std::size_t row) {
    rows.push_back(static_cast<cluster::Row>(row));
    names.push_back({{"node", nodes.name(rows.back())}});
  });
  names_ = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
  values_.resize(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto id = static_cast<SignalId>(i);
    const Signal& signal = from.signal(id);
    if (signal.spec.subject == Subject::kPod) continue;
    if (!load_metrics::HasValues(signal.state)) {
      // A guard that failed is not applied; one that was not polled yet would suppress its signal.
      if (signal.state != load_metrics::SignalState::kWaiting) to.Failed(id, polled_at_, signal.error);
      continue;
    }
    if (signal.spec.subject == Subject::kWorkload) {
      to.Take(load_metrics::AnswerOf(id, polled_at_, signal.series));
      continue;
    }
    for (const cluster::Row row : rows) values_[i].push_back(signal.At(row));
    Deliver(id);
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Signal& signal = from.signal(static_cast<SignalId>(i));
    if (signal.spec.subject != Subject::kPod) continue;
    for (const auto& [resource, usage] : source.load.usage) {
      if (!signal.spec.name.ends_with(": " + resource)) continue;
      std::vector<load_metrics::SeriesValue> pods;
      for (const auto& [pod, value] : usage) {
        const auto slash = pod.find('/');
        pods.push_back({{{"namespace", pod.substr(0, slash)}, {"pod", pod.substr(slash + 1)}}, value});
      }
      to.Take(load_metrics::AnswerOf(static_cast<SignalId>(i), polled_at_, std::move(pods)));
    }
  }
}

void ClusterCopy::Deliver(SignalId id) {
  SignalAnswer answer{
      .signal = id, .polled_at = polled_at_, .renumbered = true, .fresh = names_, .samples = {}};
  const std::vector<double>& values = values_[static_cast<std::size_t>(id)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) answer.samples.emplace_back(i, values[i]);
  }
  engine_->handle().signals.Take(answer);
}

bool ClusterCopy::Schedules(const api::Pod& pod) const {
  return engine_->FindProfile(pod.spec.scheduler_name) != nullptr;
}

ClusterCopy::Choice ClusterCopy::Choose(const api::PodPtr& pod) {
  const runtime::Profile* profile = engine_->FindProfile(pod->spec.scheduler_name);
  if (profile == nullptr)
    return {.nodes = {}, .near = {}, .failure = "no profile is responsible for the pod"};
  cluster::ClusterState& cache = engine_->cache();
  const api::PodPtr current = cache.FindPod(pod->metadata.uid);
  cache.RemovePod(pod->metadata.uid);
  Choice choice;
  {
    const cluster::PodInfo info = cluster::PreparePod(ReplacementOf(*pod), engine_->symbols());
    const auto result = algorithm_->Schedule(info, *profile, view_.Of(cache), nominations_);
    const record::AttemptRecord& record = *result.record;
    if (record.result == record::Result::kScheduled) {
      const RowSet best = record.Best();
      best.ForEach([&](std::size_t row) { choice.nodes.push_back(record.nodes->by_row[row]); });
      if (choice.nodes.empty()) choice.nodes.push_back(record.nodes->by_row[record.node]);
      choice.near = NearBest(record);
    } else {
      choice.failure = record.message;
    }
  }
  if (current != nullptr) cache.AddPod(current);
  return choice;
}

void ClusterCopy::Move(const api::PodPtr& pod, const std::string& to) {
  api::Pod moved = *pod;
  moved.spec.node_name = to;
  engine_->cache().RemovePod(pod->metadata.uid);
  engine_->cache().AddPod(std::make_shared<const api::Pod>(std::move(moved)));
}

void ClusterCopy::AddLoad(const SignalLoad& signal, std::string_view node, double percent) {
  const cluster::Row row = engine_->cache().nodes().Find(node);
  if (row == cluster::kNoRow) return;
  AddToValue(signal.id, node, percent / signal.scale);
  AddToContainers(signal, node, row, percent);
}

void ClusterCopy::AddToValue(SignalId id, std::string_view node, double more) {
  std::vector<double>& values = values_[static_cast<std::size_t>(id)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((*names_)[i].front().second == node) values[i] += more;
  }
  Deliver(id);
}

// The forecast of LoadAware distinguishes the containers of a node from its other load. Of the signals of a
// resource, the one with its name counts.
void ClusterCopy::AddToContainers(const SignalLoad& signal, std::string_view node, cluster::Row row,
                                  double percent) {
  if (signal.traffic || signal.name != signal.resource) return;
  const bool cpu = signal.resource == "cpu";
  const auto offered = engine_->cache().nodes().allocatable(cpu ? cluster::kCpu : cluster::kMemory);
  if (row >= offered.size()) return;
  constexpr double kMilli = 1000;
  const double amount = percent / 100 * static_cast<double>(offered[row]) / (cpu ? kMilli : 1);
  load_metrics::SignalTable& signals = engine_->handle().signals;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const auto id = static_cast<SignalId>(i);
    if (signals.signal(id).spec.name == plugins::ContainerUseName(signal.resource) && !values_[i].empty())
      AddToValue(id, node, amount);
  }
}

}  // namespace berth::rebalance
