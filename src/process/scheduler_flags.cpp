#include "process/scheduler_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "kubernetes/api/quantity.hpp"
#include "base/go_scalars.hpp"
#include "service/tls_settings.hpp"

namespace berth::process {
namespace {

constexpr std::string_view kVersion = "v1.37.1";

void AddMisc(PFlags& table, SchedulerFlags& flags) {
  table.Section("Misc flags");
  table.String("config", flags.config,
               "The configuration file: KubeSchedulerConfiguration of any version, or a Policy.");
  table.String("master", flags.master,
               "The address of the Kubernetes API server; it wins over the one in the kubeconfig.");
  table.String("write-config-to", flags.write_config_to,
               "Writes the effective configuration, defaults filled in, to this file and ends.");
}

Expected<void> SetAddress(const std::string& text, std::string& out) {
  if (text.empty()) return {};
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  if (error || text.contains('%')) return Invalid(fmt::format("failed to parse IP: \"{}\"", text));
  out = text;
  return {};
}

void AddServing(PFlags& table, SchedulerFlags& flags) {
  service::SecureServingOptions& serving = flags.serving;
  table.Section("Secure serving flags");
  table.Add({"bind-address", "ip",
             "The address to listen on for --secure-port; 0.0.0.0 and :: stand for all of them.",
             [&serving](const std::string& text) { return SetAddress(text, serving.bind_address); },
             [&serving] { return serving.bind_address; }});
  table.Int("secure-port", serving.port,
            "The port of health, metrics and debugging over HTTPS, with authentication and authorization; 0: "
            "none.");
  table.String(
      "cert-dir", serving.cert_dir,
      "Where the serving certificate kube-scheduler.crt and its key kube-scheduler.key are, or are put "
      "if they do not exist; without it and without the files below a self-signed one is kept in "
      "memory.");
  table.String("tls-cert-file", serving.cert_file,
               "The serving certificate, followed by its chain. Read again when it changes.");
  table.String("tls-private-key-file", serving.key_file, "The key that belongs to --tls-cert-file.");
  table.Strings("tls-cipher-suites", serving.cipher_suites,
                "Names of TLS 1.2 cipher suites as Go writes them; without it the library's choice.");
  table.String("tls-min-version", serving.min_version,
               "VersionTLS12 or VersionTLS13; older ones are accepted and mean VersionTLS12.");
  table.Int32s("tls-curve-preferences", serving.curve_preferences,
               "Numbers of the key exchanges that are offered, as in Go's crypto/tls.");
  table.Add(
      {"tls-sni-cert-key", "namedCertKey",
       "cert.pem,key.pem[:name,*.domain]: another certificate, for clients that ask for these names. May "
       "be repeated.",
       [&serving](const std::string& text) -> Expected<void> {
         BERTH_RETURN_IF_ERROR(service::ParseNamedCertificate(text));
         serving.sni_cert_keys.push_back(text);
         return {};
       },
       [&serving] { return fmt::format("[{}]", fmt::join(serving.sni_cert_keys, ";")); }});
  table.Bool("permit-port-sharing", serving.permit_port_sharing,
             "Several processes may listen on the same address and port (SO_REUSEPORT).");
  table.Bool("permit-address-sharing", serving.permit_address_sharing,
             "Listens although connections of a former process linger (SO_REUSEADDR).");
  table.Int("http2-max-streams-per-connection", flags.http2_max_streams, "Accepted; HTTP/1.1 is served.");
  table.Bool("disable-http2-serving", flags.disable_http2, "Accepted; HTTP/1.1 is served.");
}

void AddAuthentication(PFlags& table, SchedulerFlags& flags) {
  service::AuthenticationOptions& options = flags.authentication;
  table.Section("Authentication flags");
  table.String("authentication-kubeconfig", options.kubeconfig,
               "How to reach the API server for token reviews, and for the authorities that sign client "
               "certificates; without it requests with tokens are anonymous.");
  table.Bool("authentication-skip-lookup", options.skip_lookup,
             "Does not look for authorities in the cluster.");
  table.Duration("authentication-token-webhook-cache-ttl", options.token_cache_ttl,
                 "How long the answers of token reviews count.");
  table.Bool("authentication-tolerate-lookup-failure", options.tolerate_lookup_failure,
             "Starts even if the cluster's authorities cannot be read; until they can, nobody is known by a "
             "certificate.");
  table.String("client-ca-file", options.client_ca_file,
               "Whoever shows a certificate signed by these authorities is the user it names.");
  table.String("requestheader-client-ca-file", options.request_header.client_ca_file,
               "Signs the certificates of proxies that may name the user in headers.");
  table.Strings("requestheader-allowed-names", options.request_header.allowed_names,
                "Common names of such proxies; empty: any that is signed.");
  table.Strings("requestheader-username-headers", options.request_header.username_headers,
                "Headers in which a proxy names the user.");
  table.Strings("requestheader-uid-headers", options.request_header.uid_headers,
                "Headers in which a proxy gives the user's UID.");
  table.Strings("requestheader-group-headers", options.request_header.group_headers,
                "Headers in which a proxy names the user's groups.");
  table.Strings("requestheader-extra-headers-prefix", options.request_header.extra_header_prefixes,
                "What headers with further attributes of the user begin with.");
}

void AddAuthorization(PFlags& table, SchedulerFlags& flags) {
  service::AuthorizationOptions& options = flags.authorization;
  table.Section("Authorization flags");
  table.String("authorization-kubeconfig", options.kubeconfig,
               "How to reach the API server for access reviews; without it everything is forbidden but what "
               "needs no authorization.");
  table.Strings("authorization-always-allow-paths", options.always_allow_paths,
                "Paths that need no authorization; a * at the end stands for anything.");
  table.Duration("authorization-webhook-cache-authorized-ttl", options.authorized_ttl,
                 "How long a permission counts.");
  table.Duration("authorization-webhook-cache-unauthorized-ttl", options.unauthorized_ttl,
                 "How long a refusal counts.");
}

void AddDeprecated(PFlags& table, SchedulerFlags& flags) {
  table.Section("Deprecated flags (all but the last have no effect beside --config; they are fields there)");
  table.String("kubeconfig", flags.client.kubeconfig,
               "How to reach the API server; without it the pod's own service account. Also used beside a "
               "--config that names none.");
  table.String(
      "kube-api-content-type", flags.client.content_type,
      "In what pods and nodes are read: application/vnd.kubernetes.protobuf, or JSON for anything else.");
  table.Float(
      "kube-api-qps", flags.client.qps,
      "Requests per second of each client. Not given: no limit, the API server's own fairness decides.");
  table.Int32("kube-api-burst", flags.client.burst, "How many requests may be sent at once beyond the rate.");
  table.Bool("profiling", flags.profiling, "Serves CPU profiles under /debug/pprof/.");
  table.Bool("contention-profiling", flags.contention_profiling,
             "Accepted; decisions take no locks that could be profiled.");
  table.Duration("pod-max-in-unschedulable-pods-duration", flags.max_in_unschedulable,
                 "A pod that has waited for an event so long is tried again without one.");
}

void AddLeaderElection(PFlags& table, SchedulerFlags& flags) {
  config::LeaderElection& election = flags.leader_election;
  table.Section("Leader election flags");
  table.Bool("leader-elect", election.leader_elect,
             "Schedules only while holding a lease, so that several replicas can stand by.");
  table.Duration("leader-elect-lease-duration", election.lease_duration,
                 "How long others wait after the last renewal that they saw before they take the lease.");
  table.Duration("leader-elect-renew-deadline", election.renew_deadline,
                 "How long the leader tries to renew before it gives up; shorter than the lease.");
  table.Duration("leader-elect-retry-period", election.retry_period,
                 "The time between two tries to take or renew the lease.");
  table.String("leader-elect-resource-lock", election.resource_lock, "The kind of lock: leases.");
  table.String("leader-elect-resource-name", election.resource_name, "The name of the lease.");
  table.String("leader-elect-resource-namespace", election.resource_namespace, "The namespace of the lease.");
}

void AddFeatureGates(PFlags& table, SchedulerFlags& flags) {
  table.Section("Feature gate flags");
  table.List("feature-gates", "Feature=true|false,...", flags.feature_gates,
             "Switches features on or off; gates and defaults are those of kube-scheduler v1.37.1. May be "
             "repeated.");
  table.Strings("emulated-version", flags.emulated_version,
                "The release whose features are there, 1.34 to 1.37. Accepted; 1.37 is what is followed.");
  table.Strings("min-compatibility-version", flags.min_compatibility_version,
                "The oldest release of other components to be compatible with. Accepted.");
}

void AddMetrics(PFlags& table, SchedulerFlags& flags) {
  MetricsFlags& metrics = flags.metrics;
  table.Section("Metrics flags");
  table.String("show-hidden-metrics-for-version", metrics.show_hidden_for_version,
               "Shows the metrics that were hidden after this release; only the one before this is of use.");
  table.Strings("disabled-metrics", metrics.disabled, "Names of metrics that are not to be kept.");
  table.StringMap("allow-metric-labels", "metric,label='v1,v2'", metrics.allowed_labels,
                  "The values that a label of a metric may have; others count as \"unexpected\".");
  table.String("allow-metric-labels-manifest", metrics.allowed_labels_manifest,
               "A file of such pairs, in YAML, in place of the flag above.");
}

Expected<void> CheckQuantity(const std::string& text, std::string& out) {
  BERTH_RETURN_IF_ERROR(api::Quantity::Parse(text));
  out = text;
  return {};
}

// "pattern=N,..."; the last mention counts.
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

void AddLogs(PFlags& table, SchedulerFlags& flags) {
  LogFlags& log = flags.log;
  const auto buffer = [&](std::string name, std::string& out) {
    table.Add({std::move(name), "quantity", "Accepted; lines are written at once.",
               [&out](const std::string& text) { return CheckQuantity(text, out); }, [&out] { return out; }});
  };
  table.Section("Logs flags");
  table.String("logging-format", log.format, "text or json.");
  table.Duration("log-flush-frequency", log.flush_frequency, "Accepted; lines are written at once.");
  table.Bool("log-text-split-stream", log.text_split_stream,
             "Accepted with the gate LoggingAlphaOptions; all lines go to standard error.");
  table.Bool("log-json-split-stream", log.json_split_stream,
             "Accepted with the gate LoggingAlphaOptions; all lines go to standard error.");
  buffer("log-text-info-buffer-size", log.text_buffer);
  buffer("log-json-info-buffer-size", log.json_buffer);
  table.Add({"v", "Level",
             "How much is told: 0 what operators need, 2 every binding, 4 and more for debugging.",
             [&log](const std::string& text) -> Expected<void> {
               BERTH_TRY(log.verbosity, ParseGoLevel(text));
               return {};
             },
             [&log] { return fmt::format("{}", log.verbosity); }});
  table.Shorthand('v');
  table.Add({"vmodule", "pattern=N,...", "Accepted; files are not told apart.",
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

void AddGlobal(PFlags& table, SchedulerFlags& flags) {
  table.Section("Global flags");
  table.Add(
      {"version", "version[=true]",
       "Prints the version of kube-scheduler that is followed, with =raw in detail; =v1.37.1-... is what "
       "is reported instead.",
       [&flags](const std::string& text) { return SetVersion(text, flags.version); },
       [&flags] { return ShownVersion(flags.version); }, "true"});
  table.Bool("help", flags.help, "Prints this.");
  table.Shorthand('h');
}

void AddOwn(PFlags& table, SchedulerFlags& flags) {
  OwnFlags& own = flags.own;
  table.Section("Berth's own flags");
  table.String("berth-http-address", own.http_address,
               "Where health and metrics are served over plain HTTP to everybody; port 0: not at all.");
  table.Bool("berth-adaptive-sampling", own.adaptive_sampling,
             "With percentageOfNodesToScore unset or 0, looks at the shrinking part of the nodes that "
             "kube-scheduler would look at; without this at all of them.");
  table.Int("berth-seed", own.seed,
            "Seed of random choices among equally good nodes; 0: a new one each time.");
  table.Size("berth-record-buffer-size", own.record_buffer_bytes,
             "Size limit of the buffer of past scheduling attempts, from which explanations are made.");
  table.Size("berth-equivalence-cache-size", own.equivalence_cache_bytes,
             "Size limit of the cache of filter and score results of identical pods. 0 disables it. The cache "
             "does not change decisions.");
  // Names of release 0.1, accepted for one more release.
  table.HiddenMebibytes("berth-record-memory", own.record_buffer_bytes);
  table.HiddenMebibytes("berth-class-memory", own.equivalence_cache_bytes);
  table.List(
      "berth-plugin", "file", own.plugins,
      "A shared object with plugins, which profiles enable by their names; may be repeated. It is tried out "
      "in a process of its own first. Restart the scheduler to load another one.");
  table.String(
      "berth-metric-sources", own.metric_sources,
      "A file that describes Prometheus servers for the plugins that look at measurements: addresses, "
      "credentials, which labels name a node. Without it their addresses are asked as they are.");
  table.String(
      "berth-otlp-endpoint", own.otlp_endpoint,
      "URL of an OpenTelemetry collector, e.g. http://collector:4318: traces of scheduling attempts are "
      "sent there by OTLP over HTTP (JSON). Empty: none.");
  table.String("berth-otlp-headers-file", own.otlp_headers_file,
               "A file of headers, Name: value in each line, that go with them, e.g. credentials.");
  table.Float("berth-trace-ratio", own.trace_ratio, "The part of the attempts that is traced, from 0 to 1.");
  table.Int(
      "berth-extender-circuit-failures", own.extender_failures,
      "After so many failures in a row an extender is left alone for a while: what it is asked fails at "
      "once. 0: every question is asked, as kube-scheduler does.");
  table.Int("berth-extender-circuit-pause", own.extender_pause_seconds,
            "For how many seconds an extender is left alone then.");
  table.Int("berth-watch-idle-timeout", own.watch_idle_seconds,
            "Seconds after which a watch that says nothing is opened anew.");
  table.Bool("berth-shadow", own.shadow.on,
             "Watches beside the scheduler that works, decides about the same pods, writes nothing to the "
             "cluster, takes no lease, and reports where the two agree: /debug/berth/shadow, metrics "
             "berth_shadow_*, and the log at the end.");
  table.String("berth-shadow-report", own.shadow.report,
               "With --berth-shadow: where the report is written as JSON at the end.");
  table.Duration("berth-shadow-window", own.shadow.window,
                 "With --berth-shadow: how far back the other scheduler's view of the cluster may have been, "
                 "where that explains a difference.");
  table.Int("berth-shadow-keep", own.shadow.keep,
            "With --berth-shadow: how many of the last disagreements are kept for the report.");
}

void AddOld(PFlags& table, SchedulerFlags& flags) {
  OldFlags& old = flags.old;
  const auto ignored = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) table.String(name, old.ignored, "Has no effect.");
  };
  const auto ignored_switch = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      table.Bool(name, old.ignored_switch, "Has no effect: logs go to standard error.");
  };
  table.Section("Flags of older releases, for manifests that carry them still");
  table.Int("port", old.port, "The port of --berth-http-address, unless that is given; 0: no plain HTTP.");
  table.String("address", old.address, "The address that belongs to --port.");
  table.String("policy-config-file", old.policy_config_file,
               "A Policy file: what --config takes, too. Has no effect beside --config.");
  table.String("policy-configmap", old.policy_configmap,
               "The same from a ConfigMap, its key policy.cfg; read once. Has no effect beside --config.");
  table.String("policy-configmap-namespace", old.policy_configmap_namespace,
               "The namespace of --policy-configmap.");
  table.Bool("use-legacy-policy-config", old.use_legacy_policy_config, "The Policy file wins over --config.");
  table.String("algorithm-provider", old.algorithm_provider,
               "DefaultProvider or ClusterAutoscalerProvider: the latter fills nodes up.");
  table.String("scheduler-name", old.scheduler_name, "The name of the profile, where no file gives one.");
  table.Int("hard-pod-affinity-symmetric-weight", old.hard_pod_affinity_weight,
            "InterPodAffinityArgs.hardPodAffinityWeight, where no file gives it.");
  table.String("lock-object-name", old.lock_object_name, "--leader-elect-resource-name.");
  table.String("lock-object-namespace", old.lock_object_namespace, "--leader-elect-resource-namespace.");
  ignored({"log-dir", "log-file", "log-file-max-size", "log-backtrace-at", "stderrthreshold"});
  ignored_switch({"logtostderr", "alsologtostderr", "add-dir-header", "skip-headers", "skip-log-headers",
                  "one-output", "experimental-logging-sanitization"});
}

}  // namespace

PFlags TableOf(SchedulerFlags& flags) {
  PFlags table;
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

std::string ReportedVersion(const SchedulerFlags& flags) {
  return flags.version.reported.empty() ? std::string(kVersion) : flags.version.reported;
}

}  // namespace berth::process
