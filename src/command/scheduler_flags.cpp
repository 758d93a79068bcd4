#include "command/scheduler_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "api/quantity.hpp"
#include "api/selectors.hpp"

namespace berth::command {
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
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  if (error) return Invalid(fmt::format("failed to parse IP: \"{}\"", text));
  out = text;
  return {};
}

void AddServing(PFlags& table, SchedulerFlags& flags) {
  server::SecureServingOptions& serving = flags.serving;
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
  table.List(
      "tls-sni-cert-key", "namedCertKey", serving.sni_cert_keys,
      "cert.pem,key.pem[:name,*.domain]: another certificate, for clients that ask for these names. May "
      "be repeated.");
  table.Bool("permit-port-sharing", serving.permit_port_sharing,
             "Several processes may listen on the same address and port (SO_REUSEPORT).");
  table.Bool("permit-address-sharing", serving.permit_address_sharing,
             "Listens although connections of a former process linger (SO_REUSEADDR).");
  table.Int("http2-max-streams-per-connection", flags.http2_max_streams, "Accepted; HTTP/1.1 is served.");
  table.Bool("disable-http2-serving", flags.disable_http2, "Accepted; HTTP/1.1 is served.");
}

void AddAuthentication(PFlags& table, SchedulerFlags& flags) {
  server::AuthenticationOptions& options = flags.authentication;
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
  server::AuthorizationOptions& options = flags.authorization;
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
  table.String("kube-api-content-type", flags.client.content_type,
               "Accepted; JSON is spoken with the API server.");
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

Expected<void> CheckKeyValue(const std::string& text) {
  if (!text.empty() && text.find('=') == text.npos)
    return Invalid(fmt::format("{} must be formatted as key=value", text));
  return {};
}

void AddMetrics(PFlags& table, SchedulerFlags& flags) {
  MetricsFlags& metrics = flags.metrics;
  table.Section("Metrics flags");
  table.String("show-hidden-metrics-for-version", metrics.show_hidden_for_version,
               "Shows the metrics that were hidden after this release; only the one before this is of use.");
  table.Strings("disabled-metrics", metrics.disabled, "Names of metrics that are not to be kept.");
  table.Add({"allow-metric-labels", "metric,label='v1,v2'",
             "The values that a label of a metric may have; others count as \"unexpected\".",
             [&metrics](const std::string& text) -> Expected<void> {
               BERTH_CHECKED(CheckKeyValue(text));
               metrics.allowed_labels.push_back(text);
               return {};
             },
             [&metrics] { return fmt::format("{}", fmt::join(metrics.allowed_labels, ",")); }});
  table.String("allow-metric-labels-manifest", metrics.allowed_labels_manifest,
               "A file with such a list under allowListMapping; the flag above wins.");
}

Expected<void> CheckQuantity(const std::string& text, std::string& out) {
  BERTH_CHECKED(api::Quantity::Parse(text));
  out = text;
  return {};
}

Expected<void> AddModules(const std::string& text, std::vector<std::string>& out) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const auto equals = one.find('=');
    if (equals == one.npos || equals == 0)
      return Invalid(fmt::format("\"{}\" does not have the pattern=N format", one));
    out.push_back(one);
    at = end + 1;
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
               std::uint32_t level = 0;
               const char* end = text.data() + text.size();
               const auto [rest, error] = std::from_chars(text.data(), end, level);
               if (error != std::errc{} || rest != end)
                 return Invalid(fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", text));
               log.verbosity = level;
               return {};
             },
             [&log] { return fmt::format("{}", log.verbosity); }});
  table.Shorthand('v');
  table.Add({"vmodule", "pattern=N,...", "Accepted; files are not told apart.",
             [&log](const std::string& text) { return AddModules(text, log.vmodule); },
             [&log] { return fmt::format("{}", fmt::join(log.vmodule, ",")); }});
}

bool IsBool(std::string_view text) {
  static constexpr std::string_view kKnown[] = {"1", "t", "T", "TRUE",  "true",  "True",
                                                "0", "f", "F", "FALSE", "false", "False"};
  return std::ranges::find(kKnown, text) != std::end(kKnown);
}

Expected<void> SetVersion(const std::string& text, std::string& out) {
  if (text.starts_with("v")) {
    const std::string_view number = std::string_view(text).substr(0, kVersion.size());
    const char next = text.size() > kVersion.size() ? text[kVersion.size()] : '-';
    if (number != kVersion || (next != '-' && next != '+'))
      return Invalid(fmt::format("version \"{}\" must match major/minor/patch of default version \"{}\"",
                                 text, kVersion));
    out = text;
  } else if (text == "raw") {
    out = text;
  } else if (IsBool(text)) {
    out = text == "1" || text.starts_with('t') || text.starts_with('T') ? "true" : "false";
  } else {
    return Invalid(fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text));
  }
  return {};
}

void AddGlobal(PFlags& table, SchedulerFlags& flags) {
  table.Section("Global flags");
  table.Add(
      {"version", "version[=true]",
       "Prints the version of kube-scheduler that is followed, with =raw in detail; =v1.37.1-... is what "
       "is reported instead.",
       [&flags](const std::string& text) { return SetVersion(text, flags.version); },
       [&flags] { return flags.version; }, "true"});
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
  table.Int("berth-record-memory", own.record_mib,
            "How many MiB of past attempts are kept for explanations.");
  table.String(
      "berth-otlp-endpoint", own.otlp_endpoint,
      "URL of an OpenTelemetry collector, e.g. http://collector:4318: traces of scheduling attempts are "
      "sent there by OTLP over HTTP (JSON). Empty: none.");
  table.String("berth-otlp-headers-file", own.otlp_headers_file,
               "A file of headers, Name: value in each line, that go with them, e.g. credentials.");
  table.Float("berth-trace-ratio", own.trace_ratio, "The part of the attempts that is traced, from 0 to 1.");
  table.Int("berth-watch-idle-timeout", own.watch_idle_seconds,
            "Seconds after which a watch that says nothing is opened anew.");
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
               "An error that says what to do: mount the ConfigMap and name its file.");
  table.String("policy-configmap-namespace", old.policy_configmap_namespace,
               "Belongs to --policy-configmap.");
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

// "1.36" of "1.36" or "kube=1.36", where it is for us.
Expected<int> MinorOf(const std::string& text) {
  std::string_view version = text;
  if (const auto equals = version.find('='); equals != version.npos) {
    if (version.substr(0, equals) != "kube")
      return Invalid(fmt::format("component not registered: {}", version.substr(0, equals)));
    version.remove_prefix(equals + 1);
  }
  int minor = 0;
  const char* end = version.data() + version.size();
  if (!version.starts_with("1.") || std::from_chars(version.data() + 2, end, minor).ptr != end)
    return Invalid(fmt::format("illegal version string \"{}\"; expected 1.34 to 1.37", version));
  return minor;
}

Expected<void> CheckVersions(const SchedulerFlags& flags) {
  int emulated = 37;
  for (const std::string& text : flags.emulated_version) {
    BERTH_TRY(emulated, MinorOf(text));
  }
  int compatible = std::clamp(emulated - 1, 34, 36);
  for (const std::string& text : flags.min_compatibility_version) {
    BERTH_TRY(compatible, MinorOf(text));
  }
  std::vector<std::string> errors;
  if (emulated < 34 || emulated > 37)
    errors.push_back(fmt::format("emulation version 1.{} is not between [1.34, 1.37.0]", emulated));
  if (compatible < 34 || compatible > emulated)
    errors.push_back(fmt::format("minCompatibilityVersion version 1.{} is not between [1.34, 1.{}]",
                                 compatible, emulated));
  if (!errors.empty()) return Invalid(api::JoinErrors(errors));
  return {};
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

Expected<void> ValidateLogging(const SchedulerFlags& flags) {
  if (flags.log.format != "text" && flags.log.format != "json")
    return Invalid(fmt::format("format: Invalid value: \"{}\": Unsupported log format; expected text or json",
                               flags.log.format));
  return {};
}

Expected<void> Validate(const SchedulerFlags& flags) {
  BERTH_CHECKED(CheckVersions(flags));
  std::vector<std::string> errors;
  const auto& shown = flags.metrics.show_hidden_for_version;
  if (!shown.empty() && shown != "1.36")
    errors.push_back(
        fmt::format("metrics.showHiddenMetricsForVersion: Invalid value: \"{}\": must be omitted or "
                    "have the value '1.36'; only the previous minor version is allowed",
                    shown));
  if (flags.serving.port < 0 || flags.serving.port > 65535)
    errors.push_back(
        fmt::format("--secure-port {} must be between 1 and 65535, inclusive. It cannot be turned off with "
                    "0; 0 is accepted and means none",
                    flags.serving.port));
  if (flags.old.port < 0 || flags.old.port > 65535)
    errors.push_back(fmt::format("--port {} must be between 0 and 65535", flags.old.port));
  if (!(flags.own.trace_ratio >= 0 && flags.own.trace_ratio <= 1))
    errors.push_back(fmt::format("--berth-trace-ratio {} must be between 0 and 1", flags.own.trace_ratio));
  if (!flags.old.policy_configmap.empty() && flags.config.empty())
    errors.push_back(fmt::format(
        "--policy-configmap: a Policy is not read from the API server; mount ConfigMap {}/{} as a volume and "
        "name the file of its key policy.cfg with --policy-config-file",
        flags.old.policy_configmap_namespace, flags.old.policy_configmap));
  if (!errors.empty()) return Invalid(api::JoinErrors(errors));
  return {};
}

std::vector<std::string> NotesOn(const SchedulerFlags& flags, const PFlags& table) {
  std::vector<std::string> notes;
  const auto about = [&](std::initializer_list<const char*> names, std::string_view what) {
    for (const char* name : names) {
      if (table.Given(name)) notes.push_back(fmt::format("--{}: {}", name, what));
    }
  };
  about({"http2-max-streams-per-connection"}, "no effect, HTTP/1.1 is served");
  about({"kube-api-content-type"}, "no effect, JSON is spoken with the API server");
  about({"emulated-version"}, "no effect, Berth follows 1.37");
  about({"vmodule"}, "no effect, log levels are not kept by file; use -v");
  about({"log-flush-frequency", "log-text-info-buffer-size", "log-json-info-buffer-size"},
        "no effect, lines are written at once");
  about({"log-text-split-stream", "log-json-split-stream"}, "no effect, all lines go to standard error");
  about({"log-dir", "log-file", "log-file-max-size", "log-backtrace-at", "stderrthreshold", "logtostderr",
         "alsologtostderr", "add-dir-header", "skip-headers", "skip-log-headers", "one-output",
         "experimental-logging-sanitization"},
        "a flag of older releases without effect, logs go to standard error");
  about({"port", "address"},
        "a flag of older releases, taken for --berth-http-address: plain HTTP, health and metrics only");
  about({"lock-object-name"}, "a flag of older releases, taken for --leader-elect-resource-name");
  about({"lock-object-namespace"}, "a flag of older releases, taken for --leader-elect-resource-namespace");
  const bool file = !flags.config.empty();
  about(
      {"policy-config-file", "policy-configmap", "algorithm-provider", "scheduler-name",
       "hard-pod-affinity-symmetric-weight"},
      file && !flags.old.use_legacy_policy_config
          ? "a flag of older releases, without effect beside --config"
          : "a flag of older releases; the configuration file has a field for it (see berth config convert)");
  if (file) {
    about({"kube-api-qps", "kube-api-burst", "profiling", "contention-profiling"},
          "without effect beside --config, where it is a field");
  }
  return notes;
}

std::string ReportedVersion(const SchedulerFlags& flags) {
  return flags.version.starts_with('v') ? flags.version : std::string(kVersion);
}

}  // namespace berth::command
