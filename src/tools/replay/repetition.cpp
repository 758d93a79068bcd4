#include "tools/replay/repetition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/metrics/registry.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "process/load_config.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/loop_journal.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/recording/inputs.hpp"
#include "scheduler/recording/recorder.hpp"
#include "scheduler/recording/state_text.hpp"
#include "tools/replay/readings.hpp"
#include "tools/replay/results.hpp"

namespace berth::replay {
namespace {

using cycle::Origin;
using Object = boost::json::object;

// Keeps the callbacks of writes until the step that has the result.
class AwaitingWriter final : public ports::ApiWriter {
 public:
  void Bind(ports::Binding, ports::WriteDone done) override { Keep(std::move(done)); }
  void PatchPodStatus(ports::PodStatusPatch, ports::WriteDone done) override { Keep(std::move(done)); }
  void DeletePod(ports::PodDeletion, ports::WriteDone done) override { Keep(std::move(done)); }
  void ClaimVolume(ports::VolumeClaimed, ports::VersionDone done) override { Keep(std::move(done)); }
  void SelectNode(ports::NodeSelected, ports::VersionDone done) override { Keep(std::move(done)); }
  void ChangeClaim(ports::ClaimChange, ports::VersionDone done) override { Keep(std::move(done)); }
  void CreateClaim(ports::NewClaim, ports::ClaimDone done) override { Keep(std::move(done)); }
  void DeleteClaim(ports::ClaimDeletion, ports::WriteDone done) override { Keep(std::move(done)); }
  void PatchPodGroupStatus(ports::PodGroupStatusPatch, ports::WriteDone done) override {
    Keep(std::move(done));
  }

  // The number of writes so far, all of them with a result.
  void Continue(std::uint64_t writes) { writes_ = writes; }

  // Passes the result to the callback, unless that was done before. What it posts has the write as its
  // origin.
  void Finish(std::uint64_t number, const boost::json::value& result) {
    const auto found = awaiting_.find(number);
    if (found == awaiting_.end()) return;
    Callback done = std::move(found->second);
    awaiting_.erase(found);
    const cycle::OriginScope origin({.kind = Origin::Kind::kWrite, .number = number});
    std::visit(
        [&]<class Done>(Done& callback) {
          if constexpr (std::is_same_v<Done, ports::WriteDone>) {
            callback(ReadResult(result));
          } else if constexpr (std::is_same_v<Done, ports::VersionDone>) {
            callback(ReadVersion(result));
          } else {
            callback(ReadClaim(result));
          }
        },
        done);
  }

 private:
  using Callback = std::variant<ports::WriteDone, ports::VersionDone, ports::ClaimDone>;
  void Keep(Callback done) { awaiting_.emplace(++writes_, std::move(done)); }

  std::map<std::uint64_t, Callback> awaiting_;
  std::uint64_t writes_ = 0;
};

// The scheduler with its ports, in the order of their dependencies.
class Repeater {
 public:
  Repeater(Steps& steps, Repetition& result) : steps_(steps), result_(result) {}

  // `start`: the step of the construction; before a snapshot, one without readings.
  Expected<void> Build(const runtime::Registry& plugins, const Object& start) {
    const recording::Header& header = steps_.header();
    const std::string gate_values[] = {header.gates};
    std::vector<std::string> notes;
    BERTH_TRY(const auto gates, config::FeatureGates::Parse(gate_values, notes));
    BERTH_TRY(config_, process::ReadConfig(header.config, plugins, gates));
    readings_.OnStep([this](const Object& step) { RunWork(step); });
    readings_.Enter(Recorded(start));
    BERTH_TRY(engine_,
              assembly::Engine::Build(config_, plugins, {writer_, events_, loop_, services_}, notes,
                                      {.registry = &metrics_, .clock = &readings_, .options = {}},
                                      {.make_transport = readings_.Transports(), .circuit = header.circuit}));
    engine_->handle().signals.SetClock(readings_);
    objects_ = std::make_unique<Objects>(engine_->retained_fields());
    scheduler_ = std::make_unique<cycle::Scheduler>(
        header.options,
        cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(),
                              readings_, metrics_, engine_->shared_extenders(), readings_, tracer_,
                              [this](std::size_t profile) { return engine_->IsMeasured(profile); }});
    readings_.Leave();
    return {};
  }

  // The first step of a snapshot: the nodes that follow get these rows of the table. Returns false if they
  // are no rows of a table.
  bool PrepareRows(const Object& snapshot) {
    constexpr std::size_t kMostRows = 1'000'000;
    std::vector<std::size_t> freed;  // in the order in which they must become free
    for (const char* member : {"free", "rows"}) {
      const boost::json::value* rows = snapshot.if_contains(member);
      if (rows == nullptr || !rows->is_array()) return EndBy("a snapshot without the rows of its nodes");
      const std::size_t first = freed.size();
      for (const boost::json::value& row : rows->get_array())
        freed.push_back(row.is_int64() ? static_cast<std::size_t>(row.get_int64()) : kMostRows);
      if (std::string_view(member) == "rows")
        std::reverse(freed.begin() + static_cast<std::ptrdiff_t>(first), freed.end());
    }
    std::vector<std::size_t> sorted = freed;
    std::ranges::sort(sorted);
    for (std::size_t row = 0; row < sorted.size(); ++row) {
      if (sorted[row] != row || row >= kMostRows) return EndBy("a snapshot with rows that no table has");
    }
    const auto name_of = [](std::size_t row) { return fmt::format("row-{}", row); };
    for (std::size_t row = 0; row < freed.size(); ++row) {
      auto node = std::make_shared<api::Node>();
      node->metadata.name = name_of(row);
      engine_->cache().AddNode(std::move(node));
    }
    for (const std::size_t row : freed) engine_->cache().RemoveNode(name_of(row));
    return true;
  }

  // A step of a snapshot: an object, or at last the state. Returns false if that cannot be restored.
  bool Restore(const Steps::Step& step) {
    line_ = step.line;
    const Object& body = *step.body;
    if (body.contains("change")) {
      auto change = objects_->Read(step);
      if (!change) return EndBy(change.error().message);
      loop_.HandleChange(*scheduler_, *change);
      return true;
    }
    if (!body.contains("state")) return EndBy(fmt::format("line {}: a snapshot without a state", line_));
    const auto state = recording::ReadState(body.at("state"));
    if (!state) return EndBy(fmt::format("line {}: {}", line_, state.error().message));
    if (!scheduler_->IsSavable())
      return EndBy("the plugins of the configuration have a state that no snapshot has");
    loop_.HandleSynced(*scheduler_);
    const boost::json::value* calls = body.if_contains("calls");
    readings_.Continue(
        MonoTime(Duration(body.at("now").get_int64())),
        WallTime(std::chrono::duration_cast<WallTime::duration>(Duration(body.at("wall").get_int64()))),
        calls == nullptr ? 0 : static_cast<std::uint64_t>(calls->get_int64()));
    if (const auto restored = scheduler_->Restore(*state); !restored)
      return EndBy(fmt::format("line {}: {}", line_, restored.error().message));
    writer_.Continue(static_cast<std::uint64_t>(body.at("writes").get_int64()));
    return true;
  }

  // Returns false if nothing after this step can be repeated.
  bool Do(const Steps::Step& step) {
    const cycle::OriginScope scope({.kind = Origin::Kind::kLoop});
    line_ = step.line;
    const Object& body = *step.body;
    if (body.contains("break")) return EndBy(TextOf(body, "break"));
    if (body.contains("run")) {
      RunWork(body);
    } else if (body.contains("change")) {
      auto change = objects_->Read(step);
      if (!change) return EndBy(change.error().message);
      In(body, [&] { loop_.HandleChange(*scheduler_, *change); });
    } else if (body.contains("synced")) {
      In(body, [&] { loop_.HandleSynced(*scheduler_); });
    } else if (body.contains("timers")) {
      In(body, [&] { loop_.RunTimers(); });
    } else if (body.contains("work")) {
      In(body, [&] { loop_.DoWork(*scheduler_); });
      CompareAttempts(body);
    } else if (body.contains("state")) {
      CompareState(body);
    } else if (body.contains("unsaved")) {
      RepeatSave();
    } else {
      return EndBy(fmt::format("line {}: this version of Berth does not know the step", line_));
    }
    result_.deviations = earlier_deviations_ + readings_.deviations();
    return !result_.difference && result_.ended_by.empty();
  }

  MonoTime now() const { return readings_.Now(); }
  Moment moment() const { return {*objects_, engine_->cache()}; }

 private:
  static const boost::json::array& Recorded(const Object& step) { return step.at("t").get_array(); }

  template <class Work>
  void In(const Object& step, Work&& work) {
    readings_.Enter(Recorded(step));
    work();
    readings_.Leave();
  }

  bool EndBy(std::string why) {
    result_.ended_by = std::move(why);
    return false;
  }

  void Differ(std::string what, std::string recorded, std::string repeated) {
    if (result_.difference) return;
    result_.difference = {line_, std::move(what), std::move(recorded), std::move(repeated)};
  }

  // A step {"run":...}, also as an element of another one.
  void RunWork(const Object& step) {
    Origin origin = OriginOf(step);
    if (origin.kind == Origin::Kind::kBlocking) {
      EndBy("a plugin blocked a thread, and what it did there is not recorded");
      return;
    }
    if (origin.kind == Origin::Kind::kWrite) {
      static const boost::json::value kSuccess;
      const boost::json::value* result = step.if_contains("result");
      writer_.Finish(origin.number, result != nullptr ? *result : kSuccess);
    } else if (origin.kind == Origin::Kind::kCommand) {
      Command(TextOf(step, "command"));
    } else if (origin.kind == Origin::Kind::kMeasurement) {
      if (!PostMeasurement(step.at("result"))) return;
    }
    bool found = false;
    In(step, [&] { found = loop_.RunPosted(origin); });
    if (!found) Differ("work of the loop", boost::json::serialize(step), "no such work is waiting");
  }

  static Origin OriginOf(const Object& step) {
    const std::string kind = TextOf(step, "run");
    if (kind == "write") {
      return {.kind = Origin::Kind::kWrite,
              .number = static_cast<std::uint64_t>(step.at("number").get_int64())};
    }
    if (kind == "command") return {.kind = Origin::Kind::kCommand};
    if (kind == "measurement") return {.kind = Origin::Kind::kMeasurement};
    if (kind == "step") return {.kind = Origin::Kind::kStep};
    return {.kind = kind == "blocking" ? Origin::Kind::kBlocking : Origin::Kind::kLoop};
  }

  bool PostMeasurement(const boost::json::value& recorded) {
    auto result = recording::ReadPollResult(recorded);
    if (!result) return EndBy(fmt::format("line {}: {}", line_, result.error().message));
    auto& signals = engine_->handle().signals;
    const auto signal = std::visit([](const auto& of) { return of.signal; }, *result);
    if (static_cast<std::size_t>(signal) >= signals.size()) {
      return EndBy(
          fmt::format("line {}: signal: expected a number below {}, the signals of the configuration", line_,
                      signals.size()));
    }
    const cycle::OriginScope origin({.kind = Origin::Kind::kMeasurement});
    loop_.Post([&signals, result = *std::move(result)] { signals.On(result); });
    return true;
  }

  // The scheduler posts the command's work to the loop.
  void Command(std::string_view text) {
    constexpr std::string_view kRetry = "retry ", kDrain = "drain ";
    if (text == "lead") return scheduler_->Lead();
    if (text.starts_with(kRetry)) return scheduler_->RetryNow(std::string(text.substr(kRetry.size())), [] {});
    if (!text.starts_with(kDrain)) return;
    text.remove_prefix(kDrain.size());
    std::int64_t timeout = 0;
    std::from_chars(text.data(), text.data() + text.size(), timeout);
    scheduler_->Drain(Duration(timeout));
  }

  // With deviating readings times differ, too.
  void CompareState(const Object& step) {
    const std::string recorded = boost::json::serialize(step.at("state"));
    const auto state = recording::ReadState(step.at("state"));
    if (!state || !scheduler_->IsSavable() || !scheduler_->CanSave())
      return Differ("state at a snapshot", recorded, "a state that no snapshot has");
    auto copy = scheduler_->Save();
    if (!copy) return Differ("state at a snapshot", recorded, copy.error().message);
    const auto saved = cycle::Encode(*std::move(copy));
    if (!saved) return Differ("state at a snapshot", recorded, saved.error().message);
    std::string expected, repeated;
    recording::AppendState(expected, *state);
    recording::AppendState(repeated, *saved);
    if (expected != repeated && readings_.deviations() == 0)
      Differ("state at a snapshot", std::move(expected), std::move(repeated));
  }

  // The recorded scheduler dropped its cached results.
  void RepeatSave() {
    if (!scheduler_->IsSavable() || !scheduler_->CanSave())
      return Differ("state at a snapshot", "one that could not be saved", "a state that no snapshot has");
    (void)scheduler_->Save();
  }

  void CompareAttempts(const Object& step) {
    const record::RecordRing& ring = scheduler_->records();
    std::vector<std::string> repeated(static_cast<std::size_t>(ring.end() - seen_));
    std::size_t at = repeated.size();
    ring.ForEachBefore(ring.end(), ring.end() - seen_, [&](const record::AttemptRecord& attempt, WallTime) {
      recording::AppendAttempt(repeated[--at], attempt);
    });
    seen_ = ring.end();
    const boost::json::value* member = step.if_contains("attempts");
    const boost::json::array none;
    const boost::json::array& recorded = member != nullptr ? member->get_array() : none;
    for (std::size_t i = 0; i < std::max(recorded.size(), repeated.size()); ++i) {
      const bool in_both = i < recorded.size() && i < repeated.size();
      if (in_both && boost::json::parse(repeated[i]) == recorded[i]) {
        ++result_.attempts;
        continue;
      }
      return Differ("scheduling attempt", i < recorded.size() ? boost::json::serialize(recorded[i]) : "none",
                    i < repeated.size() ? repeated[i] : "none");
    }
  }

  Steps& steps_;
  Repetition& result_;
  const std::uint64_t earlier_deviations_ = result_.deviations;
  std::uint64_t line_ = 0;
  std::uint64_t seen_ = 0;  // attempts that were compared
  Readings readings_;
  metrics::Registry metrics_;
  tracing::NoTracer tracer_;
  AwaitingWriter writer_;
  ports::DiscardingEventSink events_;
  config::SchedulerConfig config_;
  cycle::ClusterLoop loop_{readings_};
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<Objects> objects_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
};

}  // namespace

namespace {

constexpr std::uint64_t kBetweenReports = 4096;  // steps

// Executes the first step, the construction of the scheduler, or restores a snapshot. Otherwise sets
// ended_by.
Expected<void> Begin(Steps& steps, const runtime::Registry& plugins, Repeater& repeater, Repetition& result) {
  static const Object kNoReadings{{"t", boost::json::array()}};
  const Steps::Step* step = steps.Next();
  if (step != nullptr && step->body->contains("start")) return repeater.Build(plugins, *step->body);
  if (step != nullptr && step->body->contains("snapshot")) {
    BERTH_RETURN_IF_ERROR(repeater.Build(plugins, kNoReadings));
    if (!repeater.PrepareRows(*step->body)) return {};
    while ((step = steps.Next()) != nullptr) {
      if (!repeater.Restore(*step) || step->body->contains("state")) return {};
    }
  }
  result.ended_by = steps.damage().empty() ? "it ends before its first decision" : steps.damage();
  return {};
}

// Calls `before` with each step and its repeater; it returns false to end the repetition.
Expected<void> RepeatSteps(Steps& steps, const runtime::Registry& plugins, Repetition& result,
                           const std::function<bool(const Steps::Step&, Repeater&)>& before,
                           const std::function<void(const Repetition&)>& progress) {
  while (true) {
    Repeater repeater(steps, result);
    BERTH_RETURN_IF_ERROR(Begin(steps, plugins, repeater, result));
    if (result.ended_by.empty()) {
      const MonoTime began = repeater.now();
      const Steps::Step* step = nullptr;
      while ((step = steps.Next()) != nullptr) {
        if (!before(*step, repeater)) return {};
        if (!repeater.Do(*step)) break;
        if (++result.steps % kBetweenReports == 0) progress(result);
      }
      result.covered += repeater.now() - began;
      if (step == nullptr) result.ended_by = steps.damage();
    }
    if (result.difference || result.ended_by.empty() || !steps.Resume()) return {};
    result.skipped.push_back(std::exchange(result.ended_by, {}));
  }
}

}  // namespace

Expected<Repetition> Repeat(Steps& steps, const runtime::Registry& plugins,
                            const std::function<void(const Repetition&)>& progress) {
  Repetition result;
  BERTH_RETURN_IF_ERROR(
      RepeatSteps(steps, plugins, result, [](const Steps::Step&, Repeater&) { return true; }, progress));
  return result;
}

Expected<void> RepeatUntil(std::uint64_t line, Steps& steps, const runtime::Registry& plugins,
                           const std::function<void(const Moment&)>& visit,
                           const std::function<void(const Repetition&)>& progress) {
  Repetition result;
  bool found = false;
  const auto visit_at_line = [&](const Steps::Step& step, Repeater& repeater) {
    found = step.line == line;
    if (found) visit(repeater.moment());
    return !found;
  };
  BERTH_RETURN_IF_ERROR(RepeatSteps(steps, plugins, result, visit_at_line, progress));
  if (found) return {};
  return Invalid(fmt::format("the recording cannot be repeated up to line {}: {}", line,
                             result.difference
                                 ? fmt::format("the decisions differ at line {}", result.difference->line)
                                 : result.ended_by));
}

}  // namespace berth::replay
