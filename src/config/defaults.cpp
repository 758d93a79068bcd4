// The defaults of kube-scheduler v1.37.1.
#include <algorithm>
#include <set>

#include "config/document.hpp"

namespace berth::config {
namespace {

void ApplyProfileDefaults(ProfileDocument& profile, const FeatureGates& gates, const ArgsCodecs* codecs) {
  for (std::size_t i = 0; i < kPointCount; ++i) {
    const bool multi = static_cast<Point>(i) == Point::kMultiPoint;
    profile.plugins[i] = MergePluginSets(multi ? DefaultMultiPoint(gates) : PluginSet{}, profile.plugins[i]);
  }
  if (codecs == nullptr) return;
  std::set<std::string> enabled;
  for (std::size_t i = 0; i < kPointCount; ++i) {
    if (static_cast<Point>(i) == Point::kPodGroupPostFilter) continue;  // kube-scheduler omits it by mistake
    for (const PluginRef& plugin : profile.plugins[i].enabled) enabled.insert(plugin.name);
  }
  for (const std::string& name : enabled) {
    const auto codec = codecs->find(name);
    if (codec == codecs->end() || profile.FindConfig(name) != nullptr) continue;
    Problems none;
    profile.plugin_config.push_back(
        {name, codec->second.complete(Value::Map(), gates, none),
         profile.path + ".pluginConfig[" + std::to_string(profile.plugin_config.size()) + "]"});
  }
}

}  // namespace

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
  if (gates.Enabled("TopologyAwareWorkloadScheduling")) {
    set.enabled.push_back({"TopologyPlacementGenerator", 0});
    set.enabled.push_back({"PodGroupPodsCount", 1});
  }
  return set;
}

PluginSet MergePluginSets(const PluginSet& defaults, const PluginSet& custom) {
  PluginSet merged;
  merged.disabled = custom.disabled;
  std::set<const PluginRef*> in_place;
  if (!custom.DisablesAll()) {
    for (const PluginRef& plugin : defaults.enabled) {
      if (custom.Disables(plugin.name)) continue;
      // Of several entries with that name the last one is used; the others follow and are reported when
      // plugins are built.
      const auto again = std::find_if(custom.enabled.rbegin(), custom.enabled.rend(),
                                      [&](const PluginRef& ref) { return ref.name == plugin.name; });
      merged.enabled.push_back(again == custom.enabled.rend() ? plugin : *again);
      if (again != custom.enabled.rend()) in_place.insert(&*again);
    }
  }
  for (const PluginRef& plugin : custom.enabled) {
    if (!in_place.contains(&plugin)) merged.enabled.push_back(plugin);
  }
  return merged;
}

void ApplyDefaults(Document& document, const ArgsCodecs* codecs) {
  SchedulerConfig& config = document.config;
  if (document.profiles.empty()) document.profiles.emplace_back().path = "profiles[0]";
  if (document.profiles.size() == 1 && !document.profiles[0].scheduler_name)
    document.profiles[0].scheduler_name = "default-scheduler";
  for (ProfileDocument& profile : document.profiles) ApplyProfileDefaults(profile, config.gates, codecs);

  const LeaderElection standard;
  LeaderElection& election = config.leader_election;
  const auto or_default = [](auto& field, const auto& value) {
    if (field == std::remove_cvref_t<decltype(field)>{}) field = value;
  };
  or_default(election.lease_duration, standard.lease_duration);
  or_default(election.renew_deadline, standard.renew_deadline);
  or_default(election.retry_period, standard.retry_period);
  or_default(election.resource_lock, standard.resource_lock);
  or_default(election.resource_name, standard.resource_name);
  or_default(election.resource_namespace, standard.resource_namespace);
  for (ExtenderConfig& extender : config.extenders)
    or_default(extender.http_timeout, std::chrono::nanoseconds(std::chrono::seconds(5)));
  const ClientConnection usual;
  or_default(config.client_connection.content_type, usual.content_type);
  or_default(config.client_connection.qps, usual.qps);
  or_default(config.client_connection.burst, usual.burst);
}

}  // namespace berth::config
