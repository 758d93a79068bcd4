#include "command/extender_command.hpp"

#include "command/extender_check_command.hpp"
#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/extender_server/extender_process.hpp"

namespace berth::command {
namespace {

void DefineServing(command_line::FlagSet& flags, extender_server::ExtenderOptions& options) {
  flags.String("http-address", options.http_address,
               "address for plain HTTP without authentication: use it on loopback or behind a proxy",
               "ADDRESS:PORT");
  flags.Integer("secure-port", options.serving.port,
                "HTTPS port; 0 disables HTTPS; default with --http-address: 0", {0, 65535});
  flags.String("bind-address", options.serving.bind_address, "listen address of --secure-port");
  flags.Path(
      "tls-cert-file", options.serving.cert_file,
      "serving certificate with its chain; default: a self-signed one. Reloaded when the file changes");
  flags.Path("tls-private-key-file", options.serving.key_file, "its key");
  flags.Path("client-ca-file", options.client_ca_file,
             "require client certificates signed by this authority");
  flags.String("path-prefix", options.service.prefix,
               "path prefix of the verbs: /scheduler for /scheduler/filter", "PATH");
  flags.Integer("max-request-mib", options.body_mib,
                "maximum request size in MiB; 1,000 whole nodes are about 10 MiB", {1, 1024});
  flags.Integer("max-in-flight", options.service.max_in_flight,
                "maximum number of concurrent requests; more get 429", {1, 100'000});
  flags.Integer("max-connections", options.connections, "maximum number of connections", {1, 100'000});
  flags.Duration(
      "deadline", options.service.deadline,
      "requests that wait longer are not evaluated; set it to the httpTimeout of the calling scheduler");
}

void DefineFlags(command_line::FlagSet& flags, extender_server::ExtenderOptions& options) {
  flags.Path("config", options.config,
             "KubeSchedulerConfiguration with the profiles to use; default: the default plugins");
  flags.String("profile", options.evaluator.profile,
               "profile for all pods; default: the profile of the pod's schedulerName, or the first one",
               "NAME");
  flags.Bool("stretch-scores", options.evaluator.stretch,
             "scale scores so that the best node gets 10 and the worst 0");
  flags.Path("kubeconfig", options.kubeconfig,
             "kubeconfig of the cluster; default: the pod's service account");
  flags.String("master", options.master, "address of the API server; overrides the kubeconfig", "URL");
  flags.Path("berth-metric-sources", options.metric_sources, "same as that flag of berth scheduler");
  process::AddPluginFlag(flags, options.plugins);
  flags.NegatedBool("no-bind", options.service.bind,
                    "do not serve bind: the permission to create pods/binding is then not needed");
  flags.Bool(
      "allow-anonymous-bind", options.allow_anonymous_bind,
      "serve bind without --client-ca-file: every client that reaches the port can bind pods to nodes");
  DefineServing(flags, options);
  flags.Integer("v", options.verbosity, "log verbosity; 2 logs every request");
  flags.Shorthand('v');
}

}  // namespace

int RunExtenderCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  extender_server::ExtenderOptions options;
  options.serving.port = 8443;
  command_line::Command command(
      "berth extender",
      "Serves the plugins of a configuration as a scheduler extender of another kube-scheduler: POST "
      "/filter, /prioritize, /preempt, /bind.\n\nTo check that an extender works with kube-scheduler, see "
      "berth extender check --help.");
  command.Example(
      "berth extender --config plugins.yaml --kubeconfig ~/.kube/config --http-address 127.0.0.1:8888");
  command.Example("berth extender check http://127.0.0.1:8888");
  command.Subcommand("check", "checks that an extender works with kube-scheduler", &RunExtenderCheckCommand);
  DefineFlags(command.flags(), options);
  if (const auto code = command.Parse(args)) return *code;
  if (!command.flags().IsSet("secure-port") && !options.http_address.empty()) options.serving.port = 0;
  return command_line::ExitCode(extender_server::RunExtender(std::move(options), plugins));
}

}  // namespace berth::command
