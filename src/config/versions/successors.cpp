// Plugins of old versions that do not exist in 1.37.
#include <fmt/format.h>

#include <algorithm>

#include "config/versions/version.hpp"

namespace berth::config {
namespace {

bool IsVolumeLimit(std::string_view plugin) {
  static constexpr std::string_view kNames[] = {"EBSLimits", "GCEPDLimits", "AzureDiskLimits",
                                                "CinderLimits"};
  return std::ranges::find(kNames, plugin) != std::end(kNames);
}

bool IsOldSpread(std::string_view plugin) {
  return plugin == "SelectorSpread" || plugin == "DefaultPodTopologySpread";
}

class Replacement {
 public:
  Replacement(Version version, ProfileDocument& profile, Document& document)
      : version_(version), profile_(profile), document_(document) {}

  void Run() {
    RefuseWhatHasNone();
    for (std::size_t i = 0; i < kPointCount; ++i) {
      const auto point = static_cast<Point>(i);
      Replace(point, IsVolumeLimit, "NodeVolumeLimits",
              "counts the volumes of all CSI drivers, those of migrated in-tree volumes too");
      Replace(point, IsOldSpread, "PodTopologySpread",
              "spreads by node and zone by default (defaultingType System)");
      Drop(
          point, "NodePreferAvoidPods",
          "the node annotation scheduler.alpha.kubernetes.io/preferAvoidPods has no effect any more; a taint "
          "with effect PreferNoSchedule keeps pods away");
    }
    DropArgs("NodePreferAvoidPods");
    // In 1.18 it had a postBind step.
    DropQuietly(Point::kPostBind, "VolumeBinding");
  }

 private:
  void RefuseWhatHasNone() {
    struct Gone {
      std::string_view plugin;
      std::string_view instead;
    };
    static constexpr Gone kGone[] = {
        {"ServiceAffinity", "pod affinity (spec.affinity.podAffinity) has the same effect"},
        {"NodeResourceLimits", "remove it; NodeResourcesFit scores requests"},
    };
    for (const Gone& gone : kGone) {
      for (std::size_t i = 0; i < kPointCount; ++i) {
        if (!profile_.plugins[i].Enables(gone.plugin)) continue;
        document_.errors.push_back(
            fmt::format("{}.enabled: plugin \"{}\" was removed from Kubernetes and has no successor: {}",
                        profile_.PathOf(static_cast<Point>(i)), gone.plugin, gone.instead));
        break;
      }
      DropArgs(gone.plugin);
    }
  }

  void Replace(Point point, bool (*is_old)(std::string_view), const std::string& successor,
               std::string_view why) {
    PluginSet& set = profile_.at(point);
    ReplaceEnabled(point, set, is_old, successor, why);
    for (const std::string& name : set.disabled) {
      if (!is_old(name)) continue;
      if (successor == "PodTopologySpread") StopSpreading(point, name);
    }
    std::erase_if(set.disabled, is_old);
  }

  void ReplaceEnabled(Point point, PluginSet& set, bool (*is_old)(std::string_view),
                      const std::string& successor, std::string_view why) {
    // If v1's defaults are enabled, the successor is already present.
    const bool wanted = (point == Point::kMultiPoint ? set.DisablesAll() || set.Disables(successor)
                                                     : DefaultsAreOff(point, successor)) &&
                        !set.Enables(successor);
    bool placed = !wanted;
    std::vector<PluginRef> kept;
    for (const PluginRef& plugin : set.enabled) {
      if (!is_old(plugin.name)) {
        kept.push_back(plugin);
        continue;
      }
      document_.Note(fmt::format("{}: {} is replaced by {}, which {}", profile_.PathOf(point), plugin.name,
                                 successor, why));
      if (!placed) kept.push_back({successor, plugin.weight});
      placed = true;
    }
    set.enabled = std::move(kept);
  }

  bool DefaultsAreOff(Point point, const std::string& plugin) const {
    const PluginSet& set = profile_.at(point);
    const PluginSet& multi = profile_.at(Point::kMultiPoint);
    if (set.DisablesAll() || set.Disables(plugin)) return true;
    return (multi.DisablesAll() || multi.Disables(plugin)) && !multi.Enables(plugin);
  }

  // Disabling the plugin that spread a service's pods means that no plugin should.
  void StopSpreading(Point point, const std::string& name) {
    if (version_ > Version::kV1Alpha2) {
      document_.Note(fmt::format(
          "{}: disabling {} has no effect; PodTopologySpread with defaultingType List and no constraints "
          "spreads only pods that ask for it",
          profile_.PathOf(point), name));
      return;
    }
    if (point != Point::kScore || profile_.FindConfig("PodTopologySpread") != nullptr) return;
    profile_.ArgsOf("PodTopologySpread").Set("defaultingType", Value::Text("List"));
    document_.Note(fmt::format("{}: {} is disabled, so PodTopologySpread has defaultingType List",
                               profile_.PathOf(point), name));
  }

  void Drop(Point point, std::string_view plugin, std::string_view why) {
    if (profile_.at(point).Enables(plugin))
      document_.Note(fmt::format("{}: {} is dropped: {}", profile_.PathOf(point), plugin, why));
    DropQuietly(point, plugin);
  }

  void DropQuietly(Point point, std::string_view plugin) {
    PluginSet& set = profile_.at(point);
    std::erase_if(set.enabled, [&](const PluginRef& ref) { return ref.name == plugin; });
    std::erase_if(set.disabled, [&](const std::string& name) { return name == plugin; });
  }

  void DropArgs(std::string_view plugin) {
    std::erase_if(profile_.plugin_config, [&](const auto& entry) { return entry.name == plugin; });
  }

  const Version version_;
  ProfileDocument& profile_;
  Document& document_;
};

}  // namespace

void ReplaceRemovedPlugins(Version version, ProfileDocument& profile, Document& document) {
  if (version <= Version::kV1Beta1) {
    ReplaceStrategyPlugins(version, profile, document);
    ReplaceNodeLabel(profile, document);
  }
  Replacement(version, profile, document).Run();
}

}  // namespace berth::config
