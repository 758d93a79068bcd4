#include "process/scheduler_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "base/go_quote.hpp"
#include "base/go_scalars.hpp"
#include "kubernetes/api/quantity.hpp"
#include "observability/log/log.hpp"
#include "service/tls_settings.hpp"

namespace berth::process {
namespace {

constexpr std::string_view kVersion = "v1.37.1";

void AddMisc(command_line::FlagSet& table, SchedulerFlags& flags) {
  table.Section("Misc flags");
  table.String("config", flags.config,
               "Path of the configuration file: a KubeSchedulerConfiguration of any version, or a Policy.");
  table.String("master", flags.master, "Address of the Kubernetes API server. Overrides the kubeconfig.");
  table.String("write-config-to", flags.write_config_to,
               "Writes the effective configuration with all defaults to this file and exits.");
}

Expected<void> SetAddress(const std::string& text, std::string& out) {
  if (text.empty()) return {};
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  if (error || text.contains('%')) return Invalid(fmt::format("failed to parse IP: \"{}\"", text));
  out = text;
  return {};
}

void AddServing(command_line::FlagSet& table, SchedulerFlags& flags) {
  service::SecureServingOptions& serving = flags.serving;
  table.Section("Secure serving flags");
  table.Add({"bind-address", "ip", "Listen address of --secure-port. 0.0.0.0 and :: mean all addresses.",
             [&serving](const std::string& text) { return SetAddress(text, serving.bind_address); },
             [&serving] { return serving.bind_address; }});
  table.Int(
      "secure-port", serving.port,
      "HTTPS port for health, metrics and debugging, with authentication and authorization. 0 disables it.");
  table.String("cert-dir", serving.cert_dir,
               "Directory of the serving certificate kube-scheduler.crt and its key kube-scheduler.key. They "
               "are created if they do not exist. Without this flag and --tls-cert-file, a self-signed "
               "certificate is kept in memory.");
  table.String("tls-cert-file", serving.cert_file,
               "Serving certificate, followed by its chain. Reloaded when the file changes.");
  table.String("tls-private-key-file", serving.key_file, "Private key of --tls-cert-file.");
  table.Strings("tls-cipher-suites", serving.cipher_suites,
                "TLS 1.2 cipher suites, by their names in Go. Default: those of the TLS library.");
  table.String(
      "tls-min-version", serving.min_version,
      "Minimum TLS version: VersionTLS12 or VersionTLS13. Older values are accepted and mean VersionTLS12.");
  table.Int32s("tls-curve-preferences", serving.curve_preferences,
               "Offered key exchange groups, by their numbers in Go's crypto/tls.");
  table.Add({"tls-sni-cert-key", "namedCertKey",
             "cert.pem,key.pem[:name,*.domain]: an additional certificate for clients that request these "
             "names (SNI). May be repeated.",
             [&serving](const std::string& text) -> Expected<void> {
               BERTH_RETURN_IF_ERROR(service::ParseNamedCertificate(text));
               serving.sni_cert_keys.push_back(text);
               return {};
             },
             [&serving] { return fmt::format("[{}]", fmt::join(serving.sni_cert_keys, ";")); }});
  table.Bool("permit-port-sharing", serving.permit_port_sharing,
             "Allows several processes to listen on the same address and port (SO_REUSEPORT).");
  table.Bool("permit-address-sharing", serving.permit_address_sharing,
             "Allows listening while connections of an earlier process are still closing (SO_REUSEADDR).");
  table.Int("http2-max-streams-per-connection", flags.http2_max_streams,
            "No effect: only HTTP/1.1 is served.");
  table.Bool("disable-http2-serving", flags.disable_http2, "No effect: only HTTP/1.1 is served.");
}

void AddAuthentication(command_line::FlagSet& table, SchedulerFlags& flags) {
  service::AuthenticationOptions& options = flags.authentication;
  table.Section("Authentication flags");
  table.String("authentication-kubeconfig", options.kubeconfig,
               "kubeconfig for token reviews and for reading the cluster's client certificate authorities. "
               "Without it, requests with tokens are anonymous.");
  table.Bool("authentication-skip-lookup", options.skip_lookup,
             "Does not read the client certificate authorities from the cluster.");
  table.Duration("authentication-token-webhook-cache-ttl", options.token_cache_ttl,
                 "How long results of token reviews are cached.");
  table.Bool("authentication-tolerate-lookup-failure", options.tolerate_lookup_failure,
             "Starts even if the cluster's certificate authorities cannot be read. Until they are read, "
             "client certificates do not authenticate.");
  table.String("client-ca-file", options.client_ca_file,
               "Certificate authorities for client certificates. The certificate's common name is the user.");
  table.String("requestheader-client-ca-file", options.request_header.client_ca_file,
               "Certificate authorities for authenticating proxies, which may set the user in headers.");
  table.Strings(
      "requestheader-allowed-names", options.request_header.allowed_names,
      "Allowed common names of authenticating proxies. Empty: any certificate signed by the authorities.");
  table.Strings("requestheader-username-headers", options.request_header.username_headers,
                "Request headers that contain the user name.");
  table.Strings("requestheader-uid-headers", options.request_header.uid_headers,
                "Request headers that contain the user's UID.");
  table.Strings("requestheader-group-headers", options.request_header.group_headers,
                "Request headers that contain the user's groups.");
  table.Strings("requestheader-extra-headers-prefix", options.request_header.extra_header_prefixes,
                "Prefixes of request headers with extra attributes of the user.");
}

void AddAuthorization(command_line::FlagSet& table, SchedulerFlags& flags) {
  service::AuthorizationOptions& options = flags.authorization;
  table.Section("Authorization flags");
  table.String("authorization-kubeconfig", options.kubeconfig,
               "kubeconfig for access reviews. Without it, all requests are denied except those to "
               "--authorization-always-allow-paths.");
  table.Strings("authorization-always-allow-paths", options.always_allow_paths,
                "Paths that need no authorization. A trailing * matches any suffix.");
  table.Duration("authorization-webhook-cache-authorized-ttl", options.authorized_ttl,
                 "How long allowed requests are cached.");
  table.Duration("authorization-webhook-cache-unauthorized-ttl", options.unauthorized_ttl,
                 "How long denied requests are cached.");
}

void AddDeprecated(command_line::FlagSet& table, SchedulerFlags& flags) {
  table.Section(
      "Deprecated flags (with --config all but the last have no effect; set the fields of the file instead)");
  table.String("kubeconfig", flags.client.kubeconfig,
               "kubeconfig of the API server. Default: the pod's service account. Also used with a --config "
               "that names none.");
  table.String("kube-api-content-type", flags.client.content_type,
               "Encoding in which pods and nodes are read: application/vnd.kubernetes.protobuf; any other "
               "value means JSON.");
  table.Float("kube-api-qps", flags.client.qps,
              "Maximum requests per second of each client. Default: no limit; the API server's priority and "
              "fairness applies.");
  table.Int32("kube-api-burst", flags.client.burst, "Maximum burst of requests above the rate.");
  table.Bool("profiling", flags.profiling, "Serves CPU profiles under /debug/pprof/.");
  table.Bool("contention-profiling", flags.contention_profiling,
             "No effect: scheduling decisions use no locks.");
  table.Duration("pod-max-in-unschedulable-pods-duration", flags.max_in_unschedulable,
                 "Maximum time that a pod waits for a cluster event before it is retried.");
}

void AddLeaderElection(command_line::FlagSet& table, SchedulerFlags& flags) {
  config::LeaderElection& election = flags.leader_election;
  table.Section("Leader election flags");
  table.Bool("leader-elect", election.leader_elect,
             "Schedules only while holding a lease. Other replicas stand by.");
  table.Duration("leader-elect-lease-duration", election.lease_duration,
                 "Time after the last observed renewal when another replica may acquire the lease.");
  table.Duration("leader-elect-renew-deadline", election.renew_deadline,
                 "Time in which the leader must renew the lease before it steps down. Must be shorter than "
                 "the lease duration.");
  table.Duration("leader-elect-retry-period", election.retry_period,
                 "Time between two attempts to acquire or renew the lease.");
  table.String("leader-elect-resource-lock", election.resource_lock, "Kind of the lock object: leases.");
  table.String("leader-elect-resource-name", election.resource_name, "Name of the lease.");
  table.String("leader-elect-resource-namespace", election.resource_namespace, "Namespace of the lease.");
}

void AddFeatureGates(command_line::FlagSet& table, SchedulerFlags& flags) {
  table.Section("Feature gate flags");
  table.List("feature-gates", "Feature=true|false,...", flags.feature_gates,
             "Enables or disables features. Gates and defaults are those of kube-scheduler v1.37.1. May be "
             "repeated.");
  table.Strings("emulated-version", flags.emulated_version,
                "Emulated release, 1.34 to 1.37. No effect: Berth always follows 1.37.");
  table.Strings("min-compatibility-version", flags.min_compatibility_version,
                "Oldest compatible release of other components. No effect.");
}

void AddMetrics(command_line::FlagSet& table, SchedulerFlags& flags) {
  MetricsFlags& metrics = flags.metrics;
  table.Section("Metrics flags");
  table.String(
      "show-hidden-metrics-for-version", metrics.show_hidden_for_version,
      "Shows the metrics that were hidden after this release. Only the previous minor release is valid.");
  table.Strings("disabled-metrics", metrics.disabled, "Names of metrics to disable.");
  table.StringMap("allow-metric-labels", "metric,label='v1,v2'", metrics.allowed_labels,
                  "Allowed values of a metric's label. Other values become \"unexpected\".");
  table.String("allow-metric-labels-manifest", metrics.allowed_labels_manifest,
               "YAML file with the pairs of --allow-metric-labels; replaces that flag.");
}

Expected<void> CheckQuantity(const std::string& text, std::string& out) {
  BERTH_RETURN_IF_ERROR(api::Quantity::Parse(text));
  out = text;
  return {};
}

// "pattern=N,..."; the last occurrence takes effect.
Expected<void> SetModules(std::string_view text, std::vector<std::string>& out) {
  out.clear();
  while (!text.empty()) {
    const std::string one(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one.empty()) continue;
    const auto equals = one.find('=');
    if (equals == one.npos || equals == 0 || one.find('=', equals + 1) != one.npos)
      return Invalid(fmt::format("\"{}\" does not have the pattern=N format", one));
    if (auto level = ParseGoLevel(std::string_view(one).substr(equals + 1)); !level)
      return std::unexpected(std::move(level).error().In(fmt::format("parsing verbosity in \"{}\"", one)));
    out.push_back(one);
  }
  return {};
}

void AddLogs(command_line::FlagSet& table, SchedulerFlags& flags) {
  LogFlags& log = flags.log;
  const auto buffer = [&](std::string name, std::string& out) {
    table.Add({std::move(name), "quantity", "No effect: lines are written immediately.",
               [&out](const std::string& text) { return CheckQuantity(text, out); }, [&out] { return out; }});
  };
  table.Section("Logs flags");
  table.String("logging-format", log.format, "Log format: text or json.");
  table.Duration("log-flush-frequency", log.flush_frequency, "No effect: lines are written immediately.");
  table.Bool("log-text-split-stream", log.text_split_stream,
             "No effect: all lines go to standard error. Requires the gate LoggingAlphaOptions.");
  table.Bool("log-json-split-stream", log.json_split_stream,
             "No effect: all lines go to standard error. Requires the gate LoggingAlphaOptions.");
  buffer("log-text-info-buffer-size", log.text_buffer);
  buffer("log-json-info-buffer-size", log.json_buffer);
  table.Add({"v", "Level", "Log verbosity: 0 for operators, 2 with every binding, 4 and more for debugging.",
             [&log](const std::string& text) -> Expected<void> {
               BERTH_TRY(log.verbosity, ParseGoLevel(text));
               return {};
             },
             [&log] { return fmt::format("{}", log.verbosity); }});
  table.Shorthand('v');
  table.Add({"vmodule", "pattern=N,...", "No effect: log levels are not set by file; use -v.",
             [&log](const std::string& text) { return SetModules(text, log.vmodule); },
             [&log] { return fmt::format("{}", fmt::join(log.vmodule, ",")); }});
}

Expected<void> SetVersion(const std::string& text, VersionFlag& out) {
  if (text.starts_with("v")) {
    const std::string_view number = std::string_view(text).substr(0, kVersion.size());
    const char next = text.size() > kVersion.size() ? text[kVersion.size()] : '-';
    if (number != kVersion || (next != '-' && next != '+'))
      return Invalid(fmt::format("version \"{}\" must match major/minor/patch of default version \"{}\"",
                                 text, kVersion));
    out.reported = text;
    out.wanted = VersionFlag::Wanted::kNothing;
  } else if (text == "raw") {
    out.wanted = VersionFlag::Wanted::kRaw;
  } else if (const auto on = ParseGoBool(text)) {
    out.wanted = *on ? VersionFlag::Wanted::kShort : VersionFlag::Wanted::kNothing;
  } else {
    return Invalid(fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text));
  }
  return {};
}

std::string ShownVersion(const VersionFlag& version) {
  switch (version.wanted) {
    case VersionFlag::Wanted::kShort:
      return "true";
    case VersionFlag::Wanted::kRaw:
      return "raw";
    case VersionFlag::Wanted::kNothing:
      break;
  }
  return version.reported.empty() ? "false" : version.reported;
}

void AddGlobal(command_line::FlagSet& table, SchedulerFlags& flags) {
  table.Section("Global flags");
  table.Add({"version", "version[=true]",
             "Prints the version of kube-scheduler that Berth implements, =raw with details. =v1.37.1-... "
             "sets the reported version.",
             [&flags](const std::string& text) { return SetVersion(text, flags.version); },
             [&flags] { return ShownVersion(flags.version); }, "true"});
  table.Bool("help", flags.help, "Prints this help.");
  table.Shorthand('h');
}

void AddOwn(command_line::FlagSet& table, SchedulerFlags& flags) {
  OwnFlags& own = flags.own;
  table.Section("Berth's own flags");
  table.String("berth-http-address", own.http_address,
               "Address of health checks over plain HTTP without authentication. Port 0 disables it.");
  table.Bool("berth-http-metrics", own.http_metrics,
             "Serves /metrics and /metrics/slis at --berth-http-address, too, without authentication.");
  table.Bool(
      "berth-ui", own.ui,
      "Serves a web page at /ui/ of the secure port. It contains no data; it reads the scheduler's API "
      "with the token that its user enters.");
  table.Bool(
      "berth-config-reload", own.config_reload,
      "Watches the file of --config and applies a changed configuration without a restart. SIGHUP does "
      "so at once, also without this flag. An invalid file, or a change that needs a restart, has no "
      "effect: it is logged and counted in berth_config_reloads_total.");
  table.Int("berth-reload-limit", own.reload_limit,
            "Refuses to reload a configuration with which more than this percentage of the last decisions "
            "would select another node. 100: every change is accepted.");
  table.Bool("berth-api-reload", own.api_reload,
             "Accepts requests to reload, preview or roll back the configuration: POST config/reload and "
             "config/rollback of the scheduler's API. A request needs the verb post on its path.");
  table.Bool("berth-api-retry", own.api_retry,
             "Accepts requests to retry a waiting pod immediately: POST pods/NAMESPACE/NAME/retry of the "
             "scheduler's "
             "API. A request needs the verb post on its path.");
  table.Bool("berth-adaptive-sampling", own.adaptive_sampling,
             "If percentageOfNodesToScore is unset or 0, samples nodes adaptively like kube-scheduler: the "
             "larger the cluster, the smaller the share. Default: all nodes are evaluated.");
  table.Int("berth-seed", own.seed,
            "Seed of the random choice between nodes with equal scores. 0: a new seed at each start.");
  table.Size("berth-record-buffer-size", own.record_buffer_bytes,
             "Size limit of the buffer of past scheduling attempts, from which explanations are made.");
  table.String(
      "berth-recording-dir", own.recording_dir,
      "Directory to which the scheduler writes what it receives and decides, for berth replay. It is "
      "created; an earlier recording is moved to its subdirectory \"previous\", which is replaced.");
  table.Size(
      "berth-recording-limit", own.recording_limit_bytes,
      "Size limit of the recording on disk. The oldest files are removed, and the latest part is kept. If "
      "no snapshot is possible, for example with a plugin that cannot save its state, recording ends there "
      "and scheduling continues.");
  table.Size(
      "berth-equivalence-cache-size", own.equivalence_cache_bytes,
      "Size limit of the equivalence cache, which stores filter and score results for identical pods. 0 "
      "disables it. The setting does not change decisions.");
  // Names of release 0.1, accepted for one more release.
  table.HiddenMebibytes("berth-record-memory", own.record_buffer_bytes);
  table.HiddenMebibytes("berth-class-memory", own.equivalence_cache_bytes);
  table.List("berth-plugin", "file", own.plugins,
             "Shared object with plugins, which profiles enable by name. May be repeated. A child process "
             "test-loads it first. To load another version, restart the scheduler.");
  table.String(
      "berth-metric-sources", own.metric_sources,
      "File with the Prometheus servers of the load-aware plugins: addresses, credentials, and the labels "
      "that contain the node name. Without it, the plugins' addresses are used without credentials.");
  table.Duration(
      "berth-measurement-wait", own.measurement_wait,
      "At the start and after a leader change, time for which the first decisions of profiles with "
      "load-aware plugins wait until all their measurements have a value. Then the plugins apply "
      "their settings for missing measurements. 0: no wait. Shadow mode does not wait.",
      {Duration{}, std::chrono::hours(1)});
  table.String("berth-class-label", own.class_label,
               "Pod label whose value is the workload class of the pod in the metric "
               "berth_pod_bind_duration_seconds. Empty: no such metric.");
  table.Int("berth-max-classes", own.max_classes,
            "Number of workload classes with a series of their own; further ones share the class other.");
  table.String("berth-otlp-endpoint", own.otlp_endpoint,
               "URL of an OpenTelemetry collector, for example http://collector:4318. Receives traces of "
               "scheduling attempts as OTLP over HTTP (JSON). Empty: no traces.");
  table.String(
      "berth-otlp-headers-file", own.otlp_headers_file,
      "File with additional headers of OTLP requests, such as credentials: one Name: value per line.");
  table.Float("berth-trace-ratio", own.trace_ratio,
              "Fraction of scheduling attempts that is traced, from 0 to 1.");
  table.Float(
      "berth-scheduled-event-ratio", own.scheduled_event_ratio,
      "Fraction of the events Scheduled that is written, from 0 to 1, for pods that were scheduled at "
      "the first attempt. The events take a quarter of the API server's CPU time per bound pod.");
  table.Int("berth-extender-circuit-failures", own.extender_failures,
            "Number of consecutive failures that opens the circuit breaker of an extender: further calls "
            "fail immediately. 0 disables it, like in kube-scheduler.");
  table.Duration("berth-extender-circuit-pause", own.extender_pause,
                 "Time for which the circuit breaker stays open.",
                 {std::chrono::milliseconds(100), std::chrono::hours(24)});
  table.Size("berth-extender-max-reply-size", own.extender_max_reply_bytes,
             "Maximum size of a response of an extender. A longer one is an error.");
  table.Duration("berth-watch-idle-timeout", own.watch_idle_timeout,
                 "Time after which a watch without events is reopened.",
                 {std::chrono::seconds(1), std::chrono::hours(24)});
  table.Bool(
      "berth-use-kubeconfig-variable", own.use_kubeconfig_variable,
      "Outside of a pod, without --kubeconfig and --master: connects with the files in $KUBECONFIG, merged "
      "as in kubectl. By default this is an error, like in kube-scheduler.");
  table.Bool("berth-allow-missing-resources", own.allow_missing_resources,
             "Schedules although namespaces or CSI drivers cannot be listed. Filters that need them then "
             "accept nodes that kube-scheduler rejects; the log names the consequence. By "
             "default Berth waits until they can be listed, like kube-scheduler.");
  table.Bool("berth-shadow", own.shadow.on,
             "Runs as a shadow of the active scheduler: evaluates the same pods, writes nothing to the "
             "cluster, takes no lease, and reports agreement in /debug/berth/shadow, in the metrics "
             "berth_shadow_*, and in the log at the end.");
  table.String("berth-shadow-report", own.shadow.report,
               "With --berth-shadow: file for the final report in JSON.");
  table.Duration("berth-shadow-window", own.shadow.window,
                 "With --berth-shadow: maximum age of the cluster state that may explain a difference from "
                 "the other scheduler.");
  table.Int("berth-shadow-keep", own.shadow.keep,
            "With --berth-shadow: number of latest disagreements in the report.");
}

void AddOld(command_line::FlagSet& table, SchedulerFlags& flags) {
  OldFlags& old = flags.old;
  const auto ignored = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) table.String(name, old.ignored, "No effect.");
  };
  const auto ignored_switch = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      table.Bool(name, old.ignored_switch, "No effect: logs go to standard error.");
  };
  table.Section("Flags of older releases, accepted for existing manifests");
  table.Int("port", old.port,
            "Port of plain HTTP for health and metrics; superseded by --berth-http-address. 0 disables it.");
  table.String("address", old.address, "Listen address of --port.");
  table.String("policy-config-file", old.policy_config_file,
               "Path of a Policy file, which --config accepts, too. No effect with --config.");
  table.String("policy-configmap", old.policy_configmap,
               "Name of a ConfigMap with a Policy in its key policy.cfg, read once at the start. No effect "
               "with --config.");
  table.String("policy-configmap-namespace", old.policy_configmap_namespace,
               "Namespace of --policy-configmap.");
  table.Bool("use-legacy-policy-config", old.use_legacy_policy_config,
             "The Policy file takes precedence over --config.");
  table.String("algorithm-provider", old.algorithm_provider,
               "DefaultProvider, or ClusterAutoscalerProvider, which prefers nodes with high usage.");
  table.String("scheduler-name", old.scheduler_name, "Name of the profile if no file is given.");
  table.Int("hard-pod-affinity-symmetric-weight", old.hard_pod_affinity_weight,
            "InterPodAffinityArgs.hardPodAffinityWeight if no file is given.");
  table.String("lock-object-name", old.lock_object_name, "Same as --leader-elect-resource-name.");
  table.String("lock-object-namespace", old.lock_object_namespace,
               "Same as --leader-elect-resource-namespace.");
  ignored({"log-dir", "log-file", "log-file-max-size", "log-backtrace-at", "stderrthreshold"});
  ignored_switch({"logtostderr", "alsologtostderr", "add-dir-header", "skip-headers", "skip-log-headers",
                  "one-output", "experimental-logging-sanitization"});
}

}  // namespace

command_line::FlagSet TableOf(SchedulerFlags& flags) {
  command_line::FlagSet table;
  AddMisc(table, flags);
  AddServing(table, flags);
  AddAuthentication(table, flags);
  AddAuthorization(table, flags);
  AddDeprecated(table, flags);
  AddLeaderElection(table, flags);
  AddFeatureGates(table, flags);
  AddMetrics(table, flags);
  AddLogs(table, flags);
  AddGlobal(table, flags);
  AddOwn(table, flags);
  AddOld(table, flags);
  return table;
}

Expected<void> CheckNoArguments(const command_line::FlagSet& table) {
  if (std::ranges::all_of(table.arguments(), &std::string::empty)) return {};
  std::string quoted;
  for (const std::string& argument : table.arguments()) {
    if (!quoted.empty()) quoted += ' ';
    quoted += GoQuote(argument);
  }
  return Invalid(fmt::format(
      "\"kube-scheduler\" does not take any arguments, got [{}]; flags are given as --name=value", quoted));
}

std::string ReportedVersion(const SchedulerFlags& flags) {
  return flags.version.reported.empty() ? std::string(kVersion) : flags.version.reported;
}

}  // namespace berth::process
