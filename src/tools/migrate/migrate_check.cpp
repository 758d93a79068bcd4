#include "tools/migrate/migrate_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <optional>
#include <set>

#include "base/text_layout.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/migrate/access.hpp"
#include "tools/migrate/configuration_check.hpp"
#include "tools/migrate/extender_reach.hpp"
#include "tools/migrate/findings.hpp"
#include "tools/migrate/live_server.hpp"
#include "tools/migrate/running_scheduler.hpp"
#include "tools/migrate/workloads.hpp"

namespace berth::migrate {
namespace {

// "v1.33.2" from "registry/kube-scheduler:v1.33.2@sha256:..."; empty if the image has no version tag.
std::string VersionOfImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const auto colon = image.rfind(':');
  const std::string_view tag = colon == image.npos ? "" : image.substr(colon + 1);
  return tag.starts_with("v1.") ? std::string(tag) : "";
}

// Progress in one line that is overwritten; only on a terminal.
Progress ShownProgress() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](std::string_view plural, std::size_t read) {
    fmt::print(stderr, "\r{}: {} read\x1b[K", plural, WithCommas(read));
  };
}

class MigrateCheck {
 public:
  MigrateCheck(const MigrateOptions& options, const runtime::Registry& plugins, LiveServer& server,
               http::IoThread& io, const client::Environment& environment)
      : options_(options), plugins_(plugins), server_(server), io_(io), environment_(environment) {}

  Expected<Findings> Make() {
    BERTH_TRY(const ServerFacts facts, DiscoverServer(server_, findings_));
    BERTH_RETURN_IF_ERROR(FindRunning());
    CheckedConfiguration own = CheckConfiguration(BerthSetup(), plugins_);
    Add(std::move(own.findings));
    const config::SchedulerConfig config = own.config.value_or(config::DefaultSchedulerConfig());
    if (options_.beside) CheckOtherScheduler(config);
    Add(CheckExtenders(config.extenders, io_, environment_));
    Lists lists(server_, ShownProgress());
    Add(CheckWorkloads(lists, facts, {NamesOf(config), config.gates}));
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    CheckPermissions(config, std::move(own.requested_resources), facts);
    return std::move(findings_);
  }

 private:
  void Add(Findings more) { std::ranges::move(more, std::back_inserter(findings_)); }
  void AddFinding(Level level, std::string what, std::string remedy = {}) {
    findings_.push_back({level, Topic::kConfiguration, std::move(what), std::move(remedy)});
  }

  // From the given manifest, which must be readable, or from the cluster.
  Expected<void> FindRunning() {
    if (!options_.manifest.empty()) {
      BERTH_TRY(running_, ReadSchedulerManifest(options_.manifest));
    } else {
      auto live = FindLiveSchedulers(server_);
      if (!live || !live->first) {
        AddFinding(
            options_.config.empty() ? Level::kWarning : Level::kNote,
            live ? "no pod of kube-system has the label component=kube-scheduler: the command line of the "
                   "running scheduler is unknown"
                 : "the running scheduler's pod cannot be read: " + live.error().message,
            "set --manifest to its static pod's manifest, or --config to its configuration file");
        return {};
      }
      if (live->differ)
        AddFinding(Level::kWarning,
                   fmt::format("the {} kube-scheduler pods have different command lines; checked that of {}",
                               live->count, live->first->where));
      running_ = std::move(live->first);
    }
    AddFinding(Level::kOk, fmt::format("the running scheduler: {} {}, by {}", running_->image,
                                       fmt::join(running_->args, " "), running_->where));
    if (const std::string version = VersionOfImage(running_->image);
        !version.empty() && !version.starts_with("v1.37."))
      AddFinding(Level::kNote,
                 fmt::format("the running scheduler is {}; Berth follows v1.37.1, with the default "
                             "plugins, weights and feature gates of that release",
                             version));
    return {};
  }

  // Berth's parameters: as a replacement those of the running scheduler; as a second scheduler its own file.
  SchedulerSetup BerthSetup() {
    if (!options_.beside) return RunningSetup(options_.config);
    return {.args = {}, .config = options_.config, .config_text = {}, .kubeconfig = options_.kubeconfig};
  }

  // `given`: the file to read instead of the one that its command line names.
  SchedulerSetup RunningSetup(const std::string& given) {
    SchedulerSetup setup{.args = {}, .config = given, .config_text = {}, .kubeconfig = options_.kubeconfig};
    if (!running_) return setup;
    setup.args = running_->args;
    const std::string named = ConfigNamedBy(setup.args);
    if (given.empty() && !named.empty()) FindConfig(named, setup);
    return setup;
  }

  void FindConfig(const std::string& named, SchedulerSetup& setup) {
    const auto file = running_->Find(named);
    if (file && !file->config_map.empty()) {
      auto text = ReadFromConfigMap(server_, running_->ns, *file);
      if (text) {
        setup.config = fmt::format("ConfigMap {}/{}", running_->ns, file->config_map);
        setup.config_text = std::move(*text);
        return;
      }
    }
    const std::string path = file && !file->host_path.empty() ? file->host_path : named;
    // On the node of the manifest the files of the static pod are local.
    if (!options_.manifest.empty()) {
      if (auto text = environment_.ReadFile(path)) {
        setup.config = path;
        setup.config_text = std::move(*text);
        return;
      }
    }
    AddFinding(
        Level::kWarning,
        fmt::format("the running scheduler's configuration file {} cannot be read from here; the following "
                    "findings use the defaults",
                    path),
        "copy it here and pass it as --config");
  }

  std::set<std::string, std::less<>> NamesOf(const config::SchedulerConfig& config) const {
    if (!options_.scheduler_names.empty())
      return {options_.scheduler_names.begin(), options_.scheduler_names.end()};
    std::set<std::string, std::less<>> names;
    for (const config::Profile& profile : config.profiles) names.insert(profile.scheduler_name);
    return names;
  }

  // Two schedulers must not have profiles of the same name, unless one is the standby of the other.
  void CheckOtherScheduler(const config::SchedulerConfig& own) {
    const CheckedConfiguration other = CheckConfiguration(RunningSetup(""), plugins_);
    const config::SchedulerConfig config = other.config.value_or(config::DefaultSchedulerConfig());
    const auto berth_names = NamesOf(own);
    for (const config::Profile& profile : config.profiles) {
      if (!berth_names.contains(profile.scheduler_name)) continue;
      AddFinding(
          Level::kBlocker,
          fmt::format("both schedulers would have a profile {}: each pod of it would be scheduled by both",
                      profile.scheduler_name),
          "choose another name for Berth's profile (profiles[].schedulerName), and set it as schedulerName "
          "of pods");
    }
    const config::LeaderElection &a = own.leader_election, &b = config.leader_election;
    if (a.leader_elect && b.leader_elect && a.resource_name == b.resource_name &&
        a.resource_namespace == b.resource_namespace)
      AddFinding(Level::kBlocker,
                 fmt::format("both schedulers would use the lease {}/{}: one of them would only stand by",
                             a.resource_namespace, a.resource_name),
                 "leaderElection.resourceName: berth");
  }

  void CheckPermissions(const config::SchedulerConfig& config, std::vector<std::string> requested,
                        const ServerFacts& facts) {
    AccessCheckOptions options;
    options.user = !options_.as_user.empty() ? options_.as_user
                   : options_.beside         ? "system:serviceaccount:kube-system:berth"
                                             : "system:kube-scheduler";
    if (options_.no_reviews) {
      findings_.push_back({Level::kWarning, Topic::kPermissions,
                           fmt::format("permissions of {} were not checked: --no-reviews", options.user)});
      return;
    }
    const config::LeaderElection& election = config.leader_election;
    options.lease = {election.resource_namespace, election.resource_name, election.leader_elect};
    options.watched = {config.gates, std::move(requested)};
    options.absent = facts.absent;
    options.absent.insert(facts.absent_optional.begin(), facts.absent_optional.end());
    options.remedy = options_.beside ? "kubectl apply -k deploy/rbac (docs/guide/permissions.md)"
                                     : "grant it the rules of deploy/rbac (docs/guide/permissions.md)";
    Add(CheckAccess(server_, options));
  }

  const MigrateOptions& options_;
  const runtime::Registry& plugins_;
  LiveServer& server_;
  http::IoThread& io_;
  const client::Environment& environment_;
  std::optional<RunningScheduler> running_;
  Findings findings_;
};

}  // namespace

Expected<int> RunMigrateCheck(const MigrateOptions& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  const SystemClock clock;
  const client::SystemEnvironment environment;
  http::IoThread io(clock);
  const auto server = LiveServer::Connect(options.kubeconfig, io, environment, clock);
  if (!server) return std::unexpected(server.error());
  const auto findings = MigrateCheck(options, *plugins, **server, io, environment).Make();
  if (!findings) return std::unexpected(Error(findings.error()).In((*server)->url()));
  const std::string about =
      fmt::format("Berth {} kube-scheduler of {}", options.beside ? "beside the" : "in the place of the",
                  (*server)->url());
  fmt::print("{}", options.output == "json" ? ToJson(*findings, (*server)->url()) : ToText(*findings, about));
  return Evaluate(*findings).exit_code();
}

}  // namespace berth::migrate
