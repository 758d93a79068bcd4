#include "tools/replay/other_configuration.hpp"

#include <boost/json.hpp>

#include "kubernetes/api/timestamp.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/cluster_follower.hpp"
#include "tools/replay/results.hpp"
#include "tools/shadow/shadow_observer.hpp"

namespace berth::replay {
namespace {

// Shows the last reading of the recorded clock; of the time of day at first the start of the recording.
class RecordedTime final : public Clock {
 public:
  explicit RecordedTime(WallTime started) : started_(started) {}
  MonoTime Now() const override { return now_; }
  WallTime WallNow() const override { return wall_ == WallTime{} ? started_ : wall_; }
  BootTime BootNow() const override { return BootTime(now_.time_since_epoch()); }

  void Continue(const boost::json::object& state) {
    now_ = MonoTime(Duration(state.at("now").get_int64()));
    wall_ = WallTime(Duration(state.at("wall").get_int64()));
  }
  void Follow(const boost::json::object& step) {
    const boost::json::value* recorded = step.if_contains("t");
    if (recorded == nullptr || !recorded->is_array()) return;
    for (const boost::json::value& element : recorded->get_array()) {
      if (element.is_int64()) now_ += Duration(element.get_int64());
      const auto* object = element.if_object();
      if (object == nullptr) continue;
      if (const auto* wall = object->if_contains("w")) wall_ += Duration(wall->to_number<std::int64_t>());
      Follow(*object);
    }
  }

 private:
  const WallTime started_;
  MonoTime now_{};
  WallTime wall_{};
};

}  // namespace

Expected<OtherDecisions> Compare(Steps& steps, const config::SchedulerConfig& config,
                                 const runtime::Registry& plugins,
                                 const std::function<void(std::uint64_t steps)>& progress) {
  constexpr std::uint64_t kBetweenReports = 4096;  // steps
  constexpr std::size_t kKeptDisagreements = 256;
  if (!config.extenders.empty()) {
    return Invalid(
        "extenders: a recording has no responses to the requests of another configuration; remove them");
  }
  OtherDecisions result;
  RecordedTime time{WallTime(std::chrono::seconds(api::ParseTimestamp(steps.header().started).value_or(0)))};
  // Readings are differences: each step is followed once.
  const auto next = [&] {
    const Steps::Step* const step = steps.Next();
    if (step != nullptr) time.Follow(*step->body);
    return step;
  };
  const Steps::Step* step = next();
  metrics::Registry discarded_metrics;
  cycle::ClusterLoop loop(time);
  assembly::DryRunPorts no_effects;
  std::vector<std::string> notes;
  BERTH_TRY(const auto engine,
            assembly::Engine::Build(config, plugins, no_effects.ports(loop), notes,
                                    {.registry = &discarded_metrics, .clock = &time, .options = {}}));
  cycle::ClusterFollower follower(engine->symbols(), engine->cache(), engine->pending(), engine->profiles());
  shadow::Report report(kKeptDisagreements, time, discarded_metrics);
  shadow::ShadowOptions options;
  options.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
  shadow::Shadow shadow(options, *engine, time, report);
  shadow::ShadowObserver observer(loop, shadow);
  follower.Observe(observer);
  Objects objects(engine->retained_fields());
  for (; step != nullptr; step = next()) {
    if (step->body->contains("change")) {
      auto change = objects.Read(*step);
      if (!change) {
        result.ended_by = change.error().message;
        break;
      }
      loop.HandleChange(follower, *change);
    } else if (step->body->contains("synced")) {
      loop.HandleSynced(follower);
    } else if (step->body->contains("state") && !loop.synced()) {
      // The recording begins with a snapshot.
      time.Continue(*step->body);
      loop.HandleSynced(follower);
    }
    loop.RunTimers();
    loop.DoWork(follower);
    if (++result.steps % kBetweenReports == 0) progress(result.steps);
  }
  shadow.Finish();
  if (result.ended_by.empty()) result.ended_by = steps.damage();
  result.text = report.Text();
  result.json = report.Json();
  loop.DropPending();
  return result;
}

}  // namespace berth::replay
