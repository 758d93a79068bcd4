#include "command/extender_check_command.hpp"

#include "command_line/command.hpp"
#include "tools/extender_conformance/conformance.hpp"

namespace berth::command {
namespace {

void DefineFlags(command_line::FlagSet& flags, extender_conformance::ConformanceOptions& options) {
  extender_conformance::Plan& plan = options.plan;
  flags.Choices("verbs", options.verbs, {"filter", "prioritize", "preempt", "bind"}, "verbs to check");
  flags.String("filter-verb", plan.filter, "filterVerb in the scheduler's configuration");
  flags.String("prioritize-verb", plan.prioritize, "prioritizeVerb");
  flags.String("preempt-verb", plan.preempt, "preemptVerb");
  flags.String("bind-verb", options.bind_verb, "bindVerb");
  flags.Bool("bind", options.bind, "check the verb bind, too, with a pod that does not exist");
  flags.Choice("form", options.form, {"names", "nodes", "both"},
               "names: as with nodeCacheCapable: true; nodes: as with false; both: check both");
  flags.Path("filename", options.objects,
             "nodes and a pending pod of the cluster: kubectl get nodes,pods -A -o json; default: three "
             "generated nodes");
  flags.Shorthand('f');
  flags.String("managed-resource", options.managed_resource,
               "resource in managedResources of the scheduler's configuration; the generated pod requests it",
               "NAME");
  flags.Duration("timeout", options.target.timeout, "httpTimeout in the scheduler's configuration");
  flags.Integer("many", plan.many,
                "number of node names in the large request; with whole nodes a fifth of that",
                {5, 1'000'000});
  flags.Integer("at-once", plan.at_once, "number of concurrent requests", {1, 10'000});
  config::ExtenderTls& tls = options.target.tls;
  flags.Path("ca-file", tls.ca_file, "tlsConfig.caFile");
  flags.Path("cert-file", tls.cert_file, "tlsConfig.certFile");
  flags.Path("key-file", tls.key_file, "tlsConfig.keyFile");
  flags.String("server-name", tls.server_name, "tlsConfig.serverName", "NAME");
  flags.Bool("insecure", tls.insecure, "tlsConfig.insecure");
  flags.Bool("json", options.as_json, "print one JSON document instead of text");
}

}  // namespace

int RunExtenderCheckCommand(std::span<const std::string> args) {
  extender_conformance::ConformanceOptions options;
  command_line::Command command(
      "berth extender check",
      "Sends a scheduler extender the requests of kube-scheduler, including error cases, and reports how "
      "kube-scheduler v1.37.1 would handle the responses.\n\npass: correct. warn: accepted, but probably not "
      "as intended. wrong: kube-scheduler fails, or acts differently from the response. Exit code 0 without "
      "wrong responses, 2 with some, 1 if no request could be sent.\nNothing is written to the cluster; "
      "--bind uses a pod that does not exist.");
  command.Example("berth extender check http://127.0.0.1:8888/scheduler --form names");
  command.Example(
      "kubectl get nodes,pods -A -o json | berth extender check https://ext:8443 --ca-file ca.crt -f -");
  command.Argument("URL", options.target.url,
                   "urlPrefix of the extender, for example http://127.0.0.1:8888/scheduler");
  DefineFlags(command.flags(), options);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(extender_conformance::RunConformance(std::move(options)));
}

}  // namespace berth::command
