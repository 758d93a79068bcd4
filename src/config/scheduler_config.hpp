// The effective configuration, for files of all supported versions: read, converted to the form of
// kubescheduler.config.k8s.io/v1, defaulted and validated as in kube-scheduler v1.37.1. The stages:
//
//   text -> Value (value.hpp) -> the version's reader (versions/) -> this form -> defaults -> validation
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/args_codec.hpp"
#include "config/extender_config.hpp"
#include "config/feature_gates.hpp"
#include "config/value.hpp"

namespace berth::config {

struct PluginRef {
  std::string name;
  std::int64_t weight = 0;  // 0: not given
  friend bool operator==(const PluginRef&, const PluginRef&) = default;
};
struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<std::string> disabled;  // "*" for all
  bool Enables(std::string_view plugin) const;
  bool Disables(std::string_view plugin) const;
  bool DisablesAll() const { return Disables("*"); }
  friend bool operator==(const PluginSet&, const PluginSet&) = default;
};

// The extension points of the configuration file, in its order.
enum class Point : std::uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
  kMultiPoint,
  kPlacementGenerate,
  kPlacementScore,
  kPodGroupPostFilter,
};
inline constexpr std::size_t kPointCount = 16;
std::string_view PointName(Point point);  // "preEnqueue", ... as fields of the file

struct Profile {
  std::string scheduler_name;
  std::optional<std::int64_t> percentage_of_nodes_to_score;
  std::array<PluginSet, kPointCount> plugins;
  // Complete arguments with defaults, for plugins with a codec that are in the file or enabled. Arguments of
  // other plugins are unchanged.
  std::map<std::string, Value, std::less<>> plugin_args;
  std::map<std::string, std::string, std::less<>>
      args_paths;  // "profiles[0].pluginConfig[1].args", for errors

  PluginSet& at(Point point) { return plugins[static_cast<std::size_t>(point)]; }
  const PluginSet& at(Point point) const { return plugins[static_cast<std::size_t>(point)]; }
  // At one point or at multiPoint.
  bool Enables(std::string_view plugin) const;
};

struct LeaderElection {
  bool leader_elect = true;
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

struct ClientConnection {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  // Requests per second of each client. If the file does not set it (see `limits_given`) Berth has no limit
  // and relies on the API server's priority and fairness.
  double qps = 50;
  std::int64_t burst = 100;
  bool limits_given = false;
};

struct SchedulerConfig {
  std::int64_t parallelism = 16;
  std::int64_t percentage_of_nodes_to_score = 0;  // 0: all nodes (kube-scheduler samples adaptively)
  std::chrono::seconds pod_initial_backoff{1};
  std::chrono::seconds pod_max_backoff{10};
  LeaderElection leader_election;
  ClientConnection client_connection;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  bool delay_cache_until_active = false;  // a standby does not watch the cluster
  FeatureGates gates;                     // --feature-gates
  std::vector<Profile> profiles;          // at least one; multiPoint merged with the defaults
  std::vector<ExtenderConfig> extenders;  // in the order of the file
  // The version of the file: "kubescheduler.config.k8s.io/v1beta2", "Policy"; empty without a file.
  std::string version;
  // settings of an old version that now have a different meaning: for the log
  std::vector<std::string> notes;
};

struct ParseOptions {
  FeatureGates gates;
  const ArgsCodecs* codecs = nullptr;  // null: arguments are neither read nor changed
  // For a v1alpha1 file whose algorithmSource names a policy file. If empty, such a file is rejected.
  std::function<Expected<std::string>(const std::string& path)> read_file;
  // Applies flags that override the file's fields before validation. May be empty.
  std::function<void(LeaderElection&)> adjust_election{};
};

// The configuration without a file: one profile, default-scheduler, all default plugins. Feature gates
// determine the default plugins.
SchedulerConfig DefaultSchedulerConfig(const FeatureGates& gates = {}, const ArgsCodecs* codecs = nullptr);

// Reads a KubeSchedulerConfiguration of any version, or a Policy. Errors have kube-scheduler's texts,
// followed by "; " and a hint if there is one. All validation errors are reported together.
Expected<SchedulerConfig> ParseSchedulerConfig(std::string_view text, const ParseOptions& options);
Expected<SchedulerConfig> ParseSchedulerConfig(std::string_view text, const FeatureGates& gates = {});

}  // namespace berth::config
