#include "scheduler/runtime/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <array>

#include <algorithm>
#include <exception>
#include <utility>

#include "observability/log/log.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/runtime/guarded.hpp"

namespace berth::runtime {

using framework::Attempt;
using framework::Code;
using framework::Status;

// --- queue ---

Status Profile::RunPreEnqueue(const cluster::PodInfo& pod, std::string_view call_first) const {
  const auto ask = [&](const framework::PreEnqueuePlugin& plugin) {
    Status status = Guarded(ExtensionPoint::kPreEnqueue, plugin, [&] { return plugin.PreEnqueue(pod); });
    if (status.ok()) return status;
    status.plugin = plugin.Name();
    if (!status.rejected()) {
      log::Error("Unexpected error running PreEnqueue plugin",
                 {{"pod", pod.key}, {"plugin", plugin.Name()}, {"err", status.Message()}});
    }
    return status;
  };
  // a rejected pod counts as a success of the extension point
  PointTimer timer(*this, ExtensionPoint::kPreEnqueue);
  for (const bool first : {true, false}) {
    for (const framework::PreEnqueuePlugin* plugin : pre_enqueue_) {
      if ((plugin->Name() == call_first) != first) continue;
      if (Status status = ask(*plugin); !status.ok()) return status;
    }
  }
  return {};
}

bool Profile::IsRegistered(const framework::ClusterEvent& event) const {
  return has_extenders_ || std::ranges::any_of(events_, [&](const Registered& registered) {
           return std::ranges::any_of(registered.events,
                                      [&](const auto& wanted) { return wanted.event.Matches(event); });
         });
}

bool Profile::IsRegistered(const framework::ClusterEvent& event, std::span<const std::string> plugins) const {
  if (has_extenders_ && std::ranges::find(plugins, kExtender) != plugins.end()) return true;
  return std::ranges::any_of(events_, [&](const Registered& registered) {
    return std::ranges::find(plugins, registered.plugin->Name()) != plugins.end() &&
           std::ranges::any_of(registered.events,
                               [&](const auto& wanted) { return wanted.event.Matches(event); });
  });
}

framework::Requeue Profile::EvaluateHint(const framework::ClusterEvent& event,
                                         const framework::EventObjects& objects, const cluster::PodInfo& pod,
                                         std::span<const std::string> rejectors,
                                         std::span<const std::string> pending) const {
  const auto is_in = [](std::span<const std::string> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  using framework::Requeue;
  Requeue strongest = has_extenders_ && is_in(rejectors, kExtender) ? Requeue::kAfterBackoff : Requeue::kSkip;
  for (const Registered& registered : events_) {
    const std::string_view plugin = registered.plugin->Name();
    const bool immediately = is_in(pending, plugin);
    if (!immediately && !is_in(rejectors, plugin)) continue;
    for (const framework::EventRegistration& wanted : registered.events) {
      if (!wanted.event.Matches(event)) continue;
      framework::Hint hint = framework::Hint::kQueue;
      const bool has_objects = objects.before != nullptr || objects.after != nullptr;
      if (wanted.hint && has_objects) {
        const MonoTime started = metrics_recorder_ ? metrics_recorder_->Now() : MonoTime{};
        Expected<framework::Hint> evaluated = framework::Hint::kQueue;
        const Status status = framework::CatchExceptions([&] {
          evaluated = wanted.hint(pod, objects);
          return evaluated ? Status{} : Status::Error(evaluated.error().message);
        });
        if (status.ok()) {
          hint = *evaluated;
        } else {
          log::Error(
              "QueueingHintFn returns error",
              {{"event", event.label}, {"plugin", plugin}, {"pod", pod.key}, {"err", status.Message()}});
        }
        if (metrics_recorder_) {
          metrics_recorder_->HintTook(
              plugin, event.label,
              !status.ok() ? "Error" : (hint == framework::Hint::kQueue ? "Queue" : "QueueSkip"),
              metrics_recorder_->Now() - started);
        }
      }
      if (hint == framework::Hint::kSkip) continue;
      if (immediately) return Requeue::kImmediately;
      strongest = Requeue::kAfterBackoff;
    }
  }
  return strongest;
}

void Profile::PrepareEvaluations() {
  if (!metrics_recorder_) return;
  for (const auto* plugin : pre_filters_)
    evaluations_.pre_filter.push_back(
        &metrics_recorder_->Evaluations(ExtensionPoint::kPreFilter, plugin->Name()));
  for (const auto* plugin : filters_)
    evaluations_.filter.push_back(&metrics_recorder_->Evaluations(ExtensionPoint::kFilter, plugin->Name()));
  for (const auto* plugin : pre_scores_)
    evaluations_.pre_score.push_back(
        &metrics_recorder_->Evaluations(ExtensionPoint::kPreScore, plugin->Name()));
  for (const WeightedScore& score : scores_)
    evaluations_.score.push_back(
        &metrics_recorder_->Evaluations(ExtensionPoint::kScore, score.plugin->Name()));
}

void Profile::CollectEvents() {
  const auto collect = [&](const auto& plugins) {
    for (const framework::Plugin* plugin : plugins) {
      if (std::ranges::find(events_, plugin, &Registered::plugin) == events_.end())
        events_.push_back({plugin, plugin->EventsToRegister()});
    }
  };
  collect(pre_enqueue_);
  collect(pre_filters_);
  collect(filters_);
  collect(reserves_);
  collect(permits_);
  collect(eviction_protections_);
}

// Plugins at two extension points are matched by name.
void Profile::LinkPlugins() {
  const auto find = [](const framework::Plugin& wanted, const auto& plugins, auto&& plugin_of) {
    const auto found = std::ranges::find(plugins, wanted.Name(),
                                         [&](const auto& entry) { return plugin_of(entry)->Name(); });
    return found == plugins.end() ? SIZE_MAX : static_cast<std::size_t>(found - plugins.begin());
  };
  for (const auto* plugin : pre_filters_) {
    pre_filter_filter_.push_back(find(*plugin, filters_, [](const auto* filter) { return filter; }));
    pre_filter_extension_.push_back(
        find(*plugin, extensions_, [](const auto& entry) { return entry.plugin; }));
  }
  for (const auto* plugin : pre_scores_)
    pre_score_score_.push_back(find(*plugin, scores_, [](const auto& entry) { return entry.plugin; }));
  for (std::size_t i = 0; i < scores_.size(); ++i) scores_by_name_.push_back(i);
  std::ranges::sort(scores_by_name_, {}, [this](std::size_t i) { return scores_[i].plugin->Name(); });
}

// --- PreFilter ---

namespace {

// Intersects `names` with the nodes that the plugin allows. Returns false and sets `status` if none remain.
bool Intersect(std::optional<std::vector<cluster::NodeNameId>>& names,
               std::vector<cluster::NodeNameId> allowed, std::vector<std::string> narrowing, Status& status) {
  if (!names) {
    names = std::move(allowed);
  } else {
    std::erase_if(
        *names, [&](cluster::NodeNameId name) { return std::ranges::find(allowed, name) == allowed.end(); });
  }
  if (!names->empty()) return true;
  std::ranges::sort(narrowing);
  status = Status::Unresolvable(
      narrowing.size() == 1
          ? fmt::format("node(s) didn't satisfy plugin {}", narrowing[0])
          : fmt::format("node(s) didn't satisfy plugin(s) [{}] simultaneously", fmt::join(narrowing, " ")));
  return false;
}

}  // namespace

PreFilterOutcome Profile::RunPreFilter(const Attempt& attempt, const ReusableResult* reusable) const {
  PreFilterOutcome outcome;
  if (CallsAllPlugins()) reusable = nullptr;
  if (reusable != nullptr) {
    outcome.skipped_filters = reusable->skipped;
    outcome.skipped_extensions = reusable->skipped_extensions;
  }
  PointTimer timer(*this, ExtensionPoint::kPreFilter);
  std::optional<std::vector<cluster::NodeNameId>> names;
  std::size_t index = ReusableResult::NextCalled(reusable, 0);
  for (; index < pre_filters_.size(); index = ReusableResult::NextCalled(reusable, index + 1)) {
    framework::PreFilterPlugin* plugin = pre_filters_[index];
    framework::PreFilterResult answer =
        Guarded(ExtensionPoint::kPreFilter, *plugin, [&] { return plugin->PreFilter(attempt); });
    if (answer.status.skip()) {
      if (const std::size_t i = pre_filter_filter_[index]; i != SIZE_MAX) outcome.skipped_filters.Add(i);
      if (const std::size_t i = pre_filter_extension_[index]; i != SIZE_MAX)
        outcome.skipped_extensions.Add(i);
      continue;
    }
    if (answer.status.ok()) {
      if (!answer.nodes) continue;
      outcome.narrowing.emplace_back(plugin->Name());
      if (Intersect(names, std::move(*answer.nodes), outcome.narrowing, outcome.status)) continue;
      break;
    }
    const Code code = answer.status.code;
    answer.status.plugin = plugin->Name();
    outcome.status = code == Code::kUnschedulable || code == Code::kUnschedulableAndUnresolvable
                         ? std::move(answer.status)
                         : Status::Error(fmt::format("running PreFilter plugin \"{}\": {}", plugin->Name(),
                                                     answer.status.Message()));
    // After Unschedulable the other plugins are still called: one may return UnschedulableAndUnresolvable.
    if (code != Code::kUnschedulable) break;
  }
  CountCalled(evaluations_.pre_filter, index + 1);
  timer.code = outcome.status.code;
  outcome.narrowed = names.has_value();
  if (names) outcome.nodes = std::move(*names);
  return outcome;
}

ReusableResult Profile::ReusablePreFilter(const cluster::PodInfo& pod,
                                          const PreFilterOutcome& outcome) const {
  ReusableResult reusable;
  for (std::size_t index = 0; index < pre_filters_.size(); ++index) {
    if (pre_filters_[index]->PreFilterDependency(pod) != framework::ResultDependency::kNodes) continue;
    reusable.plugins.Add(index);
    if (const std::size_t i = pre_filter_filter_[index]; i != SIZE_MAX && outcome.skipped_filters.Has(i))
      reusable.skipped.Add(i);
    if (const std::size_t i = pre_filter_extension_[index];
        i != SIZE_MAX && outcome.skipped_extensions.Has(i))
      reusable.skipped_extensions.Add(i);
  }
  return reusable;
}

// --- PostFilter ---

framework::PostFilterResult Profile::RunPostFilter(const Attempt& attempt,
                                                   const framework::FilterOutcome& verdicts,
                                                   framework::PostFilterServices& services) const {
  PointTimer timer(*this, ExtensionPoint::kPostFilter);
  framework::PostFilterResult outcome{{Code::kUnschedulable, {}, {}}, std::nullopt};
  for (framework::PostFilterPlugin* plugin : post_filters_) {
    framework::PostFilterResult answer = Guarded(ExtensionPoint::kPostFilter, *plugin, [&] {
      return plugin->PostFilter(attempt, verdicts, services);
    });
    if (answer.status.ok() || answer.status.code == Code::kUnschedulableAndUnresolvable) {
      answer.status.plugin = plugin->Name();
      timer.code = answer.status.code;
      return answer;
    }
    if (!answer.status.rejected()) {
      Status failed = Status::Error(answer.status.Message());
      failed.plugin = plugin->Name();
      timer.code = Code::kError;
      return {std::move(failed), std::nullopt};
    }
    if (answer.nominate) outcome.nominate = std::move(answer.nominate);
    if (outcome.refusals.empty()) outcome.refusals = std::move(answer.refusals);
    for (std::string& reason : answer.status.reasons) outcome.status.reasons.push_back(std::move(reason));
    if (outcome.status.plugin.empty()) outcome.status.plugin = plugin->Name();
  }
  timer.code = outcome.status.code;
  return outcome;
}

std::vector<Profile::PointPlugins> Profile::ListPlugins() const {
  std::vector<PointPlugins> points;
  const auto add = [&](std::string_view point, const auto& plugins) {
    PointPlugins& listed = points.emplace_back(PointPlugins{point, {}});
    for (const auto* plugin : plugins) listed.plugins.emplace_back(plugin->Name(), 0);
  };
  add("PreEnqueue", pre_enqueue_);
  add("QueueSort", std::array{sort_});
  add("PreFilter", pre_filters_);
  add("Filter", filters_);
  add("PostFilter", post_filters_);
  add("PreScore", pre_scores_);
  PointPlugins& scores = points.emplace_back(PointPlugins{"Score", {}});
  for (const auto& [plugin, weight] : scores_) scores.plugins.emplace_back(plugin->Name(), weight);
  add("Reserve", reserves_);
  add("Permit", permits_);
  add("PreBind", pre_binds_);
  add("Bind", binders_);
  add("PostBind", post_binds_);
  return points;
}

// --- saved states ---

namespace {

framework::SavedStatePlugin* AsSaved(framework::Plugin& plugin) {
  return plugin.StateIsDerived() ? nullptr : dynamic_cast<framework::SavedStatePlugin*>(&plugin);
}

}  // namespace

bool Profile::IsSavable() const {
  return std::ranges::all_of(
      plugins_, [](const auto& plugin) { return plugin->StateIsDerived() || AsSaved(*plugin) != nullptr; });
}

std::size_t Profile::SavedTimers() const {
  std::size_t timers = 0;
  for (const auto& plugin : plugins_) {
    if (const auto* saved = AsSaved(*plugin)) timers += saved->SavedTimers();
  }
  return timers;
}

Expected<void> Profile::SaveTo(std::vector<framework::CopiedState>& states) const {
  for (const auto& plugin : plugins_) {
    auto* const saved = AsSaved(*plugin);
    if (saved == nullptr) continue;
    BERTH_TRY(framework::StateEncoder encode,
              framework::CatchErrors(plugin->Name(), [&] { return saved->SaveState(); }));
    states.push_back({name(), std::string(plugin->Name()), std::move(encode)});
  }
  return {};
}

Expected<void> Profile::RestoreFrom(std::span<const framework::SavedState>& states) const {
  for (const auto& plugin : plugins_) {
    auto* const saved = AsSaved(*plugin);
    if (saved == nullptr) continue;
    if (states.empty() || states.front().profile != name() || states.front().plugin != plugin->Name())
      return Invalid(fmt::format("{}: no state of this plugin is saved at its place", plugin->Name()));
    const std::string& text = states.front().text;
    states = states.subspan(1);
    BERTH_RETURN_IF_ERROR(framework::CatchErrors(plugin->Name(), [&] { return saved->RestoreState(text); }));
  }
  return {};
}

}  // namespace berth::runtime
