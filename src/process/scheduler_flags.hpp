// The flags of `berth scheduler`: those of kube-scheduler v1.37.1 with its names, types, defaults and groups,
// Berth's own, and those of older releases that manifests may still contain.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "command_line/flag_set.hpp"
#include "config/scheduler_config.hpp"
#include "service/serving_options.hpp"

namespace berth::process {

struct LogFlags {
  std::string format = "text";
  Duration flush_frequency = std::chrono::seconds(5);
  bool text_split_stream = false;
  bool json_split_stream = false;
  std::string text_buffer = "0";
  std::string json_buffer = "0";
  std::int64_t verbosity = 0;
  std::vector<std::string> vmodule;
};

struct MetricsFlags {
  std::string show_hidden_for_version;
  std::vector<std::string> disabled;
  std::map<std::string, std::string> allowed_labels;  // "metric,label": "v1,v2"
  std::string allowed_labels_manifest;
};

// Flags removed between 1.17 and 1.29. OldFlagNotes describes the effect of each.
struct OldFlags {
  std::int64_t port = 0;
  std::string address = "0.0.0.0";
  std::string policy_config_file;
  std::string policy_configmap;
  std::string policy_configmap_namespace = "kube-system";
  bool use_legacy_policy_config = false;
  std::string algorithm_provider;
  std::string scheduler_name = "default-scheduler";
  std::int64_t hard_pod_affinity_weight = 1;
  std::string lock_object_name = "kube-scheduler";
  std::string lock_object_namespace = "kube-system";
  std::string ignored;  // values of flags without effect
  bool ignored_switch = false;
};

struct ShadowFlags {
  bool on = false;
  std::string report;  // path of the report file; empty: none
  Duration window = std::chrono::seconds(10);
  std::int64_t keep = 256;
};

struct OwnFlags {
  std::string http_address = "127.0.0.1:10251";
  bool http_metrics = false;
  bool ui = false;
  bool api_retry = false;
  bool config_reload = false;
  bool api_reload = false;
  std::int64_t reload_limit = 100;  // percent of decisions
  std::int64_t seed = 0;
  std::uint64_t record_buffer_bytes = 64u << 20;
  std::uint64_t equivalence_cache_bytes = 64u << 20;
  bool use_kubeconfig_variable = false;
  bool allow_missing_resources = false;
  std::uint64_t extender_max_reply_bytes = 64u << 20;
  std::int64_t extender_failures = 0;  // consecutive failures that open an extender's circuit; 0: never
  Duration extender_pause = std::chrono::seconds(10);
  Duration watch_idle_timeout = std::chrono::seconds(90);
  bool adaptive_sampling = false;
  std::string recording_dir;  // empty: nothing is recorded
  std::uint64_t recording_limit_bytes = 1u << 30;
  std::string metric_sources;
  Duration measurement_wait = std::chrono::seconds(5);
  std::string class_label;
  std::int64_t max_classes = 20;
  std::vector<std::string> plugins;  // shared objects
  std::string otlp_endpoint;
  std::string otlp_headers_file;
  double trace_ratio = 1;
  double scheduled_event_ratio = 1;
  ShadowFlags shadow;
};

struct VersionFlag {
  enum class Wanted : std::uint8_t { kNothing, kShort, kRaw };
  Wanted wanted = Wanted::kNothing;  // what to print
  std::string reported;              // --version=v1.37.1-mine; empty: the built-in version
};

struct SchedulerFlags {
  std::string config;
  std::string write_config_to;
  std::string master;
  service::SecureServingOptions serving;
  std::int64_t http2_max_streams = 0;
  bool disable_http2 = false;
  service::AuthenticationOptions authentication;
  service::AuthorizationOptions authorization;
  config::ClientConnection client;  // deprecated by the configuration file, like the next three
  bool profiling = true;
  bool contention_profiling = true;
  Duration max_in_unschedulable = std::chrono::minutes(5);
  config::LeaderElection leader_election;
  std::vector<std::string> feature_gates;
  std::vector<std::string> emulated_version;
  std::vector<std::string> min_compatibility_version;
  MetricsFlags metrics;
  LogFlags log;
  VersionFlag version;
  bool help = false;
  OldFlags old;
  OwnFlags own;
};

// The flag table. `flags` must outlive it.
command_line::FlagSet TableOf(SchedulerFlags& flags);

// kube-scheduler's checks of flag values that need no connection; all problems in one error. The logging
// flags are checked first, because other messages use the requested format.
Expected<void> ValidateLogging(const SchedulerFlags& flags, const config::FeatureGates& gates);
Expected<void> CheckVersions(const SchedulerFlags& flags);
// kube-scheduler's error for a non-empty argument that is not a flag.
Expected<void> CheckNoArguments(const command_line::FlagSet& table);
Expected<void> Validate(const SchedulerFlags& flags, const config::FeatureGates& gates);

// Lines for the log: given flags without effect, and the effect of flags of older releases.
std::vector<std::string> NotesOn(const SchedulerFlags& flags, const command_line::FlagSet& table);

// The reported version, for example "v1.37.1"; --version=v1.37.1-mine replaces it.
std::string ReportedVersion(const SchedulerFlags& flags);

}  // namespace berth::process
