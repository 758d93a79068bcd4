#include "scheduler/evaluation/cluster_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/redact.hpp"

namespace berth::evaluation {
namespace {

// Symbols of deleted objects are released at this interval.
constexpr Duration kReleaseInterval = std::chrono::seconds(30);

// A profile needs a plugin at these points.
void AddIfEmpty(config::Profile& profile, config::Point point, const char* plugin) {
  const bool elsewhere = profile.at(config::Point::kMultiPoint).Enables(plugin);
  if (!elsewhere && profile.at(point).enabled.empty()) profile.at(point).enabled.push_back({plugin});
}

// The pods of `a` that are not in `b`; both are sorted by pointer.
std::vector<api::PodPtr> Without(const std::vector<api::PodPtr>& a, const std::vector<api::PodPtr>& b) {
  std::vector<api::PodPtr> rest;
  std::ranges::set_difference(a, b, std::back_inserter(rest));
  return rest;
}

std::optional<load_metrics::SignalId> FindSignal(const load_metrics::SignalTable& table,
                                                 const load_metrics::SignalSpec& spec) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto id = static_cast<load_metrics::SignalId>(i);
    if (table.signal(id).spec.Same(spec)) return id;
  }
  return std::nullopt;
}

api::PodPtr OnNode(const api::PodPtr& pod, const std::string& node) {
  if (!pod->spec.node_name.empty()) return pod;
  api::Pod placed = *pod;
  placed.spec.node_name = node;
  return std::make_shared<const api::Pod>(std::move(placed));
}

}  // namespace

CopyConfig ConfigOfCopy(const config::SchedulerConfig& config, const runtime::Registry& plugins) {
  CopyConfig copy{config, {}};
  std::vector<std::string> foreign;
  for (config::Profile& profile : copy.config.profiles) {
    const std::size_t before = foreign.size();
    for (config::PluginSet& set : profile.plugins) {
      std::erase_if(set.enabled, [&](const config::PluginRef& plugin) {
        if (!plugins.IsForeign(plugin.name)) return false;
        if (std::ranges::find(foreign, plugin.name) == foreign.end()) foreign.push_back(plugin.name);
        return true;
      });
    }
    if (foreign.size() == before) continue;
    AddIfEmpty(profile, config::Point::kQueueSort, "PrioritySort");
    AddIfEmpty(profile, config::Point::kBind, "DefaultBinder");
  }
  for (const std::string& plugin : foreign)
    copy.left_out.push_back(
        fmt::format("plugin {}, which is not built into Berth and runs on the scheduler loop only", plugin));
  for (const config::ExtenderConfig& extender : config.extenders)
    copy.left_out.push_back(fmt::format("extender {}, which is not called", RedactUrl(extender.url_prefix)));
  copy.config.extenders.clear();
  return copy;
}

class ClusterCopy::ClockOnly final : public framework::NoLoop {
 public:
  explicit ClockOnly(const Clock& clock) : clock_(clock) {}
  MonoTime Now() const override { return clock_.Now(); }
  WallTime WallNow() const override { return clock_.WallNow(); }

 private:
  const Clock& clock_;
};

ClusterCopy::ClusterCopy(const Parts& parts)
    : parts_(parts), loop_(std::make_unique<ClockOnly>(parts.clock)), ports_(parts.clock.WallNow()) {}
ClusterCopy::~ClusterCopy() = default;

Expected<std::unique_ptr<ClusterCopy>> ClusterCopy::Create(const Parts& parts) {
  std::unique_ptr<ClusterCopy> copy(new ClusterCopy(parts));
  std::vector<std::string> ignored_notes;  // those of the live engine were logged
  BERTH_TRY(copy->engine_, assembly::Engine::Build(parts.config, parts.plugins,
                                                   copy->ports_.ports(*copy->loop_), ignored_notes));
  copy->engine_->handle().signals.SetClock(parts.clock);
  copy->evaluator_ = std::make_unique<assembly::PodEvaluator>(*copy->engine_);
  return copy;
}

void ClusterCopy::Apply(CopyUpdate update) {
  ApplyObjects(update.objects);
  ApplyRows(update.rows);
  ApplySignals(update.signals);
  ApplyNominations(update.nominated);
  ApplyGroups(std::move(update.groups), std::move(update.composites));
  if (parts_.clock.Now() < next_release_) return;
  next_release_ = parts_.clock.Now() + kReleaseInterval;
  engine_->cache().ReleaseUnused();
}

void ClusterCopy::ApplyObjects(const std::vector<ports::ClusterChange>& changes) {
  for (const ports::ClusterChange& change : changes)
    std::visit([&](const auto& one) { engine_->cache().objects().Apply(one); }, change);
}

// Pods may move between rows, and nodes too, if a node was deleted and created again. So everything leaves
// before anything comes.
void ClusterCopy::ApplyRows(std::vector<RowState>& changed) {
  cluster::ClusterState& cache = engine_->cache();
  // Only the last state of a row counts.
  std::vector<RowState*> states;
  std::vector<bool> seen;
  for (auto state = changed.rbegin(); state != changed.rend(); ++state) {
    if (seen.size() <= state->row) seen.resize(state->row + 1);
    if (seen[state->row]) continue;
    seen[state->row] = true;
    std::ranges::sort(state->pods);
    states.push_back(&*state);
  }
  std::ranges::reverse(states);  // the order of the live rows
  if (rows_.size() < seen.size()) rows_.resize(seen.size());
  for (const RowState* state : states) {
    CopiedRow& row = rows_[state->row];
    for (const api::PodPtr& pod : Without(row.pods, state->pods)) cache.RemovePod(pod->metadata.uid);
    const bool same = state->node != nullptr && state->node->metadata.name == row.node;
    if (row.node.empty() || same) continue;
    cache.RemoveNode(row.node);
    row.node.clear();
    row.object = nullptr;
  }
  for (RowState* state : states) {
    CopiedRow& row = rows_[state->row];
    if (state->node != nullptr && state->node != row.object) cache.AddNode(state->node);
    row.object = state->node;
    row.node = state->node == nullptr ? "" : state->node->metadata.name;
  }
  for (RowState* state : states) {
    CopiedRow& row = rows_[state->row];
    for (const api::PodPtr& pod : Without(state->pods, row.pods)) cache.AddPod(OnNode(pod, row.node));
    row.pods = std::move(state->pods);
  }
}

// The live engine may have signals of former configurations, so their ids differ.
void ClusterCopy::ApplySignals(const std::vector<SignalState>& signals) {
  load_metrics::SignalTable& table = engine_->handle().signals;
  for (const SignalState& signal : signals) {
    const auto id = FindSignal(table, signal.spec);
    if (!id) continue;
    if (!load_metrics::HasValues(signal.state)) {
      // A guard that was not polled yet would suppress its signal.
      if (signal.state != load_metrics::SignalState::kWaiting)
        table.Failed(*id, parts_.clock.Now(), signal.error);
      continue;
    }
    std::vector<load_metrics::SeriesValue> series;
    for (std::size_t row = 0; row < std::min(signal.values.size(), rows_.size()); ++row) {
      if (rows_[row].node.empty() || std::isnan(signal.values[row])) continue;
      series.push_back({{{"node", rows_[row].node}}, signal.values[row]});
    }
    table.Take(load_metrics::AnswerOf(*id, signal.polled_at, std::move(series)));
  }
}

void ClusterCopy::ApplyNominations(const std::vector<NominatedPod>& pods) {
  std::vector<std::pair<api::PodPtr, std::string_view>> nominated;
  for (const NominatedPod& one : pods) nominated.emplace_back(one.pod, one.node);
  evaluator_->SetNominated(nominated);
}

void ClusterCopy::ApplyGroups(std::vector<GroupState> groups, std::vector<api::PodGroupPtr> composites) {
  cluster::PodGroups& known = engine_->groups();
  for (const GroupState& group : groups_) {
    for (const auto& member : group.members) known.Remove(*member.pod);
    if (group.object != nullptr) known.RemoveObject(group.key);
  }
  for (const api::PodGroupPtr& composite : composites_) known.RemoveObject(cluster::KeyOf(*composite));
  groups_ = std::move(groups);
  composites_ = std::move(composites);
  for (const api::PodGroupPtr& composite : composites_) known.PutObject(composite);
  for (const GroupState& group : groups_) {
    if (group.object != nullptr) known.PutObject(group.object);
    for (const auto& member : group.members) {
      known.Put(member.pod);
      if (member.stage == cluster::PodGroups::Stage::kAssumed) known.Assume(*member.pod, member.node);
    }
  }
}

api::PodPtr ClusterCopy::FindPlaced(std::string_view key) const {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return nullptr;
  const std::string_view ns = key.substr(0, slash), name = key.substr(slash + 1);
  for (const CopiedRow& row : rows_) {
    for (const api::PodPtr& pod : row.pods) {
      if (pod->metadata.name == name && pod->metadata.ns.str() == ns) return OnNode(pod, row.node);
    }
  }
  return nullptr;
}

api::PodPtr ClusterCopy::FindPlacedByUid(const std::string& uid) const {
  return engine_->cache().FindPod(uid);
}

}  // namespace berth::evaluation
