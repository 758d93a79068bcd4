#include "command/extender_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/go_duration.hpp"
#include "command/extender_check_command.hpp"
#include "tools/extender_server/extender_process.hpp"
#include "command/flags.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "observability/log/log.hpp"

namespace berth::command {
namespace {

int Complain(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  return 1;
}

struct Given {
  std::string deadline = "5s";
  bool no_bind = false;
  std::vector<std::string> plugins;
};

void DefineServing(CLI::App& app, extender_server::ExtenderFlags& flags, Given& given) {
  app.add_option("--http-address", flags.http_address,
                 "serve over plain HTTP here, without asking who it is: for loopback, or behind a proxy")
      ->type_name("ADDRESS:PORT");
  app.add_option("--secure-port", flags.serving.port, "serve over HTTPS here; 0: not at all")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--bind-address", flags.serving.bind_address, "the address of --secure-port")
      ->capture_default_str();
  app.add_option(
         "--tls-cert-file", flags.serving.cert_file,
         "the certificate shown, with its chain; without it one of our own making. Read again when it "
         "changes")
      ->type_name("FILE");
  app.add_option("--tls-private-key-file", flags.serving.key_file, "its key")->type_name("FILE");
  app.add_option("--client-ca-file", flags.client_ca_file,
                 "only who shows a certificate that this authority has signed may ask")
      ->type_name("FILE");
  app.add_option("--path-prefix", flags.service.prefix,
                 "in front of the verbs: /scheduler for /scheduler/filter")
      ->type_name("PATH");
  app.add_option("--max-request-mib", flags.body_mib,
                 "the largest question; 1,000 whole nodes are some 10 MiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-in-flight", flags.service.most_in_flight, "questions at a time; more get 429")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--max-connections", flags.connections, "connections at a time")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--deadline", given.deadline,
                 "a question whose turn comes later is not judged; best the httpTimeout of whoever asks")
      ->capture_default_str();
}

Expected<void> Complete(const CLI::App& app, extender_server::ExtenderFlags& flags, const Given& given) {
  flags.service.bind = !given.no_bind;
  flags.service.need_certificate = !flags.client_ca_file.empty();
  if (app.count("--secure-port") == 0 && !flags.http_address.empty()) flags.serving.port = 0;
  if (flags.service.need_certificate && flags.serving.port == 0)
    return Invalid("--client-ca-file needs --secure-port: over plain HTTP nobody can show a certificate");
  if (flags.service.need_certificate && !flags.http_address.empty())
    return Invalid("--client-ca-file and --http-address: over plain HTTP nobody can show a certificate");
  if (flags.http_address.empty() && flags.serving.port == 0)
    return Invalid("nothing to serve on: give --secure-port or --http-address");
  std::string& prefix = flags.service.prefix;
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.empty() && !prefix.starts_with('/')) prefix.insert(0, "/");
  const auto deadline = ParseGoDuration(given.deadline);
  if (!deadline || deadline->count() <= 0)
    return Invalid(fmt::format("--deadline {}: expected a duration such as 5s or 200ms", given.deadline));
  flags.service.deadline = *deadline;
  return {};
}

}  // namespace

int RunExtenderCommand(std::span<const std::string> args, const runtime::Registry& built_in) {
  if (!args.empty() && args.front() == "check") return RunExtenderCheckCommand(args.subspan(1));
  extender_server::ExtenderFlags flags;
  flags.serving.port = 8443;
  Given given;
  CLI::App app(
      "Offers the plugins of a configuration to somebody else's kube-scheduler, as a scheduler extender: "
      "POST /filter, /prioritize, /preempt, /bind.\n\n"
      "  berth extender --config plugins.yaml --kubeconfig ~/.kube/config --http-address 127.0.0.1:8888\n"
      "  berth extender check http://127.0.0.1:8888\n\n"
      "berth extender check --help: is an extender, ours or another, one that kube-scheduler understands?",
      "berth extender");
  app.add_option("--config", flags.config,
                 "KubeSchedulerConfiguration whose profiles judge; without it the default plugins")
      ->type_name("FILE");
  app.add_option(
         "--profile", flags.judge.profile,
         "the profile that judges all pods; without it the one that the pod's schedulerName names, or "
         "the first")
      ->type_name("NAME");
  app.add_flag("--stretch-scores", flags.judge.stretch,
               "give the best node 10 and the worst 0, however little they differ");
  app.add_option("--kubeconfig", flags.kubeconfig, "how to reach the cluster; without it as a pod")
      ->type_name("FILE");
  app.add_option("--master", flags.master, "the API server, instead of the kubeconfig's")->type_name("URL");
  app.add_option("--berth-metric-sources", flags.metric_sources, "the file of that flag of berth scheduler")
      ->type_name("FILE");
  process::AddPluginFlag(app, given.plugins);
  app.add_flag("--no-bind", given.no_bind, "do not offer bind: needs no right to create pods/binding");
  DefineServing(app, flags, given);
  app.add_option("-v,--v", flags.verbosity, "detail of the log; 2: a line per question")->capture_default_str();
  std::vector<std::string> arguments(args.begin(), args.end());
  for (std::string& argument : arguments) {
    if (argument.starts_with("-v=")) argument.erase(2, 1);  // as kube-scheduler's flags are written
  }
  if (const auto code = ParseFlags(app, arguments)) return *code;
  if (const auto complete = Complete(app, flags, given); !complete) return Complain(complete.error());
  log::SetVerbosity(static_cast<int>(flags.verbosity));
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, given.plugins, notes);
  if (!plugins) return Complain(plugins.error());
  auto config = process::LoadConfig(flags.config, *plugins);
  if (!config) return Complain(config.error());
  if (!config->extenders.empty()) {
    config->extenders.clear();
    notes.emplace_back("extenders of the configuration are not asked: this is one");
  }
  const auto code = extender_server::RunExtender(flags, *config, *plugins, std::move(notes));
  return code ? *code : Complain(code.error());
}

}  // namespace berth::command
