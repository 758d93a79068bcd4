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
#include "tools/migrate/configuration_check.hpp"
#include "tools/migrate/extender_reach.hpp"
#include "tools/migrate/live_server.hpp"
#include "tools/migrate/running_scheduler.hpp"
#include "tools/migrate/access.hpp"
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

int Complain(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  return 1;
}

// "v1.33.2" of "registry/kube-scheduler:v1.33.2@sha256:..."; empty if the image does not tell.
std::string VersionOfImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const auto colon = image.rfind(':');
  const std::string_view tag = colon == image.npos ? "" : image.substr(colon + 1);
  return tag.starts_with("v1.") ? std::string(tag) : "";
}

// On a terminal only, where it is overwritten.
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
    BERTH_TRY(const migrate::ServerFacts facts, migrate::AskServer(server_, findings_));
    BERTH_RETURN_IF_ERROR(FindRunning());
    migrate::CheckedConfiguration ours = migrate::CheckConfiguration(OurSetup(), plugins_);
    Add(std::move(ours.findings));
    const config::SchedulerConfig config = ours.config.value_or(config::DefaultSchedulerConfig());
    if (options_.beside) CheckNeighbour(config);
    Add(migrate::CheckExtenders(config.extenders, io_, environment_));
    migrate::Lists lists(server_, ShownProgress());
    Add(migrate::CheckWorkloads(lists, facts, {NamesOf(config), config.gates}));
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    CheckPermissions(config, facts);
    return std::move(findings_);
  }

 private:
  void Add(Findings more) { std::ranges::move(more, std::back_inserter(findings_)); }
  void Tell(Level level, std::string what, std::string remedy = {}) {
    findings_.push_back({level, Topic::kConfiguration, std::move(what), std::move(remedy)});
  }

  // By its manifest, which must be readable if one is given, or in the cluster.
  Expected<void> FindRunning() {
    if (!options_.manifest.empty()) {
      BERTH_TRY(running_, migrate::ReadSchedulerManifest(options_.manifest));
    } else {
      auto live = migrate::FindLiveSchedulers(server_);
      if (!live || !live->first) {
        Tell(options_.config.empty() ? Level::kWarning : Level::kNote,
             live ? "no pod of kube-system has the label component=kube-scheduler: the command line of the "
                    "running scheduler is not known"
                  : "the running scheduler's pod cannot be read: " + live.error().message,
             "--manifest names its static pod's manifest, --config its configuration file");
        return {};
      }
      if (live->differ)
        Tell(Level::kWarning,
             fmt::format("the {} kube-scheduler pods have different command lines; looked at "
                         "that of {}",
                         live->count, live->first->where));
      running_ = std::move(live->first);
    }
    Tell(Level::kOk, fmt::format("the running scheduler: {} {}, by {}", running_->image,
                                 fmt::join(running_->args, " "), running_->where));
    if (const std::string version = VersionOfImage(running_->image);
        !version.empty() && !version.starts_with("v1.37."))
      Tell(Level::kNote,
           fmt::format(
               "the running scheduler is of {}; Berth decides as v1.37.1 does, with the default plugins, "
               "weights and feature gates of that release",
               version));
    return {};
  }

  // What Berth would be started with: all that the running scheduler was, in its place; its own file beside
  // it.
  migrate::SchedulerSetup OurSetup() {
    if (!options_.beside) return RunningSetup(options_.config);
    return {.args = {}, .config = options_.config, .config_text = {}, .kubeconfig = options_.kubeconfig};
  }

  // `given`: the file to read in the place of the one that its command line names.
  migrate::SchedulerSetup RunningSetup(const std::string& given) {
    migrate::SchedulerSetup setup{.args = {}, .config = given, .config_text = {}, .kubeconfig = options_.kubeconfig};
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
    // A static pod's files are here if this is its node; that of the manifest is.
    if (!options_.manifest.empty()) {
      if (auto text = environment_.ReadFile(path)) {
        setup.config = path;
        setup.config_text = std::move(*text);
        return;
      }
    }
    Tell(
        Level::kWarning,
        fmt::format("the running scheduler's configuration file {} cannot be read from here; what follows is "
                    "about the defaults",
                    path),
        "copy it here and give it as --config");
  }

  std::set<std::string, std::less<>> NamesOf(const config::SchedulerConfig& config) const {
    if (!options_.scheduler_names.empty())
      return {options_.scheduler_names.begin(), options_.scheduler_names.end()};
    std::set<std::string, std::less<>> names;
    for (const config::Profile& profile : config.profiles) names.insert(profile.scheduler_name);
    return names;
  }

  // Two schedulers must not have profiles of one name, unless one stands by for the other.
  void CheckNeighbour(const config::SchedulerConfig& ours) {
    const migrate::CheckedConfiguration theirs = migrate::CheckConfiguration(RunningSetup(""), plugins_);
    const config::SchedulerConfig config = theirs.config.value_or(config::DefaultSchedulerConfig());
    const auto our_names = NamesOf(ours);
    for (const config::Profile& profile : config.profiles) {
      if (!our_names.contains(profile.scheduler_name)) continue;
      Tell(Level::kBlocker,
           fmt::format("both schedulers would have a profile {}: each pod of it would be scheduled by both",
                       profile.scheduler_name),
           "give Berth's profile a name of its own (profiles[].schedulerName), and name it in pods");
    }
    const config::LeaderElection &a = ours.leader_election, &b = config.leader_election;
    if (a.leader_elect && b.leader_elect && a.resource_name == b.resource_name &&
        a.resource_namespace == b.resource_namespace)
      Tell(Level::kBlocker,
           fmt::format("both schedulers would use the lease {}/{}: one of them would stand by",
                       a.resource_namespace, a.resource_name),
           "leaderElection.resourceName: berth");
  }

  void CheckPermissions(const config::SchedulerConfig& config, const migrate::ServerFacts& facts) {
    migrate::AccessQuestion question;
    question.user = !options_.as_user.empty() ? options_.as_user
                    : options_.beside         ? "system:serviceaccount:kube-system:berth"
                                              : "system:kube-scheduler";
    if (options_.no_reviews) {
      findings_.push_back({Level::kWarning, Topic::kPermissions,
                           fmt::format("not checked what {} may do: --no-reviews", question.user)});
      return;
    }
    const config::LeaderElection& election = config.leader_election;
    question.lease = {election.resource_namespace, election.resource_name, election.leader_elect};
    question.absent = facts.absent;
    question.remedy = options_.beside ? "kubectl apply -k deploy/rbac (docs/guide/permissions.md)"
                                      : "give it the rules of deploy/rbac (docs/guide/permissions.md)";
    Add(migrate::CheckAccess(server_, question));
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
  if (!plugins) return Complain(plugins.error());
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  const SystemClock clock;
  const client::SystemEnvironment environment;
  http::IoThread io(clock);
  const auto server = migrate::LiveServer::Connect(options.kubeconfig, io, environment, clock);
  if (!server) return Complain(server.error());
  const auto findings = MigrateCheck(options, *plugins, **server, io, environment).Make();
  if (!findings) return Complain(Error(findings.error()).In((*server)->url()));
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
                  "who asks: somebody who may list nodes, pods and volumes; without it the pod's service "
                  "account, else $KUBECONFIG")
      ->type_name("FILE");
  check
      .add_option("--config", options.config,
                  "the configuration file that Berth would be given: kube-scheduler's own")
      ->type_name("FILE");
  check
      .add_option("--manifest", options.manifest,
                  "the running scheduler's manifest, for its command line; without it that of the pod in "
                  "kube-system")
      ->type_name("FILE");
  check
      .add_option("--scheduler-name", options.scheduler_names,
                  "whose pods would be Berth's, in the place of the profiles' names; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  check.add_flag("--beside", options.beside,
                 "Berth would not replace the scheduler, but work beside it for profiles of its own");
  check
      .add_option("--as-user", options.as_user,
                  "whose permissions are looked at; without it system:kube-scheduler, with --beside "
                  "system:serviceaccount:kube-system:berth")
      ->type_name("USER");
  check.add_flag("--no-reviews", options.no_reviews, "do not look at permissions: nothing but GET is sent");
  check.add_option("-o,--output", options.output, "text for people, json for one document")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  process::AddPluginFlag(check, options.plugins);
}

}  // namespace

int RunMigrateCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  Options options;
  CLI::App app(
      "Looks at a cluster before Berth takes its scheduler's place, or a place beside it.\n\n"
      "  berth migrate check --kubeconfig admin.conf --manifest "
      "/etc/kubernetes/manifests/kube-scheduler.yaml\n"
      "  berth migrate check --kubeconfig admin.conf --config scheduler.yaml --beside -o json",
      "berth migrate");
  app.require_subcommand(1);
  CLI::App* check = app.add_subcommand(
      "check",
      "Says what would change with Berth as the scheduler: in the configuration, for the pods there are, by "
      "permissions.\n"
      "ok: as before. note: different, nothing to do. warning: look at it, or it could not be looked at. "
      "blocker: it\n"
      "would not work. Exit code 0 without blockers, 2 with some, 1 if it could not be found out. Nothing is "
      "written:\n"
      "reviews of permissions are POSTed and answered, not kept.");
  Define(*check, options);
  if (const auto code = ParseFlags(app, args)) return *code;
  return CheckMigration(options, plugins);
}

}  // namespace berth::command
