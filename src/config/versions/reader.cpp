// The fields of KubeSchedulerConfiguration in each version, v1alpha1 to v1.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/invisible_characters.hpp"
#include "config/duration.hpp"
#include "config/versions/version.hpp"

namespace berth::config {
namespace {

class Reader {
 public:
  Reader(Version version, Document& document, Problems& problems)
      : version_(version), document_(document), config_(document.config), problems_(problems) {}

  void ReadRoot(const Value& root, StructReader& reader) {
    std::string type_meta;
    reader.Read("kind", type_meta);
    reader.Read("apiVersion", type_meta);
    ReadCommon(reader);
    ReadDebugging(root);
    if (Until(Version::kV1Beta2)) ReadAddresses(reader);
    if (Until(Version::kV1Alpha2)) {
      reader.Read("disablePreemption", document_.disable_preemption);
      ReadOptional(reader, "bindTimeoutSeconds", "int64", document_.bind_timeout_seconds);
    }
    if (version_ == Version::kV1Alpha1) {
      ReadOptional(reader, "hardPodAffinitySymmetricWeight", "int32", document_.hard_pod_affinity_weight);
      ReadProfileFields(reader, document_.profiles.emplace_back());
      return;
    }
    const std::string package = std::string(ShortName()) + ".";
    reader.Each(
        "profiles",
        [&](const Value& value, const std::string& path) {
          ProfileDocument& profile = document_.profiles.emplace_back();
          profile.path = path;
          StructReader fields(value, "KubeSchedulerProfile", path, problems_);
          ReadProfileFields(fields, profile);
          fields.Finish();
        },
        package + "KubeSchedulerProfile");
    const ExtenderForm form =
        version_ == Version::kV1Alpha2 ? ExtenderForm{"enableHttps", true, true} : ExtenderForm{};
    reader.Each(
        "extenders",
        [&](const Value& value, const std::string& path) {
          config_.extenders.push_back(ReadExtender(value, path, form, problems_));
        },
        version_ == Version::kV1Alpha2 ? "v1.Extender" : package + "Extender");
  }

 private:
  bool Until(Version last) const { return version_ <= last; }
  bool Since(Version first) const { return version_ >= first; }
  std::string ShortName() const { return ApiVersion(version_).substr(kGroup.size() + 1); }

  static void ReadOptional(StructReader& reader, std::string_view name, std::string_view go_type,
                           std::optional<std::int64_t>& out) {
    if (reader.Has(name)) {
      reader.Read(name, out.emplace(), go_type);
    } else {
      reader.Take(name);
    }
  }

  void ReadCommon(StructReader& reader) {
    std::int64_t initial = config_.pod_initial_backoff.count();
    std::int64_t max = config_.pod_max_backoff.count();
    if (Since(Version::kV1Beta1)) reader.Read("parallelism", config_.parallelism, "int32");
    reader.With(
        "leaderElection", [&](const Value& v, const std::string& p) { ReadLeaderElection(v, p); },
        "v1alpha1.LeaderElectionConfiguration");
    reader.With(
        "clientConnection", [&](const Value& v, const std::string& p) { ReadClientConnection(v, p); },
        "v1alpha1.ClientConnectionConfiguration");
    for (const auto* name : {"enableProfiling", "enableContentionProfiling"}) reader.Take(name);
    if (version_ == Version::kV1) reader.Read("delayCacheUntilActive", config_.delay_cache_until_active);
    reader.Read("percentageOfNodesToScore", config_.percentage_of_nodes_to_score, "int32");
    reader.Read("podInitialBackoffSeconds", initial);
    reader.Read("podMaxBackoffSeconds", max);
    config_.pod_initial_backoff = std::chrono::seconds(initial);
    config_.pod_max_backoff = std::chrono::seconds(max);
  }

  // A separate struct in Go, which is visible in error texts.
  void ReadDebugging(const Value& root) {
    StructReader reader(root, std::string(kKind) + ".DebuggingConfiguration", "", problems_);
    reader.Read("enableProfiling", config_.enable_profiling);
    config_.enable_contention_profiling = config_.enable_profiling;
    reader.Read("enableContentionProfiling", config_.enable_contention_profiling);
  }

  // The port without TLS was removed in 1.23.
  void ReadAddresses(StructReader& reader) {
    for (const auto* name : {"healthzBindAddress", "metricsBindAddress"}) {
      std::string address;
      reader.Read(name, address);
      if (!address.empty() && !address.ends_with(":0"))
        document_.Note(fmt::format(
            "{} \"{}\" has no effect: health and metrics are served over HTTPS only (--bind-address, "
            "--secure-port)",
            name, address));
    }
  }

  void ReadClientConnection(const Value& value, const std::string& path) {
    ClientConnection& connection = config_.client_connection;
    StructReader reader(value, "ClientConnectionConfiguration", path, problems_);
    reader.Read("kubeconfig", connection.kubeconfig);
    reader.Read("acceptContentTypes", connection.accept_content_types);
    reader.Read("contentType", connection.content_type);
    reader.Read("qps", connection.qps);
    reader.Read("burst", connection.burst, "int32");
    reader.Finish();
    connection.limits_given =
        (reader.Has("qps") && connection.qps != 0) || (reader.Has("burst") && connection.burst != 0);
  }

  void ReadLeaderElection(const Value& value, const std::string& path) {
    LeaderElection& election = config_.leader_election;
    StructReader reader(value, "LeaderElectionConfiguration", path, problems_);
    reader.Read("leaderElect", election.leader_elect);
    ReadDuration(reader, "leaseDuration", election.lease_duration, problems_);
    ReadDuration(reader, "renewDeadline", election.renew_deadline, problems_);
    ReadDuration(reader, "retryPeriod", election.retry_period, problems_);
    reader.Read("resourceLock", election.resource_lock);
    std::string name;
    std::string name_space;
    reader.Read("resourceName", name);
    reader.Read("resourceNamespace", name_space);
    if (version_ == Version::kV1Alpha1) {
      ReadLockObject(reader, "lockObjectName", "ResourceName", "LockObjectName", name);
      ReadLockObject(reader, "lockObjectNamespace", "ResourceNamespace", "LockObjectNamespace", name_space);
    }
    election.resource_name = name;
    election.resource_namespace = name_space;
    FinishOrNote(reader);
  }

  // v1alpha1 has two ways to name the lock; they must agree.
  void ReadLockObject(StructReader& reader, std::string_view field, std::string_view new_name,
                      std::string_view old_name, std::string& name) {
    std::string old;
    reader.Read(field, old);
    if (!name.empty() && !old.empty() && name != old)
      problems_.Other(fmt::format("{} and {} are both set and do not match, {}: {}, {}: {}", new_name,
                                  old_name, new_name, name, old_name, old),
                      1);
    if (name.empty()) name = old;
  }

  void ReadProfileFields(StructReader& reader, ProfileDocument& profile) {
    if (reader.Has("schedulerName")) {
      reader.Read("schedulerName", profile.scheduler_name.emplace());
    } else {
      reader.Take("schedulerName");
    }
    if (version_ == Version::kV1)
      ReadOptional(reader, "percentageOfNodesToScore", "int32", profile.percentage_of_nodes_to_score);
    reader.With(
        "plugins", [&](const Value& value, const std::string& path) { ReadPlugins(value, path, profile); },
        ShortName() + ".Plugins");
    reader.Each(
        "pluginConfig",
        [&](const Value& item, const std::string& path) {
          PluginConfigEntry& entry = profile.plugin_config.emplace_back();
          entry.path = path;
          StructReader fields(item, "PluginConfig", path, problems_);
          fields.Read("name", entry.name);
          if (const Value* args = fields.Take("args")) entry.args = *args;
          FinishOrNote(fields);
        },
        ShortName() + ".PluginConfig");
  }

  bool Has(Point point) const {
    switch (point) {
      case Point::kPreEnqueue:
      case Point::kMultiPoint:
        return Since(Version::kV1Beta2);
      case Point::kPostFilter:
        return Since(Version::kV1Beta1);
      case Point::kPreScore:
        return Since(Version::kV1Alpha2);
      case Point::kPlacementGenerate:
      case Point::kPlacementScore:
      case Point::kPodGroupPostFilter:
        return version_ == Version::kV1;
      default:
        return true;
    }
  }

  void ReadPlugins(const Value& value, const std::string& path, ProfileDocument& profile) {
    StructReader points(value, "Plugins", path, problems_);
    const std::string set_type = ShortName() + ".PluginSet";
    const auto read = [&](std::string_view name, PluginSet& set) {
      points.With(name, [&](const Value& v, const std::string& p) { ReadPluginSet(v, p, set); }, set_type);
    };
    for (std::size_t i = 0; i < kPointCount; ++i) {
      if (Has(static_cast<Point>(i))) read(PointName(static_cast<Point>(i)), profile.plugins[i]);
    }
    // postFilter before preemption became a plugin.
    if (version_ == Version::kV1Alpha1) read("postFilter", profile.at(Point::kPreScore));
    if (Until(Version::kV1Alpha2)) read("unreserve", profile.unreserve);
    FinishOrNote(points);
  }

  void ReadPluginSet(const Value& value, const std::string& path, PluginSet& set) {
    StructReader reader(value, "PluginSet", path, problems_);
    const std::string element = ShortName() + ".Plugin";
    const auto read = [&](const Value& item, const std::string& place) {
      PluginRef plugin;
      StructReader fields(item, "Plugin", place, problems_);
      fields.Read("name", plugin.name);
      fields.Read("weight", plugin.weight, "int32");
      FinishOrNote(fields);
      return plugin;
    };
    reader.Each(
        "enabled", [&](const Value& v, const std::string& p) { set.enabled.push_back(read(v, p)); }, element);
    reader.Each(
        "disabled", [&](const Value& v, const std::string& p) { set.disabled.push_back(read(v, p).name); },
        element);
    FinishOrNote(reader);
  }

  void FinishOrNote(StructReader& reader) {
    if (version_ != Version::kV1Alpha1) return reader.Finish();
    for (const std::string& field : reader.Rest())
      document_.Note(fmt::format("unknown field \"{}\" is ignored, as in all v1alpha1 files", field));
  }

  const Version version_;
  Document& document_;
  SchedulerConfig& config_;
  Problems& problems_;
};

// Merges the user's sets into those of a policy or provider: v1alpha1 had no other defaults.
void LayOver(const PluginSet& custom, PluginSet& base) {
  if (custom.DisablesAll()) base.enabled.clear();
  std::erase_if(base.enabled, [&](const PluginRef& plugin) { return custom.Disables(plugin.name); });
  base.enabled.insert(base.enabled.end(), custom.enabled.begin(), custom.enabled.end());
  for (const std::string& name : custom.disabled) {
    if (!base.Disables(name)) base.disabled.push_back(name);
  }
}

Expected<void> ReadPolicyText(const std::string& text, Document& document, ProfileDocument& profile) {
  BERTH_TRY(const yaml::ParsedText policy, yaml::ParseText(text));
  return WithInvisibleCharacter(ReadPolicy(policy.root, document, profile), text);
}

Expected<void> UsePolicy(const std::string& path, const ReadFile& read_file, Document& document) {
  if (!read_file) return Invalid(fmt::format("algorithmSource.policy.file \"{}\" cannot be read here", path));
  BERTH_TRY(const std::string text, read_file(path));
  ProfileDocument from_policy;
  if (auto read = ReadPolicyText(text, document, from_policy); !read)
    return std::unexpected(std::move(read).error().In(path));
  ProfileDocument& profile = document.profiles.front();
  for (std::size_t i = 0; i < kPointCount; ++i) {
    LayOver(profile.plugins[i], from_policy.plugins[i]);
    profile.plugins[i] = std::move(from_policy.plugins[i]);
  }
  for (PluginConfigEntry& entry : from_policy.plugin_config) {
    if (profile.FindConfig(entry.name) == nullptr) profile.plugin_config.push_back(std::move(entry));
  }
  return {};
}

// The algorithmSource of v1alpha1, which selects its plugins.
Expected<void> ReadAlgorithmSource(const Value& value, const ReadFile& read_file, Document& document,
                                   Problems& problems) {
  std::string provider;
  std::string path;
  std::string map_name;
  std::string map_namespace = "kube-system";
  StructReader reader(value, "SchedulerAlgorithmSource", "algorithmSource", problems);
  reader.Read("provider", provider);
  reader.With("policy", [&](const Value& policy, const std::string& place) {
    StructReader fields(policy, "SchedulerPolicySource", place, problems);
    fields.With("file", [&](const Value& file, const std::string& p) {
      StructReader(file, "SchedulerPolicyFileSource", p, problems).Read("path", path);
    });
    fields.With("configMap", [&](const Value& map, const std::string& p) {
      StructReader names(map, "SchedulerPolicyConfigMapSource", p, problems);
      names.Read("name", map_name);
      names.Read("namespace", map_namespace);
    });
  });
  if (problems.fatal()) return {};
  if (!map_name.empty())
    return Invalid(
        fmt::format("algorithmSource.policy.configMap: a policy is not read from the API server; save it "
                    "with kubectl get "
                    "configmap --namespace {} {} --output 'jsonpath={{.data.policy\\.cfg}}' and name it in "
                    "algorithmSource.policy.file.path",
                    map_namespace, map_name));
  if (!path.empty()) return UsePolicy(path, read_file, document);
  if (provider.empty() || provider == "DefaultProvider") return {};
  if (provider != "ClusterAutoscalerProvider")
    return Invalid(fmt::format(
        "couldn't create scheduler using provider \"{}\": algorithm provider \"{}\" is not registered; "
        "expected DefaultProvider or ClusterAutoscalerProvider",
        provider, provider));
  // The same plugins, but this provider packs nodes instead of spreading pods.
  PluginSet& score = document.profiles.front().at(Point::kScore);
  if (!score.DisablesAll()) {
    score.disabled.push_back("NodeResourcesLeastAllocated");
    score.enabled.insert(score.enabled.begin(), {"NodeResourcesMostAllocated", 1});
  }
  return {};
}

}  // namespace

std::string ApiVersion(Version version) {
  static constexpr std::string_view kNames[] = {"v1alpha1", "v1alpha2", "v1beta1",
                                                "v1beta2",  "v1beta3",  "v1"};
  return fmt::format("{}/{}", kGroup, kNames[static_cast<std::size_t>(version)]);
}

std::optional<Version> VersionOf(std::string_view api_version) {
  for (const Version version : {Version::kV1Alpha1, Version::kV1Alpha2, Version::kV1Beta1, Version::kV1Beta2,
                                Version::kV1Beta3, Version::kV1}) {
    if (ApiVersion(version) == api_version) return version;
  }
  return std::nullopt;
}

Expected<void> ReadConfiguration(const Value& root, Version version, const ReadFile& read_file,
                                 Document& document, Problems& problems) {
  StructReader reader(root, std::string(kKind), "", problems);
  Reader(version, document, problems).ReadRoot(root, reader);
  if (version != Version::kV1Alpha1) {
    reader.Finish();
    return {};
  }
  const Value* source = reader.Take("algorithmSource");
  for (const std::string& field : reader.Rest())
    document.Note(fmt::format("unknown field \"{}\" is ignored, as in all v1alpha1 files", field));
  if (source == nullptr || problems.fatal()) return {};
  return ReadAlgorithmSource(*source, read_file, document, problems);
}

}  // namespace berth::config
