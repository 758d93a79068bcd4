#include "process/config_reload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "config/write_config.hpp"
#include "observability/log/log.hpp"
#include "process/effective_config.hpp"
#include "process/file_watch.hpp"
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

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
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
  enum class Result : std::uint8_t { kApplied, kUnchanged, kInvalid, kRefused };

  struct Metrics {
    explicit Metrics(metrics::Registry& registry)
        : results{&Count(registry, "applied"), &Count(registry, "unchanged"), &Count(registry, "invalid"),
                  &Count(registry, "refused")},
          succeeded(registry.Gauge("berth_config_last_reload_successful",
                                   "[ALPHA] Whether the last reload of the configuration succeeded, or left "
                                   "it unchanged. 1 before the first reload.")),
          success_time(registry.Gauge("berth_config_last_reload_success_timestamp_seconds",
                                      "[ALPHA] Time of the last successful reload of the configuration, or "
                                      "of the start.")),
          hash(registry.Gauge("berth_config_hash",
                              "[ALPHA] The first 48 bits of the SHA-256 digest of the configuration file in "
                              "use.")) {}
    static metrics::Counter& Count(metrics::Registry& registry, const char* result) {
      return registry.Counter(
          "berth_config_reloads_total",
          "[ALPHA] Reloads of the configuration by result: applied, unchanged, invalid (the file cannot be "
          "used), refused (the change needs a restart).",
          {{"result", result}});
    }

    std::array<metrics::Counter*, 4> results;  // by Result
    metrics::Gauge& succeeded;
    metrics::Gauge& success_time;
    metrics::Gauge& hash;
  };

  explicit State(Parts of)
      : parts(std::move(of)),
        metrics(parts.metrics),
        files(parts.flags.own.config_reload ? parts.flags.config : "") {
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
      return Request();
    seen = *text;
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
      const bool was_requested = requested.exchange(false);
      if (ending.load() || (!was_requested && !watches)) continue;
      if (!was_requested) files.WaitUntilQuiet(kQuiet);
      ReadFile(was_requested);
    }
  }

  // `is_requested`: reload the same content, too.
  void ReadFile(bool is_requested) {
    auto text = ReadWholeFile(parts.flags.config);
    if (!text) {
      // A file that is being replaced is missing for a moment; reported once.
      if (!is_requested && std::exchange(unreadable, true)) return;
      return Report(Result::kInvalid, text.error().message);
    }
    unreadable = false;
    if (!is_requested && *text == seen) return;
    seen = *text;
    auto config = EffectiveConfig(parts.flags, parts.table, parts.plugins, parts.started_with.gates, *text);
    if (!config) return Report(Result::kInvalid, config.error().message);
    if (const auto fields = FieldsThatNeedARestart(parts.started_with, *config); !fields.empty()) {
      return Report(Result::kRefused,
                    fmt::format("the change needs a restart of the scheduler: {}", fmt::join(fields, ", ")));
    }
    parts.loop.Post([weak = weak_from_this(), config = std::move(*config), text = std::move(*text)] {
      if (const auto self = weak.lock()) self->Apply(config, text);
    });
  }

  // --- the loop's thread ---

  void Apply(const config::SchedulerConfig& config, const std::string& text) {
    const std::string digest = service::Sha256(text);
    const std::string digest_text = Hex(digest);
    if (IsInUse(digest_text)) return Report(Result::kUnchanged, "");
    std::vector<std::string> notes;
    if (const auto replaceable = TryOnEmptyCluster(config, notes); !replaceable)
      return Report(replaceable.error().code == ErrorCode::kConflict ? Result::kRefused : Result::kInvalid,
                    replaceable.error().message);
    std::vector<std::string> repeated;
    auto set = parts.engine.Prepare(config, parts.plugins, repeated,
                                    {.registry = &parts.metrics, .clock = &parts.clock, .options = {}},
                                    parts.extenders);
    if (!set) return Report(Result::kInvalid, set.error().message);
    const cycle::Scheduler::Reconfigured pods =
        parts.scheduler.Reconfigure({.replace_profiles = [&] { parts.engine.Use(*set, parts.clock.Now()); },
                                     .extenders = (*set)->extenders,
                                     .percentage_of_nodes_to_score = config.percentage_of_nodes_to_score,
                                     .initial_backoff = config.pod_initial_backoff,
                                     .max_backoff = config.pod_max_backoff});
    parts.on_replaced(config);
    ReleaseLater();
    for (const std::string& note : notes) log::Warning(note);
    std::vector<std::string_view> names;
    for (const auto& profile : parts.engine.profiles()) names.push_back(profile->name());
    log::Info("The configuration was reloaded", {{"file", parts.flags.config},
                                                 {"sha256", digest_text},
                                                 {"profiles", fmt::format("{}", fmt::join(names, ","))},
                                                 {"podsWithoutProfile", pods.left},
                                                 {"podsOfNewProfiles", pods.taken}});
    if (const auto log = log::V(2))
      log.Info("Using component config",
               {{"config", config::WriteConfigForLog(config, parts.plugins.codecs())}});
    {
      const std::scoped_lock lock(mutex);
      configz = config::WriteConfigz(config, parts.plugins.codecs());
      hash = digest_text;
      changed_at = parts.clock.WallNow();
      reloaded = true;
    }
    metrics.hash.Set(NumberOf(digest));
    Report(Result::kApplied, "");
  }

  // Nothing that fails here has touched the running scheduler. kConflict: the configuration is valid, and
  // needs a restart.
  Expected<void> TryOnEmptyCluster(const config::SchedulerConfig& config, std::vector<std::string>& notes) {
    assembly::DryRunPorts ports(parts.clock.WallNow());
    BERTH_TRY(const auto engine,
              assembly::Engine::Build(config, parts.plugins, ports.ports(), notes, {},
                                      {.make_transport = extenders::NoTransports("not called here")}));
    auto replaceable = parts.engine.CheckReplacement(*engine);
    if (!replaceable) {
      return berth::Fail(ErrorCode::kConflict, fmt::format("the change needs a restart of the scheduler: {}",
                                                           replaceable.error().message));
    }
    return {};
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

  void Request() {
    if (parts.flags.config.empty()) {
      log::Info("SIGHUP has no effect: there is no file to read again, because --config is not set");
      return;
    }
    requested.store(true);
    files.Wake();
  }

  bool IsInUse(const std::string& digest) {
    const std::scoped_lock lock(mutex);
    return digest == hash;
  }

  void Report(Result result, const std::string& why) {
    metrics.results[static_cast<std::size_t>(result)]->Add();
    const bool succeeded = result == Result::kApplied || result == Result::kUnchanged;
    metrics.succeeded.Set(succeeded ? 1 : 0);
    if (succeeded) metrics.success_time.Set(Seconds());
    if (result == Result::kUnchanged) {
      log::Info("The configuration was read again and has not changed", {{"file", parts.flags.config}});
    } else if (!succeeded) {
      log::Error("The configuration was not reloaded; the scheduler continues with the former one",
                 {{"file", parts.flags.config}, {"err", why}});
    }
  }
  std::int64_t Seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(parts.clock.WallNow().time_since_epoch()).count();
  }

  const Parts parts;
  Metrics metrics;
  FileWatch files;
  std::atomic<bool> requested{false};
  std::atomic<bool> ending{false};
  std::string seen;         // the watcher's: the last content that was read
  bool unreadable = false;  // the watcher's
  bool releasing = false;   // the loop's

  std::mutex mutex;  // of these
  std::string configz;
  std::string hash;
  WallTime changed_at{};
  bool reloaded = false;
};

ConfigReload::ConfigReload(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {
  if (state_->parts.flags.config.empty()) return;
  state_->Begin();
  watcher_ = std::thread([&state = *state_] { state.Watch(); });
}

ConfigReload::~ConfigReload() {
  state_->ending.store(true);
  state_->files.Wake();
  if (watcher_.joinable()) watcher_.join();
}

std::function<void()> ConfigReload::Requester() const {
  return [weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) state->Request();
  };
}

std::string ConfigReload::Configz() const {
  const std::scoped_lock lock(state_->mutex);
  std::string text = state_->configz;
  if (!state_->reloaded && !state_->parts.flags.own.config_reload) return text;
  // A section beside "componentconfig", as several components of one process would have.
  text.pop_back();
  text += R"(,"berth.dev/reload":{"sha256":)";
  AppendJsonString(text, state_->hash);
  text += R"(,"since":)";
  AppendJsonString(text, FormatTime(state_->changed_at));
  text += "}}";
  return text;
}

}  // namespace berth::process
