#include "process/config_reload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/files.hpp"
#include "base/go_duration.hpp"
#include "base/hex.hpp"
#include "base/json_text.hpp"
#include "config/write_config.hpp"
#include "observability/log/log.hpp"
#include "process/effective_config.hpp"
#include "process/file_watch.hpp"
#include "scheduler/cycle/longest_step.hpp"
#include "scheduler/extenders/http_transport.hpp"
#include "service/auth/sha256.hpp"

namespace berth::process {
namespace {

// Writers change a file in several steps.
constexpr Duration kQuiet = std::chrono::milliseconds(200);
// For files whose changes are not notified, such as targets of links.
constexpr Duration kReadAgain = std::chrono::seconds(30);
// Former profiles are destroyed after this time, when nothing uses them: threads that have just ended a
// binding may still refer to them.
constexpr Duration kKeptReplaced = std::chrono::seconds(30);

// The configuration cannot be changed to this one without a restart.
std::unexpected<Error> NeedsRestart(const std::string& why) {
  return berth::Fail(ErrorCode::kConflict, "the change needs a restart of the scheduler: " + why);
}

// As a number that a double represents exactly: the first 48 bits.
std::int64_t NumberOf(std::string_view digest) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < 6; ++i) number = number << 8 | static_cast<unsigned char>(digest[i]);
  return number;
}

}  // namespace

std::vector<std::string> FieldsThatNeedARestart(const config::SchedulerConfig& before,
                                                const config::SchedulerConfig& after) {
  std::vector<std::string> fields;
  const auto compare = [&](const char* field, const auto& old_value, const auto& new_value) {
    if (old_value != new_value) fields.emplace_back(field);
  };
  const config::LeaderElection &a = before.leader_election, &b = after.leader_election;
  compare("leaderElection.leaderElect", a.leader_elect, b.leader_elect);
  compare("leaderElection.leaseDuration", a.lease_duration, b.lease_duration);
  compare("leaderElection.renewDeadline", a.renew_deadline, b.renew_deadline);
  compare("leaderElection.retryPeriod", a.retry_period, b.retry_period);
  compare("leaderElection.resourceLock", a.resource_lock, b.resource_lock);
  compare("leaderElection.resourceName", a.resource_name, b.resource_name);
  compare("leaderElection.resourceNamespace", a.resource_namespace, b.resource_namespace);
  const config::ClientConnection &c = before.client_connection, &d = after.client_connection;
  compare("clientConnection.kubeconfig", c.kubeconfig, d.kubeconfig);
  compare("clientConnection.acceptContentTypes", c.accept_content_types, d.accept_content_types);
  compare("clientConnection.contentType", c.content_type, d.content_type);
  compare("clientConnection.qps", std::pair(c.qps, c.limits_given), std::pair(d.qps, d.limits_given));
  compare("clientConnection.burst", c.burst, d.burst);
  compare("enableProfiling", before.enable_profiling, after.enable_profiling);
  compare("enableContentionProfiling", before.enable_contention_profiling, after.enable_contention_profiling);
  compare("delayCacheUntilActive", before.delay_cache_until_active, after.delay_cache_until_active);
  return fields;
}

// The loop holds it, too: work that it still has when this process ends finds it.
struct ConfigReload::State : std::enable_shared_from_this<State> {
  struct Metrics {
    explicit Metrics(metrics::Registry& registry)
        : results{&Count(registry, ReloadResult::kApplied), &Count(registry, ReloadResult::kUnchanged),
                  &Count(registry, ReloadResult::kInvalid), &Count(registry, ReloadResult::kRefused),
                  &Count(registry, ReloadResult::kPreviewed)},
          succeeded(registry.Gauge("berth_config_last_reload_successful",
                                   "[ALPHA] Whether the last reload of the configuration succeeded, or left "
                                   "it unchanged. 1 before the first reload.")),
          success_time(registry.Gauge("berth_config_last_reload_success_timestamp_seconds",
                                      "[ALPHA] Time of the last successful reload of the configuration, or "
                                      "of the start.")),
          hash(registry.Gauge("berth_config_hash",
                              "[ALPHA] The first 48 bits of the SHA-256 digest of the configuration file in "
                              "use.")),
          compared(registry.Gauge("berth_config_preview_decisions",
                                  "[ALPHA] Recent decisions that the last preview of a changed configuration "
                                  "has compared.")),
          changed(registry.Gauge("berth_config_preview_changed_decisions",
                                 "[ALPHA] Those of berth_config_preview_decisions that differ.")) {}
    static metrics::Counter& Count(metrics::Registry& registry, ReloadResult result) {
      return registry.Counter(
          "berth_config_reloads_total",
          "[ALPHA] Reloads of the configuration by result: applied, unchanged, invalid (the file cannot be "
          "used), refused (the change needs a restart, or exceeds --berth-reload-limit), previewed.",
          {{"result", std::string(ReloadResultName(result))}});
    }

    std::array<metrics::Counter*, 5> results;  // by ReloadResult
    metrics::Gauge& succeeded;
    metrics::Gauge& success_time;
    metrics::Gauge& hash;
    metrics::Gauge& compared;
    metrics::Gauge& changed;
  };

  // One reload, from the reading of the file to the report. Used by one thread at a time.
  struct Attempt {
    Action action = Action::kReload;
    TakeReport take{};  // null: none
    std::string text{};
    config::SchedulerConfig config{};
    std::vector<std::string> notes{};
    std::shared_ptr<cycle::LongestStep> longest_step{};  // null: nothing was done on the loop yet
    ReloadReport report{};
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  explicit State(Parts of)
      : parts(std::move(of)),
        metrics(parts.metrics),
        files(parts.flags.own.config_reload ? parts.flags.config : ""),
        in_use(parts.started_with),
        preview({parts.loop, parts.scheduler, parts.engine, parts.plugins, parts.clock, parts.metrics}) {
    configz = config::WriteConfigz(parts.started_with, parts.plugins.codecs());
    metrics.succeeded.Set(1);
  }

  // Whether this content is the one that the start has read is known only by its meaning. If the file was
  // changed since, the watcher finds a new content.
  void Begin() {
    const auto text = ReadWholeFile(parts.flags.config);
    if (!text) return;
    const auto config =
        EffectiveConfig(parts.flags, parts.table, parts.plugins, parts.started_with.gates, *text);
    if (!config || config::WriteConfigYaml(*config, parts.plugins.codecs()) !=
                       config::WriteConfigYaml(parts.started_with, parts.plugins.codecs()))
      return RequestQuietly();
    seen = text_in_use = *text;
    const std::string digest = service::Sha256(*text);
    metrics.hash.Set(NumberOf(digest));
    metrics.success_time.Set(Seconds());
    hash = Hex(digest);
    changed_at = parts.clock.WallNow();
  }

  // --- the watcher's thread ---

  void Watch() {
    const bool watches = parts.flags.own.config_reload;
    while (!ending.load()) {
      files.Wait(watches ? kReadAgain : std::chrono::hours(1));
      // The end of the attempt in progress is a wake, too.
      if (ending.load() || in_progress.load()) continue;
      if (AttemptPtr attempt = TakeRequest()) {
        Read(std::move(attempt));
        continue;
      }
      if (!watches) continue;
      files.WaitUntilQuiet(kQuiet);
      // A wake ends that wait.
      AttemptPtr attempt = TakeRequest();
      if (ending.load()) continue;
      attempt ? Read(std::move(attempt)) : ReadIfChanged();
    }
  }

  AttemptPtr TakeRequest() {
    const std::scoped_lock lock(mutex);
    if (requested == nullptr) return nullptr;
    in_progress.store(true);
    return std::exchange(requested, nullptr);
  }

  void ReadIfChanged() {
    auto text = ReadWholeFile(parts.flags.config);
    // A file that is being replaced is missing for a moment; reported once.
    if (!text && std::exchange(unreadable, true)) return;
    if (text && *text == seen) return;
    in_progress.store(true);
    Check(std::make_shared<Attempt>(), std::move(text));
  }

  // Requests apply the same content, too.
  void Read(AttemptPtr attempt) {
    if (attempt->action != Action::kRollBack)
      return Check(std::move(attempt), ReadWholeFile(parts.flags.config));
    std::string former;
    {
      const std::scoped_lock lock(mutex);
      former = former_text;
    }
    if (former.empty()) {
      return End(*attempt, ReloadResult::kRefused,
                 "no other configuration was in use since the start of the scheduler");
    }
    Check(std::move(attempt), std::move(former));
  }

  void Check(AttemptPtr attempt, Expected<std::string> text) {
    if (!text) return End(*attempt, ReloadResult::kInvalid, text.error().message);
    unreadable = false;
    // After a preview and a rollback the file has the same content as before.
    if (attempt->action == Action::kReload) seen = *text;
    attempt->text = std::move(*text);
    auto config =
        EffectiveConfig(parts.flags, parts.table, parts.plugins, parts.started_with.gates, attempt->text);
    if (!config) return End(*attempt, ReloadResult::kInvalid, config.error().message);
    if (const auto fields = FieldsThatNeedARestart(parts.started_with, *config); !fields.empty()) {
      return End(*attempt, ReloadResult::kRefused,
                 NeedsRestart(fmt::format("{}", fmt::join(fields, ", "))).error().message);
    }
    attempt->config = std::move(*config);
    attempt->longest_step = cycle::LongestStep::Of("reload", parts.metrics, parts.clock);
    parts.loop.Post([weak = weak_from_this(), attempt = std::move(attempt)] {
      if (const auto self = weak.lock()) self->Apply(attempt);
    });
  }

  // --- the loop's thread ---

  void Apply(const AttemptPtr& attempt) {
    const cycle::LongestStep::Step step(attempt->longest_step);
    if (IsInUse(Hex(service::Sha256(attempt->text)))) return End(*attempt, ReloadResult::kUnchanged, "");
    if (const auto replaceable = TryOnEmptyCluster(*attempt); !replaceable) {
      return End(
          *attempt,
          replaceable.error().code == ErrorCode::kConflict ? ReloadResult::kRefused : ReloadResult::kInvalid,
          replaceable.error().message);
    }
    if (attempt->action == Action::kRollBack) return Use(*attempt);
    preview.Compare(in_use, attempt->config,
                    [weak = weak_from_this(), attempt](Expected<evaluation::PreviewReport> compared) {
                      if (const auto self = weak.lock()) self->OnCompared(*attempt, std::move(compared));
                    });
  }

  // Nothing that fails here has touched the running scheduler. kConflict: the configuration is valid, and
  // needs a restart.
  Expected<void> TryOnEmptyCluster(Attempt& attempt) {
    assembly::DryRunPorts ports(parts.clock.WallNow());
    BERTH_TRY(const auto engine,
              assembly::Engine::Build(attempt.config, parts.plugins, ports.ports(), attempt.notes, {},
                                      {.make_transport = extenders::NoTransports("not called here")}));
    if (const auto replaceable = parts.engine.CheckReplacement(*engine); !replaceable)
      return NeedsRestart(replaceable.error().message);
    return {};
  }

  void OnCompared(Attempt& attempt, Expected<evaluation::PreviewReport> compared) {
    const cycle::LongestStep::Step step(attempt.longest_step);
    const std::int64_t limit = parts.flags.own.reload_limit;
    if (compared) {
      Show(*compared);
    } else if (limit < 100 || attempt.action == Action::kPreview) {
      return End(attempt, ReloadResult::kRefused,
                 "the decisions cannot be compared: " + compared.error().message);
    } else {
      log::Warning("The decisions of the changed configuration cannot be compared",
                   {{"err", compared.error().message}});
    }
    if (compared) attempt.report.preview = std::move(*compared);
    if (attempt.action == Action::kPreview) return End(attempt, ReloadResult::kPreviewed, "");
    if (const auto& report = attempt.report.preview;
        report && static_cast<std::int64_t>(report->changed) * 100 >
                      static_cast<std::int64_t>(report->compared) * limit) {
      return End(
          attempt, ReloadResult::kRefused,
          fmt::format("{} of the last {} decisions would differ, more than --berth-reload-limit ({} %) "
                      "permits",
                      report->changed, report->compared, limit));
    }
    Use(attempt);
  }

  void Show(const evaluation::PreviewReport& report) {
    metrics.compared.Set(static_cast<std::int64_t>(report.compared));
    metrics.changed.Set(static_cast<std::int64_t>(report.changed));
    log::Info("The changed configuration was compared with the one in use",
              {{"decisions", report.compared}, {"changed", report.changed}});
    for (const evaluation::ChangedDecision& changed : report.examples) {
      log::Info("The changed configuration selects another node",
                {{"pod", changed.pod}, {"nodeBefore", changed.before}, {"nodeAfter", changed.after}});
    }
  }

  void Use(Attempt& attempt) {
    const MonoTime began = parts.clock.Now();
    std::vector<std::string> repeated;
    auto set = parts.engine.Prepare(attempt.config, parts.plugins, repeated,
                                    {.registry = &parts.metrics, .clock = &parts.clock, .options = {}},
                                    parts.extenders);
    if (!set) return End(attempt, ReloadResult::kInvalid, set.error().message);
    const cycle::Scheduler::Reconfigured pods = parts.scheduler.Reconfigure(
        {.replace_profiles = [&] { parts.engine.Use(*set, parts.clock.Now()); },
         .extenders = (*set)->extenders,
         .percentage_of_nodes_to_score = attempt.config.percentage_of_nodes_to_score,
         .initial_backoff = attempt.config.pod_initial_backoff,
         .max_backoff = attempt.config.pod_max_backoff});
    in_use = std::move(attempt.config);
    parts.on_replaced(in_use);
    ReleaseLater();
    Note(attempt);
    LogUse(attempt, pods, parts.clock.Now() - began);
    End(attempt, ReloadResult::kApplied, "");
  }

  void Note(Attempt& attempt) {
    const std::string digest = service::Sha256(attempt.text);
    metrics.hash.Set(NumberOf(digest));
    const std::scoped_lock lock(mutex);
    configz = config::WriteConfigz(in_use, parts.plugins.codecs());
    hash = Hex(digest);
    changed_at = parts.clock.WallNow();
    former_text = std::exchange(text_in_use, std::move(attempt.text));
    reloaded = true;
  }

  // `pause`: no pod was scheduled meanwhile.
  void LogUse(const Attempt& attempt, const cycle::Scheduler::Reconfigured& pods, Duration pause) {
    for (const std::string& note : attempt.notes) log::Warning(note);
    std::vector<std::string_view> names;
    for (const auto& profile : parts.engine.profiles()) names.push_back(profile->name());
    log::Info("The configuration was reloaded", {{"file", parts.flags.config},
                                                 {"sha256", hash},
                                                 {"rollback", attempt.action == Action::kRollBack},
                                                 {"profiles", fmt::format("{}", fmt::join(names, ","))},
                                                 {"podsWithoutProfile", pods.left},
                                                 {"podsOfNewProfiles", pods.taken},
                                                 {"pause", FormatGoDuration(pause)}});
    if (const auto log = log::V(2))
      log.Info("Using component config",
               {{"config", config::WriteConfigForLog(in_use, parts.plugins.codecs())}});
  }

  void ReleaseLater() {
    if (std::exchange(releasing, true)) return;
    parts.loop.PostAfter(kKeptReplaced, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->releasing = false;
      if (self->parts.engine.ReleaseReplaced(self->parts.clock.Now() - kKeptReplaced) > 0)
        self->ReleaseLater();
    });
  }

  // --- any thread ---

  bool Request(Action action, TakeReport take) {
    const std::scoped_lock lock(mutex);
    if (ending.load()) return true;
    if (requested != nullptr || in_progress.load()) return false;
    requested = std::make_shared<Attempt>(Attempt{.action = action, .take = std::move(take)});
    files.Wake();
    return true;
  }

  // A request that waits must not keep its client's connection open.
  void Cancel() {
    AttemptPtr dropped;
    {
      const std::scoped_lock lock(mutex);
      ending.store(true);
      dropped = std::exchange(requested, nullptr);
    }
    files.Wake();
  }

  // Without a report. After the request that is in progress, if there is one.
  void RequestQuietly() {
    const std::scoped_lock lock(mutex);
    if (requested == nullptr) requested = std::make_shared<Attempt>();
    files.Wake();
  }

  bool IsInUse(const std::string& digest) {
    const std::scoped_lock lock(mutex);
    return digest == hash;
  }

  void End(Attempt& attempt, ReloadResult result, std::string why) {
    ReloadReport& report = attempt.report;
    report.result = result;
    report.message = std::move(why);
    report.at = parts.clock.WallNow();
    metrics.results[static_cast<std::size_t>(result)]->Add();
    Log(report);
    {
      const std::scoped_lock lock(mutex);
      last_report = ReloadJson(report);
      in_progress.store(false);
    }
    files.Wake();
    if (attempt.take) attempt.take(report);
  }

  void Log(const ReloadReport& report) {
    if (report.result == ReloadResult::kPreviewed) return;
    const bool succeeded =
        report.result == ReloadResult::kApplied || report.result == ReloadResult::kUnchanged;
    metrics.succeeded.Set(succeeded ? 1 : 0);
    if (succeeded) metrics.success_time.Set(Seconds());
    if (report.result == ReloadResult::kUnchanged) {
      log::Info("The configuration was read again and has not changed", {{"file", parts.flags.config}});
    } else if (!succeeded) {
      log::Error("The configuration was not reloaded; the scheduler continues with the former one",
                 {{"file", parts.flags.config}, {"err", report.message}});
    }
  }
  std::int64_t Seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(parts.clock.WallNow().time_since_epoch()).count();
  }

  const Parts parts;
  Metrics metrics;
  FileWatch files;
  std::atomic<bool> ending{false};
  std::string seen;                // the watcher's: the last content of the file that was to be applied
  bool unreadable = false;         // the watcher's
  bool releasing = false;          // the loop's
  config::SchedulerConfig in_use;  // the loop's

  std::mutex mutex;  // of these
  AttemptPtr requested;
  std::atomic<bool> in_progress{false};  // an attempt was begun and has not ended
  std::string configz;
  std::string hash;
  std::string text_in_use;  // empty: unknown
  std::string former_text;  // of the file that was in use before; empty: none
  std::string last_report;  // JSON; empty: none
  WallTime changed_at{};
  bool reloaded = false;

  evaluation::ConfigPreview preview;  // last: its work refers to the other members
};

ConfigReload::ConfigReload(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {
  if (state_->parts.flags.config.empty()) return;
  state_->Begin();
  watcher_ = std::thread([&state = *state_] { state.Watch(); });
}

ConfigReload::~ConfigReload() { Cancel(); }

void ConfigReload::Cancel() {
  state_->Cancel();
  if (watcher_.joinable()) watcher_.join();
  state_->preview.Cancel();
}

std::function<void()> ConfigReload::Requester() const {
  return [weak = std::weak_ptr(state_)] {
    const auto state = weak.lock();
    if (state == nullptr) return;
    if (state->parts.flags.config.empty()) {
      log::Info("SIGHUP has no effect: there is no file to read again, because --config is not set");
    } else {
      state->RequestQuietly();
    }
  };
}

bool ConfigReload::Request(Action action, TakeReport take) {
  if (state_->parts.flags.config.empty()) {
    take({.result = ReloadResult::kRefused,
          .message = "there is no file to read again, because --config is not set",
          .at = state_->parts.clock.WallNow(),
          .preview = {}});
    return true;
  }
  return state_->Request(action, std::move(take));
}

std::string ConfigReload::Configz() const {
  const std::scoped_lock lock(state_->mutex);
  std::string text = state_->configz;
  if (!state_->reloaded && !state_->parts.flags.own.config_reload) return text;
  // A section beside "componentconfig", as several components of one process would have.
  text.pop_back();
  text += R"(,"berth.dev/reload":)";
  {
    JsonObject section(text);
    section.Add("sha256", state_->hash);
    section.Add("since", FormatTime(state_->changed_at));
  }
  text += '}';
  return text;
}

std::string ConfigReload::StateJson() const {
  const std::scoped_lock lock(state_->mutex);
  std::string text;
  {
    JsonObject object(text);
    object.Add("file", state_->parts.flags.config);
    object.Add("sha256", state_->hash);
    if (!state_->hash.empty()) object.Add("since", FormatMicroTime(state_->changed_at));
    if (!state_->former_text.empty()) object.Add("formerSha256", Hex(service::Sha256(state_->former_text)));
    if (!state_->last_report.empty()) object.AddRaw("lastReload", state_->last_report);
  }
  return text;
}

}  // namespace berth::process
