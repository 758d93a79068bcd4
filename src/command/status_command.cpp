#include "command/status_command.hpp"

#include "command/cluster_completion.hpp"
#include "command/scheduler_access_flags.hpp"
#include "command_line/command.hpp"
#include "tools/reload/reload.hpp"
#include "tools/retry/retry.hpp"
#include "tools/scheduler_state/scheduler_state.hpp"

namespace berth::command {
namespace {

constexpr const char* kHow =
    "\n\nThe scheduler is found by its Lease and reached by a port that kubectl forwards to its pod, or by "
    "--server.";
constexpr const char* kOnlyGet = " Only GET requests are sent.";

void AddOutput(command_line::FlagSet& flags, std::string& output) {
  flags.Choice("output", output, {"text", "json", "yaml"},
               "a text, or the scheduler's report as json or yaml");
  flags.Shorthand('o');
}

}  // namespace

int RunStatusCommand(const std::string& name, std::span<const std::string> args) {
  scheduler_state::StatusOptions options;
  command_line::Command command(
      name,
      std::string("Prints the state of the running scheduler: version, role, nodes, queue and records.") +
          kHow + kOnlyGet);
  command.Example(name);
  command.Example(name + " --server https://127.0.0.1:10259 --insecure-skip-tls-verify");
  AddClusterFlags(command.flags(), options.access.kubeconfig, options.access.context);
  AddOutput(command.flags(), options.output);
  AddSchedulerAccessFlags(command.flags(), options.access);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(scheduler_state::RunStatus(options));
}

int RunQueueCommand(const std::string& name, std::span<const std::string> args) {
  scheduler_state::QueueOptions options;
  command_line::Command command(
      name,
      std::string(
          "Prints the pods in the queue of the running scheduler, the oldest first, and their number by "
          "place, plugin, namespace and owner.") +
          kHow + kOnlyGet);
  command.Example(name + " -n shop");
  command.Example(name + " --place unschedulable --plugin NodeResourcesFit");
  command_line::FlagSet& flags = command.flags();
  flags.String("namespace", options.ns, "only pods of this namespace", "NAMESPACE");
  flags.Shorthand('n');
  flags.CompleteWith(NamespaceCompleter(options.access.kubeconfig, options.access.context));
  flags.String("place", options.place,
               "only pods there: active, backoff, unschedulable, gated, incomplete or pending", "PLACE");
  flags.CompleteWith([] {
    return std::vector<std::string>{"active", "backoff", "unschedulable", "gated", "incomplete", "pending"};
  });
  flags.String("plugin", options.plugin, "only pods that this plugin rejected", "PLUGIN");
  flags.Integer("limit", options.limit, "number of pods to list", {0, 1000});
  flags.Integer("offset", options.offset, "number of pods to skip");
  AddClusterFlags(flags, options.access.kubeconfig, options.access.context);
  AddOutput(flags, options.output);
  AddSchedulerAccessFlags(flags, options.access);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(scheduler_state::RunQueue(options));
}

int RunRetryCommand(const std::string& name, std::span<const std::string> args) {
  retry::RetryOptions options;
  command_line::Command command(
      name, std::string(
                "Retries waiting pods at once: without an event of the cluster and without a back-off. A "
                "member of a group is retried with its group. The scheduler must run with --berth-api-retry, "
                "and the user needs the verb post on the path (nonResourceURLs) "
                "/berth.dev/v1alpha1/pods/NAMESPACE/NAME/retry.") +
                kHow);
  command.Example(name + " pod/web -n shop");
  command_line::FlagSet& flags = command.flags();
  flags.String("namespace", options.ns, "namespace of the pods; default: that of the kubeconfig's context",
               "NAMESPACE");
  flags.Shorthand('n');
  flags.CompleteWith(NamespaceCompleter(options.access.kubeconfig, options.access.context));
  command.Arguments("pod/NAME", options.pods, "pods to retry");
  command.CompleteArguments(
      PendingPodCompleter(options.access.kubeconfig, options.access.context, options.ns));
  AddClusterFlags(flags, options.access.kubeconfig, options.access.context);
  AddSchedulerAccessFlags(flags, options.access);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(retry::RunRetry(options));
}

int RunReloadCommand(const std::string& name, std::span<const std::string> args) {
  reload::ReloadOptions options;
  bool preview = false, roll_back = false;
  command_line::Command command(
      name, std::string(
                "Makes the running scheduler read its configuration file again, and prints the result with "
                "the last decisions that differ. Each replica has a file of its own: only the leader is "
                "reloaded, or the scheduler of --server. The scheduler must run with --berth-api-reload, and "
                "the user needs the verb post on the paths (nonResourceURLs) "
                "/berth.dev/v1alpha1/config/reload and /berth.dev/v1alpha1/config/rollback. The exit code is "
                "1 if the configuration is invalid or refused.") +
                kHow);
  command.Example(name + " --preview");
  command.Example(name + " --rollback --server https://127.0.0.1:10259 --insecure-skip-tls-verify");
  command_line::FlagSet& flags = command.flags();
  flags.Bool("preview", preview, "compare the last decisions only; the configuration in use stays");
  flags.Bool("rollback", roll_back,
             "use the configuration again that was in use before, without a comparison");
  AddOutput(flags, options.output);
  AddClusterFlags(flags, options.access.kubeconfig, options.access.context);
  AddSchedulerAccessFlags(flags, options.access);
  if (const auto code = command.Parse(args)) return *code;
  if (preview && roll_back)
    return command_line::ExitCode(Invalid("--preview excludes --rollback: a former file is not compared"));
  if (preview) options.action = reload::ReloadAction::kPreview;
  if (roll_back) options.action = reload::ReloadAction::kRollBack;
  return command_line::ExitCode(reload::RunReload(options));
}

}  // namespace berth::command
