#include "command/migrate_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/migrate/migrate_check.hpp"

namespace berth::command {
namespace {

int RunCheck(std::span<const std::string> args, const runtime::Registry& plugins) {
  migrate::MigrateOptions options;
  command_line::Command command(
      "berth migrate check",
      "Reports what changes with Berth as the scheduler: configuration, existing pods and permissions.\n\n"
      "ok: as before. note: different, no action needed. warning: check it, or the check was not possible. "
      "blocker: it would not work. Exit code 0 without blockers, 2 with some, 1 if the check failed. "
      "Nothing "
      "is written to the cluster: access reviews are POSTed, but not stored.");
  command.Example(
      "berth migrate check --kubeconfig admin.conf --manifest /etc/kubernetes/manifests/kube-scheduler.yaml");
  command.Example("berth migrate check --kubeconfig admin.conf --config scheduler.yaml --beside -o json");
  command_line::FlagSet& flags = command.flags();
  flags.Path(
      "kubeconfig", options.kubeconfig,
      "kubeconfig of a user that may list nodes, pods and volumes; default: the pod's service account, "
      "else $KUBECONFIG");
  flags.Path("config", options.config, "configuration file for Berth; usually that of kube-scheduler");
  flags.Path("manifest", options.manifest,
             "manifest of the running scheduler, for its command line; default: its pod in kube-system");
  flags.List("scheduler-name", "NAME", options.scheduler_names,
             "schedulerName of the pods that Berth would schedule; default: the names of the profiles; may "
             "be repeated");
  flags.Bool("beside", options.beside,
             "Berth would run as a second scheduler with its own profiles, and not replace the present one");
  flags.String("as-user", options.as_user,
               "user whose permissions are checked; default: system:kube-scheduler, with --beside "
               "system:serviceaccount:kube-system:berth",
               "USER");
  flags.Bool("no-reviews", options.no_reviews, "do not check permissions; sends only GET requests");
  flags.Choice("output", options.output, {"text", "json"}, "text, or json with one document");
  flags.Shorthand('o');
  process::AddPluginFlag(flags, options.plugins);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(migrate::RunMigrateCheck(options, plugins));
}

}  // namespace

int RunMigrateCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  command_line::Command command("berth migrate",
                                "Checks a cluster before Berth replaces its scheduler or runs beside it.");
  command.Subcommand("check", "reports what changes with Berth as the scheduler",
                     [&](std::span<const std::string> rest) { return RunCheck(rest, plugins); });
  return command.Dispatch(args);
}

}  // namespace berth::command
