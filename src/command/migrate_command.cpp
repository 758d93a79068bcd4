#include "command/migrate_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iterator>
#include <set>

#include "base/text_layout.hpp"
#include "command/flags.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/migrate/access.hpp"
#include "tools/migrate/configuration_check.hpp"
#include "tools/migrate/extender_reach.hpp"
#include "tools/migrate/live_server.hpp"
#include "tools/migrate/running_scheduler.hpp"
#include "tools/migrate/workloads.hpp"

namespace berth::command {
namespace {

using migrate::Finding;
using migrate::Findings;
using migrate::Level;
using migrate::Topic;

struct Options {
  std::string kubeconfig;
  std::string config;
  std::string manifest;
  std::vector<std::string> scheduler_names;
  std::string as_user;
  std::string output = "text";
  bool beside = false;
  bool no_reviews = false;
  std::vector<std::string> plugins;  // shared objects
};

int PrintError(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  return 1;
}

// "v1.33.2" from "registry/kube-scheduler:v1.33.2@sha256:..."; empty if the image has no version tag.
std::string VersionOfImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const auto colon = image.rfind(':');
  const std::string_view tag = colon == image.npos ? "" : image.substr(colon + 1);
  return tag.starts_with("v1.") ? std::string(tag) : "";
}

// Progress in one line that is overwritten; only on a terminal.
migrate::Progress ShownProgress() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](std::string_view plural, std::size_t read) {
    fmt::print(stderr, "\r{}: {} read\x1b[K", plural, WithCommas(read));
  };
}

class MigrateCheck {
 public:
  MigrateCheck(const Options& options, const runtime::Registry& plugins, migrate::LiveServer& server,
               http::IoThread& io, const client::Environment& environment)
      : options_(options), plugins_(plugins), server_(server), io_(io), environment_(environment) {}

  Expected<Findings> Make() {
    BERTH_TRY(const migrate::ServerFacts facts, migrate::DiscoverServer(server_, findings_));
    BERTH_RETURN_IF_ERROR(FindRunning());
    migrate::CheckedConfiguration own = migrate::CheckConfiguration(BerthSetup(), plugins_);
    Add(std::move(own.findings));
    const config::SchedulerConfig config = own.config.value_or(config::DefaultSchedulerConfig());
    if (options_.beside) CheckOtherScheduler(config);
    Add(migrate::CheckExtenders(config.extenders, io_, environment_));
    migrate::Lists lists(server_, ShownProgress());
    Add(migrate::CheckWorkloads(lists, facts, {NamesOf(config), config.gates}));
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    CheckPermissions(config, facts);
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
      BERTH_TRY(running_, migrate::ReadSchedulerManifest(options_.manifest));
    } else {
      auto live = migrate::FindLiveSchedulers(server_);
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
  migrate::SchedulerSetup BerthSetup() {
    if (!options_.beside) return RunningSetup(options_.config);
    return {.args = {}, .config = options_.config, .config_text = {}, .kubeconfig = options_.kubeconfig};
  }

  // `given`: the file to read instead of the one that its command line names.
  migrate::SchedulerSetup RunningSetup(const std::string& given) {
    migrate::SchedulerSetup setup{
        .args = {}, .config = given, .config_text = {}, .kubeconfig = options_.kubeconfig};
    if (!running_) return setup;
    setup.args = running_->args;
    const std::string named = migrate::ConfigNamedBy(setup.args);
    if (given.empty() && !named.empty()) FindConfig(named, setup);
    return setup;
  }

  void FindConfig(const std::string& named, migrate::SchedulerSetup& setup) {
    const auto file = running_->Find(named);
    if (file && !file->config_map.empty()) {
      auto text = migrate::ReadFromConfigMap(server_, running_->ns, *file);
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
    const migrate::CheckedConfiguration other = migrate::CheckConfiguration(RunningSetup(""), plugins_);
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

  void CheckPermissions(const config::SchedulerConfig& config, const migrate::ServerFacts& facts) {
    migrate::AccessCheckOptions options;
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
    options.absent = facts.absent;
    options.remedy = options_.beside ? "kubectl apply -k deploy/rbac (docs/guide/permissions.md)"
                                     : "grant it the rules of deploy/rbac (docs/guide/permissions.md)";
    Add(migrate::CheckAccess(server_, options));
  }

  const Options& options_;
  const runtime::Registry& plugins_;
  migrate::LiveServer& server_;
  http::IoThread& io_;
  const client::Environment& environment_;
  std::optional<migrate::RunningScheduler> running_;
  Findings findings_;
};

int CheckMigration(const Options& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return PrintError(plugins.error());
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  const SystemClock clock;
  const client::SystemEnvironment environment;
  http::IoThread io(clock);
  const auto server = migrate::LiveServer::Connect(options.kubeconfig, io, environment, clock);
  if (!server) return PrintError(server.error());
  const auto findings = MigrateCheck(options, *plugins, **server, io, environment).Make();
  if (!findings) return PrintError(Error(findings.error()).In((*server)->url()));
  const std::string about =
      fmt::format("Berth {} kube-scheduler of {}", options.beside ? "beside the" : "in the place of the",
                  (*server)->url());
  fmt::print("{}", options.output == "json" ? migrate::ToJson(*findings, (*server)->url())
                                            : migrate::ToText(*findings, about));
  return migrate::Evaluate(*findings).exit_code();
}

void Define(CLI::App& check, Options& options) {
  check
      .add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig of a user that may list nodes, pods and volumes; default: the pod's service "
                  "account, else $KUBECONFIG")
      ->type_name("FILE");
  check
      .add_option("--config", options.config, "configuration file for Berth; usually that of kube-scheduler")
      ->type_name("FILE");
  check
      .add_option("--manifest", options.manifest,
                  "manifest of the running scheduler, for its command line; default: its pod in kube-system")
      ->type_name("FILE");
  check
      .add_option("--scheduler-name", options.scheduler_names,
                  "schedulerName of the pods that Berth would schedule; default: the names of the profiles; "
                  "may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  check.add_flag(
      "--beside", options.beside,
      "Berth would run as a second scheduler with its own profiles, and not replace the present one");
  check
      .add_option("--as-user", options.as_user,
                  "user whose permissions are checked; default: system:kube-scheduler, with --beside "
                  "system:serviceaccount:kube-system:berth")
      ->type_name("USER");
  check.add_flag("--no-reviews", options.no_reviews, "do not check permissions; sends only GET requests");
  check.add_option("-o,--output", options.output, "text, or json with one document")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  process::AddPluginFlag(check, options.plugins);
}

}  // namespace

int RunMigrateCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  Options options;
  CLI::App app(
      "Checks a cluster before Berth replaces its scheduler or runs beside it.\n\n  berth migrate check "
      "--kubeconfig admin.conf --manifest /etc/kubernetes/manifests/kube-scheduler.yaml\n  berth migrate "
      "check --kubeconfig admin.conf --config scheduler.yaml --beside -o json",
      "berth migrate");
  app.require_subcommand(1);
  CLI::App* check = app.add_subcommand(
      "check",
      "Reports what changes with Berth as the scheduler: configuration, existing pods and permissions.\nok: "
      "as before. note: different, no action needed. warning: check it, or the check was not possible. "
      "blocker: it\nwould not work. Exit code 0 without blockers, 2 with some, 1 if the check failed. "
      "Nothing is written to the\ncluster: access reviews are POSTed, but not stored.");
  Define(*check, options);
  if (const auto code = ParseFlags(app, args)) return *code;
  return CheckMigration(options, plugins);
}

}  // namespace berth::command
