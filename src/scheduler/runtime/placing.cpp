// The extension points of pod groups, and those after a node has been selected: Reserve, Permit, PreBind,
// Bind, PostBind.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "observability/log/log.hpp"
#include "scheduler/runtime/guarded.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::runtime {

using framework::Code;
using framework::Placement;
using framework::Status;

namespace {

constexpr Duration kLongestPermitWait = std::chrono::minutes(15);

// Passes rejections through unchanged; any other status becomes an error of the extension point.
Status Named(Status status, std::string_view point, std::string_view plugin) {
  if (status.ok()) return status;
  if (!status.rejected())
    status = Status::Error(fmt::format("running {} plugin \"{}\": {}", point, plugin, status.Message()));
  status.plugin = plugin;
  return status;
}

}  // namespace

Status Profile::RunPlacementFeasible(const api::PodGroup& group,
                                     const framework::PlacementProgress& progress) const {
  PointTimer timer(*this, ExtensionPoint::kPlacementFeasible);
  Status combined;
  for (framework::PlacementFeasiblePlugin* plugin : placement_feasible_) {
    Status status = Guarded(ExtensionPoint::kPlacementFeasible, *plugin,
                            [&] { return plugin->PlacementFeasible(group, progress); });
    if (status.ok()) continue;
    status.plugin = plugin->Name();
    timer.code = status.code;
    if (status.code == Code::kWait) {
      combined = std::move(status);
      continue;
    }
    if (status.code == Code::kUnschedulable) return status;
    timer.code = Code::kError;
    return Status::Error(
        status.code == Code::kError
            ? fmt::format("running PlacementFeasible plugin: {}", status.Message())
            : fmt::format("unexpected status from PlacementFeasible plugin: {}", CodeName(status.code)));
  }
  timer.code = combined.code;
  return combined;
}

framework::GeneratedPlacements Profile::RunPlacementGenerate(const api::PodGroup& group,
                                                             const cluster::NodeTable& nodes,
                                                             const RowSet& among) const {
  PointTimer timer(*this, ExtensionPoint::kPlacementGenerate);
  if (placement_generate_.empty()) return {{}, {{"", among}}};
  const framework::PlacementGeneratePlugin& plugin = *placement_generate_.front();
  framework::GeneratedPlacements answer = Guarded(ExtensionPoint::kPlacementGenerate, plugin, [&] {
    return plugin.GeneratePlacements(group, nodes, among);
  });
  if (answer.status.ok() && answer.placements.empty())
    answer.status = Status::Unschedulable("no feasible placements found");
  answer.status.plugin = plugin.Name();
  timer.code = answer.status.code;
  return answer;
}

Expected<std::vector<std::int64_t>> Profile::RunPlacementScores(
    const api::PodGroup& group, const cluster::NodeTable& nodes,
    std::span<const framework::FeasiblePlacement> placements) const {
  PointTimer timer(*this, ExtensionPoint::kPlacementScore);
  timer.code = Code::kError;
  std::vector<std::int64_t> totals(placements.size());
  for (const auto& [plugin, weight] : placement_scores_) {
    const auto failed = [&](std::string_view what, const Status& status) {
      return Invalid(
          fmt::format("{}: plugin \"{}\" failed with: {}", what, plugin->Name(), status.Message()));
    };
    std::vector<std::int64_t> scores(placements.size());
    for (std::size_t i = 0; i < placements.size(); ++i) {
      const Status status = Guarded(ExtensionPoint::kPlacementScore, *plugin, [&] {
        const Expected<std::int64_t> score = plugin->ScorePlacement(group, nodes, placements[i]);
        if (!score) return Status::Error(score.error().message);
        scores[i] = *score;
        return Status{};
      });
      if (!status.ok()) return failed("running PlacementScore plugins", status);
    }
    const Status status = Guarded(ExtensionPoint::kPlacementScoreExtensionNormalize, *plugin,
                                  [&] { return plugin->NormalizePlacementScores(scores); });
    if (!status.ok()) return failed("running NormalizePlacementScore on PlacementScore plugins", status);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if (scores[i] < 0 || scores[i] > framework::kMaxScore) {
        return Invalid(
            fmt::format("applying score defaultWeights on PlacementScore plugins: plugin \"{}\" returns an "
                        "invalid score {}, it "
                        "should in the range of [0, {}] after normalizing",
                        plugin->Name(), scores[i], framework::kMaxScore));
      }
      totals[i] += scores[i] * weight;
    }
  }
  timer.code = Code::kSuccess;
  return totals;
}

framework::GroupPostFilterResult Profile::RunPodGroupPostFilter(
    const framework::QueuedGroup& group, framework::GroupPostFilterServices& services) const {
  PointTimer timer(*this, ExtensionPoint::kPodGroupPostFilter);
  framework::GroupPostFilterResult outcome{{Code::kUnschedulable, {}, {}}};
  for (framework::PodGroupPostFilterPlugin* plugin : group_post_filters_) {
    framework::GroupPostFilterResult answer = Guarded(ExtensionPoint::kPodGroupPostFilter, *plugin, [&] {
      return plugin->PodGroupPostFilter(group, services);
    });
    timer.code = answer.status.code;
    answer.status.plugin = plugin->Name();
    if (answer.status.ok() || answer.status.code == Code::kUnschedulableAndUnresolvable) return answer;
    if (answer.status.code != Code::kUnschedulable) {
      timer.code = Code::kError;
      return {Status::Error(fmt::format("error in \"{}\" PodGroupPostFilter plugins: {}", plugin->Name(),
                                        answer.status.Message()))};
    }
    for (std::string& reason : answer.status.reasons) outcome.status.reasons.push_back(std::move(reason));
    if (outcome.status.plugin.empty()) outcome.status.plugin = plugin->Name();
  }
  timer.code = Code::kUnschedulable;
  return outcome;
}

void Profile::OnEviction(const framework::Preemptor& preemptor, std::span<const api::PodPtr> victims) const {
  for (framework::EvictionProtectionPlugin* plugin : eviction_protections_) {
    const Status status = framework::CatchExceptions([&] {
      plugin->OnEviction(preemptor, victims);
      return Status{};
    });
    if (!status.ok()) {
      log::Error("A plugin that protects pods failed after an eviction",
                 {{"plugin", plugin->Name()}, {"err", status.Message()}});
    }
  }
}

Status Profile::RunReserve(const Placement& placement) const {
  PointTimer timer(*this, ExtensionPoint::kReserve);
  for (framework::ReservePlugin* plugin : reserves_) {
    Status status = Guarded(ExtensionPoint::kReserve, *plugin, [&] { return plugin->Reserve(placement); });
    if (status.ok()) continue;
    timer.code = status.code;
    return Named(std::move(status), "Reserve", plugin->Name());
  }
  return {};
}

void Profile::RunUnreserve(const Placement& placement) const {
  if (reserves_.empty()) return;
  PointTimer timer(*this, ExtensionPoint::kUnreserve);
  for (auto plugin = reserves_.rbegin(); plugin != reserves_.rend(); ++plugin) {
    const Status status = Guarded(ExtensionPoint::kUnreserve, **plugin, [&] {
      (*plugin)->Unreserve(placement);
      return Status{};
    });
    if (!status.ok()) {
      log::Error("Unreserve failed", {{"pod", placement.pod.key},
                                      {"node", placement.node},
                                      {"plugin", (*plugin)->Name()},
                                      {"err", status.Message()}});
    }
  }
}

PermitOutcome Profile::RunPermit(const Placement& placement) const {
  PermitOutcome outcome;
  PointTimer timer(*this, ExtensionPoint::kPermit);
  for (framework::PermitPlugin* plugin : permits_) {
    framework::PermitResult answer =
        Guarded(ExtensionPoint::kPermit, *plugin, [&] { return plugin->Permit(placement); });
    if (answer.status.ok()) continue;
    if (answer.status.code == Code::kWait) {
      outcome.waits.emplace_back(plugin->Name(), std::clamp(answer.timeout, Duration{}, kLongestPermitWait));
      outcome.status.code = Code::kWait;
      continue;
    }
    timer.code = answer.status.code;
    return {Named(std::move(answer.status), "Permit", plugin->Name()), {}};
  }
  timer.code = outcome.status.code;
  return outcome;
}

PreFlightOutcome Profile::RunPreBindPreFlight(const Placement& placement) const {
  PreFlightOutcome outcome{Status::Skip(), {}};
  if (pre_binds_.empty()) return outcome;
  PointTimer timer(*this, ExtensionPoint::kPreBindPreFlight);
  bool open = false;  // whether the last group accepts another plugin
  for (framework::PreBindPlugin* plugin : pre_binds_) {
    framework::PreBindPlugin::PreFlight answer = Guarded(ExtensionPoint::kPreBindPreFlight, *plugin,
                                                         [&] { return plugin->PreBindPreFlight(placement); });
    const Status& status = answer.status;
    if (!status.ok() && !status.skip()) {
      timer.code = Code::kError;
      outcome.groups.clear();
      outcome.status =
          status.code == Code::kError
              ? Status::Error(
                    fmt::format("running PreBindPreFlight \"{}\": {}", plugin->Name(), status.Message()))
              : Status::Error(fmt::format("PreBindPreFlight {} returned \"{}\", which is unsupported. It is "
                                          "supposed to return Success, Skip, or Error status",
                                          plugin->Name(), framework::CodeName(status.code)));
      return outcome;
    }
    // Without AllowParallel the group ends here, even if this plugin has nothing to do.
    if (!answer.allow_parallel) open = false;
    if (status.skip()) continue;
    outcome.status = {};
    if (!open) outcome.groups.emplace_back();
    outcome.groups.back().push_back(plugin);
    open = answer.allow_parallel;
  }
  timer.code = outcome.status.code;
  return outcome;
}

namespace {

constexpr std::string_view kBind = "Bind";

// The completion of an asynchronous call: called by the plugin from any thread, or by StartPreBind and
// StartBind if the plugin throws. Only the first call counts.
class FirstCompletion {
 public:
  FirstCompletion(framework::StatusCallback answer, std::string_view point, std::string_view plugin)
      : answer_(std::move(answer)), point_(point), plugin_(plugin) {}

  void Complete(Status status) {
    if (said_.test_and_set()) return;
    // Releases the callback's captures after the call.
    framework::StatusCallback answer = std::exchange(answer_, nullptr);
    const bool next = point_ == kBind && status.skip();  // the next bind plugin will be called
    answer(next ? std::move(status) : Named(std::move(status), point_, plugin_));
  }

 private:
  std::atomic_flag said_;
  framework::StatusCallback answer_;
  const std::string_view point_;
  const std::string_view plugin_;
};

}  // namespace

void Profile::StartPreBind(framework::PreBindPlugin& plugin, const Placement& placement, std::stop_token stop,
                           framework::StatusCallback answer) const {
  const auto first = std::make_shared<FirstCompletion>(std::move(answer), "PreBind", plugin.Name());
  const Status thrown = Guarded(ExtensionPoint::kPreBind, plugin, [&] {
    plugin.PreBind(placement, std::move(stop),
                   [first](Status status) { first->Complete(std::move(status)); });
    return Status{};
  });
  if (!thrown.ok()) first->Complete(thrown);
}

void Profile::StartBind(std::size_t index, const Placement& placement,
                        framework::StatusCallback answer) const {
  framework::BindPlugin& plugin = *binders_[index];
  const auto first = std::make_shared<FirstCompletion>(std::move(answer), kBind, plugin.Name());
  const Status thrown = Guarded(ExtensionPoint::kBind, plugin, [&] {
    plugin.Bind(placement, [first](Status status) { first->Complete(std::move(status)); });
    return Status{};
  });
  if (!thrown.ok()) first->Complete(thrown);
}

void Profile::RunPostBind(const Placement& placement) const {
  PointTimer timer(*this, ExtensionPoint::kPostBind);
  for (framework::PostBindPlugin* plugin : post_binds_) {
    const Status status = Guarded(ExtensionPoint::kPostBind, *plugin, [&] {
      plugin->PostBind(placement);
      return Status{};
    });
    if (!status.ok()) {
      log::Error("PostBind failed",
                 {{"pod", placement.pod.key}, {"plugin", plugin->Name()}, {"err", status.Message()}});
    }
  }
}

}  // namespace berth::runtime
