#include "command/rebalance_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/rebalance/rebalance_process.hpp"

namespace berth::command {
namespace {

void DefineRules(command_line::FlagSet& flags, rebalance::RebalanceOptions& options) {
  rebalance::PlanSettings& plan = options.plan;
  flags.Section("Rules");
  flags.StringMap("threshold", "SIGNAL=PERCENT,...", options.thresholds,
                  "thresholds that replace those of LoadAware in the configuration");
  flags.Duration("window", plan.window, "a node is overloaded if it was above a threshold for this time");
  flags.Real("margin", plan.margin,
             "percent below the threshold that the new node keeps with the load of the pod", {0, 100});
  flags.Real("min-benefit", plan.min_benefit,
             "minimum benefit of a move: by how much the higher load of the two nodes falls, in percent",
             {0, 100});
  flags.Integer("max-per-round", plan.per_round, "maximum number of moves per round", {1, 10'000});
  flags.Integer("max-per-hour", plan.per_hour, "maximum number of moves per hour", {1, 100'000});
  flags.Integer("max-per-node", plan.per_node, "maximum number of moves from or to a node per round",
                {1, 1000});
  flags.Integer("max-per-namespace", plan.per_namespace, "maximum number of moves in a namespace per round",
                {1, 10'000});
  flags.Integer("max-per-workload", plan.per_workload, "maximum number of moves of a workload per round",
                {1, 1000});
  flags.Duration("cool-down", plan.cool_down,
                 "minimum time between moves of a workload or node, and minimum age of a workload's pods");
  flags.Duration("no-return", plan.no_return, "time in which a workload does not return to a node it left");
  flags.String(
      "history", options.history,
      "ConfigMap in which the moves are stored for the limits of later runs and leaders; empty: only "
      "in memory",
      "NAMESPACE/NAME");
  flags.Section("Protection");
  flags.Strings("namespaces", plan.namespaces, "rebalance only these namespaces; default: all");
  flags.Strings("exclude-namespaces", plan.excluded_namespaces, "namespaces that are not rebalanced");
  flags.Integer("max-priority", plan.max_priority, "pods with a higher priority stay",
                {-2'147'483'648LL, 1'999'999'999});
  flags.Bool("evict-without-controller", plan.evict_without_controller,
             "also evict pods that no controller recreates");
  flags.Bool("evict-local-storage", plan.evict_with_local_storage,
             "also evict pods with emptyDir or hostPath volumes");
}

void DefineService(command_line::FlagSet& flags, rebalance::RebalanceOptions& options) {
  flags.Section("Service");
  flags.Duration("interval", options.interval, "time between two rounds");
  flags.Bool("leader-elect", options.leader_elect, "only the holder of a Lease runs rounds");
  flags.String("leader-elect-resource-name", options.lease.name, "name of the Lease");
  flags.String("leader-elect-resource-namespace", options.lease.ns, "its namespace");
  flags.String("http-address", options.http_address,
               "address for health checks and metrics over plain HTTP; empty: none", "ADDRESS:PORT");
  flags.Integer("secure-port", options.serving.port, "HTTPS port for the same; 0 disables HTTPS", {0, 65535});
  flags.String("bind-address", options.serving.bind_address, "listen address of --secure-port");
  flags.Path("tls-cert-file", options.serving.cert_file, "serving certificate; default: a self-signed one");
  flags.Path("tls-private-key-file", options.serving.key_file, "its key");
  flags.Path("authentication-kubeconfig", options.authentication.kubeconfig,
             "kubeconfig for TokenReviews of HTTPS clients");
  flags.Path("authorization-kubeconfig", options.authorization.kubeconfig,
             "kubeconfig for SubjectAccessReviews of HTTPS clients");
}

void DefineFlags(command_line::FlagSet& flags, rebalance::RebalanceOptions& options) {
  flags.Bool("once", options.once, "run one round, print it and exit");
  flags.Bool("dry-run", options.dry_run, "only propose; evictions need --dry-run=false");
  flags.Choice("output", options.output, {"text", "json"}, "format of --once");
  flags.Shorthand('o');
  flags.Path("config", options.config, "configuration file of the scheduler; it must enable LoadAware");
  flags.Require();
  flags.Path("kubeconfig", options.kubeconfig,
             "kubeconfig of the cluster; default: the pod's service account");
  flags.String("master", options.master, "address of the API server; overrides the kubeconfig", "URL");
  flags.Path("berth-metric-sources", options.metric_sources, "same as that flag of berth scheduler");
  flags.Duration("measurement-wait", options.measurement_wait,
                 "maximum wait for the first measurements at the start");
  process::AddPluginFlag(flags, options.plugins);
  flags.Integer("v", options.verbosity, "log verbosity");
  flags.Shorthand('v');
  DefineRules(flags, options);
  DefineService(flags, options);
}

}  // namespace

int RunRebalanceCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  rebalance::RebalanceOptions options;
  options.lease.name = "berth-rebalance";
  options.http_address = "127.0.0.1:10261";
  options.serving.port = 0;
  command_line::Command command(
      "berth rebalance",
      "Moves pods away from nodes that are overloaded for longer than a window: evicts a pod if the "
      "scheduler, on a copy of the cluster, places it on a better node and would not place it back. "
      "Evicts nothing unless --dry-run=false is set.");
  command.Example("berth rebalance --once --config scheduler.yaml --kubeconfig ~/.kube/config");
  command.Example("berth rebalance --config scheduler.yaml --dry-run=false");
  DefineFlags(command.flags(), options);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(rebalance::RunRebalance(std::move(options), plugins));
}

}  // namespace berth::command
