#include "config/scheduler_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/go_duration.hpp"
#include "base/nearest.hpp"

namespace berth::config {
namespace {

constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
constexpr std::string_view kKind = "KubeSchedulerConfiguration";

Expected<void> CheckTypeMeta(const Value& root, std::string_view text);
void ReadConfig(const Value& root, SchedulerConfig& config, Problems& problems);
void ReadProfile(const Value& value, const std::string& path, Profile& profile, Problems& problems);
std::vector<std::string> Validate(const SchedulerConfig& config);

// The plugins of v1.37.1, in order, with their weights.
PluginSet DefaultMultiPoint(const FeatureGates& gates) {
  PluginSet set{{{"SchedulingGates", 0},
                 {"PrioritySort", 0},
                 {"NodeName", 0},
                 {"NodeUnschedulable", 0},
                 {"TaintToleration", 3},
                 {"NodeAffinity", 2},
                 {"NodePorts", 0},
                 {"NodeResourcesFit", 1},
                 {"VolumeRestrictions", 0},
                 {"NodeVolumeLimits", 0},
                 {"VolumeBinding", 0},
                 {"VolumeZone", 0},
                 {"PodTopologySpread", 2},
                 {"InterPodAffinity", 2},
                 {"DynamicResources", 2},
                 {"DefaultPreemption", 0},
                 {"NodeResourcesBalancedAllocation", 1},
                 {"ImageLocality", 1},
                 {"DefaultBinder", 0},
                 {"NodeDeclaredFeatures", 0}},
                {}};
  if (gates.Enabled("GenericWorkload")) set.enabled.push_back({"GangScheduling", 0});
  return set;
}

// The user's set laid over the defaults: what stays keeps its place, what is named again takes the new weight
// there, the rest follows in the given order.
PluginSet Merge(const PluginSet& defaults, const PluginSet& custom) {
  PluginSet merged;
  merged.disabled = custom.disabled;
  std::set<std::string> replaced;
  if (!custom.DisablesAll()) {
    for (const PluginRef& plugin : defaults.enabled) {
      const auto again = std::ranges::find(custom.enabled, plugin.name, &PluginRef::name);
      if (again != custom.enabled.end()) {
        merged.enabled.push_back(*again);
        replaced.insert(plugin.name);
      } else if (!custom.Disables(plugin.name)) {
        merged.enabled.push_back(plugin);
      }
    }
  }
  for (const PluginRef& plugin : custom.enabled) {
    if (!replaced.contains(plugin.name)) merged.enabled.push_back(plugin);
  }
  return merged;
}

Expected<void> CheckTypeMeta(const Value& root, std::string_view text) {
  const auto field = [&](std::string_view name) -> std::string {
    const Value* value = root.Find(name);
    return value != nullptr && value->kind == Value::Kind::kString ? value->text : "";
  };
  if (root.kind != Value::Kind::kMap || field("kind").empty())
    return Invalid(fmt::format("Object 'Kind' is missing in '{}'", text));
  if (field("apiVersion").empty())
    return Invalid(fmt::format("Object 'apiVersion' is missing in '{}'", text));
  if (field("kind") != kKind || field("apiVersion") != kApiVersion) {
    return Invalid(
        fmt::format("no kind \"{}\" is registered for version \"{}\"; expected kind \"{}\" of \"{}\"",
                    field("kind"), field("apiVersion"), kKind, kApiVersion));
  }
  return {};
}

void ReadPluginSet(const Value& value, const std::string& path, PluginSet& set, Problems& problems) {
  StructReader reader(value, "PluginSet", path, problems);
  reader.Each("enabled", [&](const Value& item, const std::string& place) {
    PluginRef& plugin = set.enabled.emplace_back();
    StructReader fields(item, "Plugin", place, problems);
    fields.Read("name", plugin.name);
    fields.Read("weight", plugin.weight, "int32");
    fields.Finish();
  });
  reader.Each("disabled", [&](const Value& item, const std::string& place) {
    std::int64_t ignored = 0;
    StructReader fields(item, "Plugin", place, problems);
    fields.Read("name", set.disabled.emplace_back());
    fields.Read("weight", ignored, "int32");
    fields.Finish();
  });
  reader.Finish();
}

void ReadProfile(const Value& value, const std::string& path, Profile& profile, Problems& problems) {
  StructReader reader(value, "KubeSchedulerProfile", path, problems);
  reader.Read("schedulerName", profile.scheduler_name);
  if (reader.Has("percentageOfNodesToScore")) {
    reader.Read("percentageOfNodesToScore", profile.percentage_of_nodes_to_score.emplace(), "int32");
  } else {
    reader.Take("percentageOfNodesToScore");
  }
  reader.With("plugins", [&](const Value& plugins, const std::string& place) {
    StructReader points(plugins, "Plugins", place, problems);
    for (std::size_t i = 0; i < kPointCount; ++i) {
      points.With(PointName(static_cast<Point>(i)), [&](const Value& set, const std::string& set_path) {
        ReadPluginSet(set, set_path, profile.plugins[i], problems);
      });
    }
    points.Finish();
  });
  reader.Each("pluginConfig", [&](const Value& item, const std::string& place) {
    StructReader fields(item, "PluginConfig", place, problems);
    std::string name;
    fields.Read("name", name);
    const Value* args = fields.Take("args");
    fields.Finish();
    if (profile.args_paths.contains(name)) {
      problems.Other(fmt::format("{}: Duplicate value: \"{}\"", place, name));
      return;
    }
    profile.args_paths[name] = place + ".args";
    if (args != nullptr) profile.plugin_args[name] = *args;
  });
  reader.Finish();
}

void ReadClientConnection(const Value& value, const std::string& path, ClientConnection& connection,
                          Problems& problems) {
  StructReader reader(value, "ClientConnectionConfiguration", path, problems);
  reader.Read("kubeconfig", connection.kubeconfig);
  reader.Read("acceptContentTypes", connection.accept_content_types);
  reader.Read("contentType", connection.content_type);
  reader.Read("qps", connection.qps);
  reader.Read("burst", connection.burst, "int32");
  reader.Finish();
  connection.limits_given = reader.Has("qps") || reader.Has("burst");
}

void ReadDuration(StructReader& reader, const std::string& path, std::string_view name,
                  std::chrono::nanoseconds& out, Problems& problems) {
  std::string text;
  reader.Read(name, text);
  if (text.empty()) return;
  const auto duration = ParseGoDuration(text);
  if (!duration)
    return problems.Other(fmt::format(
        "time: invalid duration \"{}\"; expected {}.{} like \"15s\" or \"1m30s\"", text, path, name));
  out = *duration;
}

void ReadLeaderElection(const Value& value, const std::string& path, LeaderElection& election,
                        Problems& problems) {
  StructReader reader(value, "LeaderElectionConfiguration", path, problems);
  reader.Read("leaderElect", election.leader_elect);
  ReadDuration(reader, path, "leaseDuration", election.lease_duration, problems);
  ReadDuration(reader, path, "renewDeadline", election.renew_deadline, problems);
  ReadDuration(reader, path, "retryPeriod", election.retry_period, problems);
  reader.Read("resourceLock", election.resource_lock);
  reader.Read("resourceName", election.resource_name);
  reader.Read("resourceNamespace", election.resource_namespace);
  reader.Finish();
}

void ReadConfig(const Value& root, SchedulerConfig& config, Problems& problems) {
  StructReader reader(root, std::string(kKind), "", problems);
  std::string type_meta;
  std::int64_t initial = config.pod_initial_backoff.count();
  std::int64_t max = config.pod_max_backoff.count();
  reader.Read("kind", type_meta);
  reader.Read("apiVersion", type_meta);
  reader.Read("parallelism", config.parallelism, "int32");
  reader.With("leaderElection", [&](const Value& v, const std::string& p) {
    ReadLeaderElection(v, p, config.leader_election, problems);
  });
  reader.With("clientConnection", [&](const Value& v, const std::string& p) {
    ReadClientConnection(v, p, config.client_connection, problems);
  });
  reader.Read("enableProfiling", config.enable_profiling);
  reader.Read("enableContentionProfiling", config.enable_contention_profiling);
  reader.Read("delayCacheUntilActive", config.delay_cache_until_active);
  reader.Read("percentageOfNodesToScore", config.percentage_of_nodes_to_score, "int32");
  reader.Read("podInitialBackoffSeconds", initial);
  reader.Read("podMaxBackoffSeconds", max);
  reader.Each("profiles", [&](const Value& v, const std::string& p) {
    ReadProfile(v, p, config.profiles.emplace_back(), problems);
  });
  reader.Each("extenders", [&](const Value&, const std::string& path) {
    problems.Other(path + ": extenders are not supported by this version");
  });
  reader.Finish();
  config.pod_initial_backoff = std::chrono::seconds(initial);
  config.pod_max_backoff = std::chrono::seconds(max);
}

// As the original's internal type prints itself.
std::string ToJson(const PluginSet& set) {
  const auto list = [](const auto& items, auto&& entry) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ",") + entry(item);
    return text.empty() ? std::string("null") : "[" + text + "]";
  };
  return fmt::format(
      "{{\"Enabled\":{},\"Disabled\":{}}}",
      list(set.enabled,
           [](const PluginRef& plugin) {
             return fmt::format("{{\"Name\":\"{}\",\"Weight\":{}}}", plugin.name, plugin.weight);
           }),
      list(set.disabled,
           [](const std::string& name) { return fmt::format("{{\"Name\":\"{}\",\"Weight\":0}}", name); }));
}

// Pods of all profiles wait in one queue.
void CheckCommonQueueSort(const std::vector<Profile>& profiles, std::vector<std::string>& errors) {
  if (profiles.empty()) return;
  const PluginSet& first = profiles.front().at(Point::kQueueSort);
  if (first.enabled.size() > 1) {
    errors.push_back(fmt::format(
        "profiles[0].plugins.queueSort.Enabled: Invalid value: {}: only one queue sort plugin can be "
        "enabled",
        first.enabled.size()));
  }
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const PluginSet& set = profiles[i].at(Point::kQueueSort);
    if (set == first) continue;
    errors.push_back(
        fmt::format("profiles[{}].plugins.queueSort: Invalid value: {}: must be the same for all profiles", i,
                    ToJson(set)));
  }
}

std::vector<std::string> Validate(const SchedulerConfig& config) {
  std::vector<std::string> errors;
  const auto invalid = [&](std::string_view path, std::int64_t value, std::string_view detail) {
    errors.push_back(fmt::format("{}: Invalid value: {}: {}", path, value, detail));
  };
  const auto percentage = [&](std::string_view path, std::int64_t value) {
    if (value < 0 || value > 100) invalid(path, value, "not in valid range [0-100]");
  };
  if (config.parallelism <= 0)
    invalid("parallelism", config.parallelism, "should be an integer value greater than zero");
  std::set<std::string> names;
  for (std::size_t i = 0; i < config.profiles.size(); ++i) {
    const Profile& profile = config.profiles[i];
    const std::string path = fmt::format("profiles[{}]", i);
    if (profile.scheduler_name.empty()) errors.push_back(path + ".schedulerName: Required value");
    if (!profile.scheduler_name.empty() && !names.insert(profile.scheduler_name).second) {
      errors.push_back(path + ".schedulerName: Duplicate value: {}");
    }
    if (profile.percentage_of_nodes_to_score)
      percentage(path + ".percentageOfNodesToScore", *profile.percentage_of_nodes_to_score);
  }
  CheckCommonQueueSort(config.profiles, errors);
  percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score);
  if (config.pod_initial_backoff.count() <= 0) {
    invalid("podInitialBackoffSeconds", config.pod_initial_backoff.count(), "must be greater than 0");
  }
  if (config.pod_max_backoff < config.pod_initial_backoff) {
    invalid("podMaxBackoffSeconds", config.pod_max_backoff.count(),
            "must be greater than or equal to PodInitialBackoffSeconds");
  }
  return errors;
}

void ApplyProfileDefaults(SchedulerConfig& config, const Value& root) {
  if (config.profiles.empty()) config.profiles.emplace_back().scheduler_name = "default-scheduler";
  const Value* profiles = root.Find("profiles");
  const Value* name =
      profiles != nullptr && profiles->items.size() == 1 ? profiles->items[0].Find("schedulerName") : nullptr;
  const bool named = name != nullptr && name->kind != Value::Kind::kNull;
  if (config.profiles.size() == 1 && !named) config.profiles[0].scheduler_name = "default-scheduler";
  for (Profile& profile : config.profiles) {
    profile.at(Point::kMultiPoint) = Merge(DefaultMultiPoint(config.gates), profile.at(Point::kMultiPoint));
  }
}

}  // namespace

bool PluginSet::Disables(std::string_view plugin) const {
  return std::ranges::find(disabled, plugin) != disabled.end();
}

std::string_view PointName(Point point) {
  static constexpr std::array<std::string_view, kPointCount> kNames{
      "preEnqueue", "queueSort",         "preFilter",      "filter",
      "postFilter", "preScore",          "score",          "reserve",
      "permit",     "preBind",           "bind",           "postBind",
      "multiPoint", "placementGenerate", "placementScore", "podGroupPostFilter"};
  return kNames[static_cast<std::size_t>(point)];
}

SchedulerConfig DefaultSchedulerConfig(const FeatureGates& gates) {
  SchedulerConfig config;
  config.gates = gates;
  ApplyProfileDefaults(config, Value{});
  return config;
}

Expected<SchedulerConfig> ParseSchedulerConfig(std::string_view text, const FeatureGates& gates) {
  auto root = ParseValue(text);
  if (!root) {
    const bool duplicate = root.error().message.find("already set in map") != std::string::npos;
    return Invalid((duplicate ? "strict decoding error: " : "") + root.error().message);
  }
  BERTH_CHECKED(CheckTypeMeta(*root, text));
  SchedulerConfig config;
  config.gates = gates;
  Problems problems;
  ReadConfig(*root, config, problems);
  if (!problems.empty()) return Invalid(problems.Text());
  ApplyProfileDefaults(config, *root);
  const std::vector<std::string> errors = Validate(config);
  if (errors.size() == 1) return Invalid(errors.front());
  if (!errors.empty()) return Invalid(fmt::format("[{}]", fmt::join(errors, ", ")));
  return config;
}

}  // namespace berth::config
