#include "command/extender_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/go_duration.hpp"
#include "command/extender_check_command.hpp"
#include "command/flags.hpp"
#include "observability/log/log.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/extender_server/extender_process.hpp"

namespace berth::command {
namespace {

int PrintError(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  return 1;
}

struct ParsedFlags {
  std::string deadline = "5s";
  bool no_bind = false;
  std::vector<std::string> plugins;
};

void DefineServing(CLI::App& app, extender_server::ExtenderFlags& flags, ParsedFlags& parsed) {
  app.add_option("--http-address", flags.http_address,
                 "address for plain HTTP without authentication: use it on loopback or behind a proxy")
      ->type_name("ADDRESS:PORT");
  app.add_option("--secure-port", flags.serving.port, "HTTPS port; 0 disables HTTPS")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--bind-address", flags.serving.bind_address, "listen address of --secure-port")
      ->capture_default_str();
  app.add_option(
         "--tls-cert-file", flags.serving.cert_file,
         "serving certificate with its chain; default: a self-signed one. Reloaded when the file changes")
      ->type_name("FILE");
  app.add_option("--tls-private-key-file", flags.serving.key_file, "its key")->type_name("FILE");
  app.add_option("--client-ca-file", flags.client_ca_file,
                 "require client certificates signed by this authority")
      ->type_name("FILE");
  app.add_option("--path-prefix", flags.service.prefix,
                 "path prefix of the verbs: /scheduler for /scheduler/filter")
      ->type_name("PATH");
  app.add_option("--max-request-mib", flags.body_mib,
                 "maximum request size in MiB; 1,000 whole nodes are about 10 MiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-in-flight", flags.service.max_in_flight,
                 "maximum number of concurrent requests; more get 429")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--max-connections", flags.connections, "maximum number of connections")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option(
         "--deadline", parsed.deadline,
         "requests that wait longer are not evaluated; set it to the httpTimeout of the calling scheduler")
      ->capture_default_str();
}

Expected<void> Complete(const CLI::App& app, extender_server::ExtenderFlags& flags,
                        const ParsedFlags& parsed) {
  flags.service.bind = !parsed.no_bind;
  flags.service.require_certificate = !flags.client_ca_file.empty();
  if (app.count("--secure-port") == 0 && !flags.http_address.empty()) flags.serving.port = 0;
  if (flags.service.require_certificate && flags.serving.port == 0)
    return Invalid("--client-ca-file needs --secure-port: plain HTTP has no client certificates");
  if (flags.service.require_certificate && !flags.http_address.empty())
    return Invalid("--client-ca-file and --http-address: plain HTTP has no client certificates");
  if (flags.http_address.empty() && flags.serving.port == 0)
    return Invalid("no listen address: set --secure-port or --http-address");
  std::string& prefix = flags.service.prefix;
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.empty() && !prefix.starts_with('/')) prefix.insert(0, "/");
  const auto deadline = ParseGoDuration(parsed.deadline);
  if (!deadline || deadline->count() <= 0)
    return Invalid(fmt::format("--deadline {}: expected a duration such as 5s or 200ms", parsed.deadline));
  flags.service.deadline = *deadline;
  return {};
}

}  // namespace

int RunExtenderCommand(std::span<const std::string> args, const runtime::Registry& built_in) {
  if (!args.empty() && args.front() == "check") return RunExtenderCheckCommand(args.subspan(1));
  extender_server::ExtenderFlags flags;
  flags.serving.port = 8443;
  ParsedFlags parsed;
  CLI::App app(
      "Serves the plugins of a configuration as a scheduler extender of another kube-scheduler: POST "
      "/filter, /prioritize, /preempt, /bind.\n\n  berth extender --config plugins.yaml --kubeconfig "
      "~/.kube/config --http-address 127.0.0.1:8888\n  berth extender check http://127.0.0.1:8888\n\nTo "
      "check that an extender works with kube-scheduler, see berth extender check --help.",
      "berth extender");
  app.add_option("--config", flags.config,
                 "KubeSchedulerConfiguration with the profiles to use; default: the default plugins")
      ->type_name("FILE");
  app.add_option("--profile", flags.evaluator.profile,
                 "profile for all pods; default: the profile of the pod's schedulerName, or the first one")
      ->type_name("NAME");
  app.add_flag("--stretch-scores", flags.evaluator.stretch,
               "scale scores so that the best node gets 10 and the worst 0");
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "kubeconfig of the cluster; default: the pod's service account")
      ->type_name("FILE");
  app.add_option("--master", flags.master, "address of the API server; overrides the kubeconfig")
      ->type_name("URL");
  app.add_option("--berth-metric-sources", flags.metric_sources, "same as that flag of berth scheduler")
      ->type_name("FILE");
  process::AddPluginFlag(app, parsed.plugins);
  app.add_flag("--no-bind", parsed.no_bind,
               "do not serve bind: the permission to create pods/binding is then not needed");
  DefineServing(app, flags, parsed);
  app.add_option("-v,--v", flags.verbosity, "log verbosity; 2 logs every request")->capture_default_str();
  std::vector<std::string> arguments(args.begin(), args.end());
  for (std::string& argument : arguments) {
    if (argument.starts_with("-v=")) argument.erase(2, 1);  // the syntax of kube-scheduler's flags
  }
  if (const auto code = ParseFlags(app, arguments)) return *code;
  if (const auto complete = Complete(app, flags, parsed); !complete) return PrintError(complete.error());
  log::SetVerbosity(static_cast<int>(flags.verbosity));
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, parsed.plugins, notes);
  if (!plugins) return PrintError(plugins.error());
  auto config = process::LoadConfig(flags.config, *plugins);
  if (!config) return PrintError(config.error());
  if (!config->extenders.empty()) {
    config->extenders.clear();
    notes.emplace_back(
        "the extenders of the configuration are not called: this process is an extender itself");
  }
  const auto code = extender_server::RunExtender(flags, *config, *plugins, std::move(notes));
  return code ? *code : PrintError(code.error());
}

}  // namespace berth::command
