// What happens to a pod once it has a node: Reserve, Permit, PreBind, Bind, PostBind.
#include <fmt/format.h>

#include <algorithm>

#include "log/log.hpp"
#include "runtime/guarded.hpp"
#include "runtime/profile.hpp"

namespace berth::runtime {

using framework::Code;
using framework::Placement;
using framework::Status;

namespace {

constexpr Duration kLongestPermitWait = std::chrono::minutes(15);

// Rejections go through as they are, everything else is an error of that extension point.
Status Named(Status status, std::string_view point, std::string_view plugin) {
  if (status.ok()) return status;
  if (!status.rejected())
    status = Status::Error(fmt::format("running {} plugin \"{}\": {}", point, plugin, status.Message()));
  status.plugin = plugin;
  return status;
}

}  // namespace

Status Profile::RunReserve(const Placement& placement) const {
  if (reserves_.empty()) return {};
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
  if (permits_.empty()) return outcome;
  PointTimer timer(*this, ExtensionPoint::kPermit);
  for (framework::PermitPlugin* plugin : permits_) {
    framework::PermitAnswer answer;
    answer.status = Guarded(ExtensionPoint::kPermit, *plugin, [&] {
      answer = plugin->Permit(placement);
      return answer.status;
    });
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
  bool open = false;  // may the last group take another plugin?
  for (framework::PreBindPlugin* plugin : pre_binds_) {
    framework::PreBindPlugin::PreFlight answer;
    answer.status = Guarded(ExtensionPoint::kPreBindPreFlight, *plugin, [&] {
      answer = plugin->PreBindPreFlight(placement);
      return answer.status;
    });
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
    // Without AllowParallel a group ends here, even if this plugin has nothing to do.
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

void Profile::StartPreBind(framework::PreBindPlugin& plugin, const Placement& placement, std::stop_token stop,
                           framework::Answer answer) const {
  // Either the plugin answers, or it throws before it could hand the answer on: then it is still here.
  auto shared = std::make_shared<framework::Answer>(std::move(answer));
  const Status status = Guarded(ExtensionPoint::kPreBind, plugin, [&] {
    plugin.PreBind(placement, std::move(stop), [shared, &plugin](Status said) {
      if (auto once = std::exchange(*shared, nullptr)) once(Named(std::move(said), "PreBind", plugin.Name()));
    });
    return Status{};
  });
  if (status.ok()) return;
  if (auto once = std::exchange(*shared, nullptr)) once(Named(status, "PreBind", plugin.Name()));
}

void Profile::StartBind(std::size_t index, const Placement& placement, framework::Answer answer) const {
  framework::BindPlugin& plugin = *binders_[index];
  auto shared = std::make_shared<framework::Answer>(std::move(answer));
  const auto named = [](Status status, std::string_view name) {
    if (status.skip()) return status;
    return Named(std::move(status), "Bind", name);
  };
  const Status status = Guarded(ExtensionPoint::kBind, plugin, [&] {
    plugin.Bind(placement, [shared, named, &plugin](Status said) {
      if (auto once = std::exchange(*shared, nullptr)) once(named(std::move(said), plugin.Name()));
    });
    return Status{};
  });
  if (status.ok()) return;
  if (auto once = std::exchange(*shared, nullptr)) once(named(status, plugin.Name()));
}

void Profile::RunPostBind(const Placement& placement) const {
  if (post_binds_.empty()) return;
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
