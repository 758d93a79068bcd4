// Converts an old file to v1: every default that has changed since is written explicitly.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/versions/version.hpp"

namespace berth::config {
namespace {

// The former values, until v1beta2, of score weights that v1 changed. PodTopologySpread was doubled in 1.19.
PluginSet OldWeights(Version version) {
  PluginSet weights{{{"TaintToleration", 1}, {"NodeAffinity", 1}, {"InterPodAffinity", 1}}, {}};
  if (version <= Version::kV1Alpha2) weights.enabled.push_back({"PodTopologySpread", 1});
  return weights;
}

void Disable(PluginSet& set, const std::string& plugin) {
  if (!set.DisablesAll() && !set.Disables(plugin)) set.disabled.push_back(plugin);
}

// Until v1beta2 every extension point had its own defaults. v1's are in multiPoint, and settings of an
// extension point take precedence over them, so only weights need to be written.
void WriteOutWeights(Version version, ProfileDocument& profile, Document& document) {
  PluginSet& multi = profile.at(Point::kMultiPoint);
  if (!multi.enabled.empty() || !multi.disabled.empty())
    document.Note(fmt::format("{} has no effect, as in v1beta2", profile.PathOf(Point::kMultiPoint)));
  multi = OldWeights(version);
}

// Reserve and unreserve are one extension point since v1beta1.
void JoinUnreserve(ProfileDocument& profile) {
  PluginSet& reserve = profile.at(Point::kReserve);
  for (const PluginRef& plugin : profile.unreserve.enabled) {
    if (!reserve.Enables(plugin.name)) reserve.enabled.push_back(plugin);
  }
  profile.unreserve = {};
}

// VolumeBinding scores storage capacity since 1.37; older versions did not. True if that had to be written.
bool KeepStorageOutOfScores(ProfileDocument& profile) {
  PluginSet& score = profile.at(Point::kScore);
  if (score.Enables("VolumeBinding") || score.DisablesAll()) return false;
  Disable(profile.at(Point::kPreScore), "VolumeBinding");
  Disable(score, "VolumeBinding");
  return true;
}

void MoveFieldsIntoArgs(const Document& document, ProfileDocument& profile) {
  if (document.disable_preemption) Disable(profile.at(Point::kPostFilter), "DefaultPreemption");
  const auto set = [&](const std::string& plugin, std::string_view field, std::optional<std::int64_t> value) {
    if (!value) return;
    Value& args = profile.ArgsOf(plugin);
    if (args.Find(field) == nullptr) args.Set(field, Value::Number(*value));
  };
  set("VolumeBinding", "bindTimeoutSeconds", document.bind_timeout_seconds);
  set("InterPodAffinity", "hardPodAffinityWeight", document.hard_pod_affinity_weight);
}

// Constraints without defaultingType meant type List until v1beta1.
void NameDefaultingType(ProfileDocument& profile) {
  PluginConfigEntry* spread = profile.FindConfig("PodTopologySpread");
  if (spread == nullptr || !spread->args || spread->args->Find("defaultingType") != nullptr) return;
  const Value* constraints = spread->args->Find("defaultConstraints");
  if (constraints != nullptr && !constraints->items.empty())
    spread->args->Set("defaultingType", Value::Text("List"));
}

// Removes kind and apiVersion of old versions from arguments.
void RemoveOldTypeMeta(Version version, ProfileDocument& profile) {
  const std::string api_version = ApiVersion(version);
  for (PluginConfigEntry& entry : profile.plugin_config) {
    if (!entry.args) continue;
    const Value* given = entry.args->Find("apiVersion");
    if (given != nullptr && given->text == api_version) entry.args->Remove("apiVersion");
  }
}

void ReplaceLock(Document& document) {
  std::string& lock = document.config.leader_election.resource_lock;
  static constexpr std::string_view kOld[] = {"endpoints", "configmaps", "endpointsleases",
                                              "configmapsleases"};
  if (std::ranges::find(kOld, lock) == std::end(kOld)) return;
  if (!lock.ends_with("leases") && document.config.leader_election.leader_elect)
    document.Note(
        fmt::format("leaderElection.resourceLock \"{}\" was removed from Kubernetes; a lease is used "
                    "instead. A scheduler that still holds the old lock is not detected: stop it first",
                    lock));
  lock = "leases";
}

// Former defaults that were written explicitly or removed.
struct Changes {
  bool weights = false;
  bool storage = false;
  bool avoided_pods = false;
};

void UpgradeProfile(Version version, ProfileDocument& profile, Document& document, Changes& changes) {
  const PluginSet& score = profile.at(Point::kScore);
  const bool default_scores = !score.DisablesAll();
  changes.weights |= default_scores && version <= Version::kV1Beta2;
  changes.avoided_pods |=
      default_scores && version <= Version::kV1Beta1 && !score.Disables("NodePreferAvoidPods");
  RemoveOldTypeMeta(version, profile);
  if (version <= Version::kV1Beta2) WriteOutWeights(version, profile, document);
  if (version <= Version::kV1Beta1) NameDefaultingType(profile);
  JoinUnreserve(profile);
  MoveFieldsIntoArgs(document, profile);
  ReplaceRemovedPlugins(version, profile, document);
  changes.storage |= KeepStorageOutOfScores(profile);
}

void NoteChanges(Version version, const Changes& changes, Document& document) {
  const std::string& name = document.config.version;
  if (changes.storage)
    document.Note(fmt::format("{} did not score storage capacity, so VolumeBinding does not score", name));
  if (changes.avoided_pods)
    document.Note(
        "NodePreferAvoidPods, which scored by default, is gone: the node annotation "
        "scheduler.alpha.kubernetes.io/preferAvoidPods has no effect any more; a taint with effect "
        "PreferNoSchedule keeps pods away");
  if (!changes.weights) return;
  std::vector<std::string> weights;
  for (const PluginRef& plugin : OldWeights(version).enabled)
    weights.push_back(fmt::format("{} {}", plugin.name, plugin.weight));
  document.Note(fmt::format("score weights are those that {} had by default: {} (in v1 they are higher)",
                            name, fmt::join(weights, ", ")));
}

}  // namespace

void Upgrade(Version version, Document& document) {
  if (version == Version::kV1) return;
  if (document.profiles.empty()) document.profiles.emplace_back().path = "profiles[0]";
  ReplaceLock(document);
  Changes changes;
  for (ProfileDocument& profile : document.profiles) UpgradeProfile(version, profile, document, changes);
  NoteChanges(version, changes, document);
}

}  // namespace berth::config
