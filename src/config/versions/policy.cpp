// The legacy Policy file (until 1.22): predicates and priorities by the names they had before plugins
// existed. It was read leniently and, in its extenders, with case-insensitive field names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/ascii.hpp"
#include "base/nearest.hpp"
#include "config/versions/version.hpp"

namespace berth::config {
namespace {

// In the order in which predicates were evaluated.
struct Predicate {
  std::string_view name;
  std::vector<std::string_view> plugins;
};
const std::vector<Predicate>& Predicates() {
  static const std::vector<Predicate> kAll{
      {"CheckNodeUnschedulable", {"NodeUnschedulable"}},
      {"GeneralPredicates", {"NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"}},
      {"HostName", {"NodeName"}},
      {"PodFitsHostPorts", {"NodePorts"}},
      {"MatchNodeSelector", {"NodeAffinity"}},
      {"PodFitsResources", {"NodeResourcesFit"}},
      {"NoDiskConflict", {"VolumeRestrictions"}},
      {"PodToleratesNodeTaints", {"TaintToleration"}},
      {"CheckNodeLabelPresence", {"NodeLabel"}},
      {"CheckServiceAffinity", {"ServiceAffinity"}},
      {"MaxEBSVolumeCount", {"EBSLimits"}},
      {"MaxGCEPDVolumeCount", {"GCEPDLimits"}},
      {"MaxCSIVolumeCountPred", {"NodeVolumeLimits"}},
      {"MaxAzureDiskVolumeCount", {"AzureDiskLimits"}},
      {"MaxCinderVolumeCount", {"CinderLimits"}},
      {"CheckVolumeBinding", {"VolumeBinding"}},
      {"NoVolumeZoneConflict", {"VolumeZone"}},
      {"EvenPodsSpread", {"PodTopologySpread"}},
      {"MatchInterPodAffinity", {"InterPodAffinity"}},
  };
  return kAll;
}

const std::map<std::string, std::string, std::less<>>& Priorities() {
  static const std::map<std::string, std::string, std::less<>> kAll{
      {"SelectorSpreadPriority", "SelectorSpread"},
      {"ServiceSpreadingPriority", "SelectorSpread"},
      {"InterPodAffinityPriority", "InterPodAffinity"},
      {"LeastRequestedPriority", "NodeResourcesLeastAllocated"},
      {"MostRequestedPriority", "NodeResourcesMostAllocated"},
      {"BalancedResourceAllocation", "NodeResourcesBalancedAllocation"},
      {"NodePreferAvoidPodsPriority", "NodePreferAvoidPods"},
      {"NodeAffinityPriority", "NodeAffinity"},
      {"TaintTolerationPriority", "TaintToleration"},
      {"ImageLocalityPriority", "ImageLocality"},
      {"EvenPodsSpreadPriority", "PodTopologySpread"},
      {"RequestedToCapacityRatioPriority", "RequestedToCapacityRatio"},
      {"RequestedToCapacityRatio", "RequestedToCapacityRatio"},
  };
  return kAll;
}

void Enable(PluginSet& set, std::string_view plugin, std::int64_t weight = 0) {
  if (!set.Enables(plugin)) set.enabled.push_back({std::string(plugin), weight});
}

PluginSet Nothing() { return {{}, {"*"}}; }

class PolicyReader {
 public:
  PolicyReader(const Value& root, Document& document, ProfileDocument& profile, Problems& problems)
      : root_(root), document_(document), profile_(profile), problems_(problems) {}

  void Read() {
    StructReader reader(root_, "Policy", "", problems_);
    reader.IgnoreCase();
    for (const auto* name : {"kind", "apiVersion"}) reader.Take(name);
    const bool has_predicates = reader.Has("predicates");
    const bool has_priorities = reader.Has("priorities");
    reader.Each(
        "predicates", [&](const Value& v, const std::string& p) { ReadPredicate(v, p); },
        "v1.PredicatePolicy");
    reader.Each(
        "priorities", [&](const Value& v, const std::string& p) { ReadPriority(v, p); }, "v1.PriorityPolicy");
    reader.Each(
        "extenders",
        [&](const Value& v, const std::string& p) {
          document_.config.extenders.push_back(ReadExtender(v, p, {"enableHttps", true, true}, problems_));
        },
        "v1.Extender");
    ReadWeight(reader);
    bool check_all = false;
    reader.Read("alwaysCheckAllPredicates", check_all);
    for (const std::string& field : reader.Rest())
      document_.Note(fmt::format("unknown field \"{}\" is ignored, as in all Policy files", field));
    if (has_predicates) UsePredicates();
    if (has_priorities) UsePriorities();
  }

 private:
  void Wrong(std::string text) {
    document_.errors.push_back("couldn't create scheduler from policy: " + std::move(text));
  }

  void ReadWeight(StructReader& reader) {
    std::int64_t weight = 0;
    reader.Read("hardPodAffinitySymmetricWeight", weight, "int32");
    if (weight != 0) profile_.ArgsOf("InterPodAffinity").Set("hardPodAffinityWeight", Value::Number(weight));
  }

  void ReadPredicate(const Value& value, const std::string& path) {
    std::string name;
    StructReader reader(value, "PredicatePolicy", path, problems_);
    reader.IgnoreCase();
    reader.Read("name", name);
    if (name == "PodFitsPorts") name = "PodFitsHostPorts";
    const auto known = std::ranges::find(Predicates(), name, &Predicate::name);
    if (known != Predicates().end()) {
      predicates_.insert(name);
      return;
    }
    // A predicate with an argument may have any name.
    const Value* argument = reader.Take("argument");
    if (argument == nullptr) return NotFound("predicate", name, PredicateNames());
    StructReader fields(*argument, "PredicateArgument", path + ".argument", problems_);
    fields.IgnoreCase();
    if (fields.Has("serviceAffinity")) {
      predicates_.insert("CheckServiceAffinity");
    } else if (fields.Has("labelsPresence")) {
      fields.With("labelsPresence", [&](const Value& v, const std::string& p) {
        bool presence = false;
        std::vector<std::string> labels;
        StructReader presence_fields(v, "LabelsPresence", p, problems_);
        presence_fields.IgnoreCase();
        presence_fields.Read("labels", labels);
        presence_fields.Read("presence", presence);
        AddLabels(presence ? "presentLabels" : "absentLabels", labels);
      });
      predicates_.insert("CheckNodeLabelPresence");
    } else {
      NotFound("predicate", name, PredicateNames());
    }
  }

  void ReadPriority(const Value& value, const std::string& path) {
    std::string name;
    std::int64_t weight = 0;
    StructReader reader(value, "PriorityPolicy", path, problems_);
    reader.IgnoreCase();
    reader.Read("name", name);
    reader.Read("weight", weight);
    constexpr std::int64_t kWeightMax = INT64_MAX / 100;
    if (weight <= 0 || weight >= kWeightMax)
      Wrong(fmt::format("priority {} should have a positive weight applied to it or it has overflown", name));
    if (name == "EqualPriority") return;  // gives all nodes the same score
    const auto known = Priorities().find(name);
    const Value* argument = reader.Take("argument");
    if (known != Priorities().end() && argument == nullptr) {
      Prefer(known->second, weight);
      return;
    }
    if (argument == nullptr) return NotFound("priority", name, PriorityNames());
    ReadPriorityArgument(*argument, path + ".argument", name, weight);
  }

  void ReadPriorityArgument(const Value& argument, const std::string& path, const std::string& name,
                            std::int64_t weight) {
    StructReader fields(argument, "PriorityArgument", path, problems_);
    fields.IgnoreCase();
    if (fields.Has("serviceAntiAffinity")) {
      Prefer("ServiceAffinity", weight);
    } else if (fields.Has("labelPreference")) {
      fields.With("labelPreference", [&](const Value& v, const std::string& p) {
        bool presence = false;
        std::string label;
        StructReader preference(v, "LabelPreference", p, problems_);
        preference.IgnoreCase();
        preference.Read("label", label);
        preference.Read("presence", presence);
        AddLabels(presence ? "presentLabelsPreference" : "absentLabelsPreference", {label});
      });
      // The weight times the number of preferences.
      priorities_["NodeLabel"] += weight;
    } else if (fields.Has("requestedToCapacityRatioArguments")) {
      fields.With("requestedToCapacityRatioArguments", [&](const Value& v, const std::string&) {
        Value& args = profile_.ArgsOf("RequestedToCapacityRatio");
        for (const auto* member : {"shape", "resources"}) {
          if (const Value* given = v.Find(member)) args.Set(member, *given);
        }
      });
      Prefer("RequestedToCapacityRatio", weight);
    } else {
      NotFound("priority", name, PriorityNames());
    }
  }

  void Prefer(const std::string& plugin, std::int64_t weight) {
    std::int64_t& sum = priorities_[plugin];
    sum = std::max(sum, weight);
  }

  void AddLabels(std::string_view field, const std::vector<std::string>& labels) {
    Value& args = profile_.ArgsOf("NodeLabel");
    if (args.Find(field) == nullptr) args.Set(field, Value::List());
    for (const std::string& label : labels) args.Find(field)->items.push_back(Value::Text(label));
  }

  static std::vector<std::string> PredicateNames() {
    std::vector<std::string> names;
    for (const Predicate& predicate : Predicates()) names.emplace_back(predicate.name);
    return names;
  }
  static std::vector<std::string> PriorityNames() {
    std::vector<std::string> names;
    for (const auto& [name, plugin] : Priorities()) names.push_back(name);
    return names;
  }
  void NotFound(std::string_view what, const std::string& name, const std::vector<std::string>& known) {
    const std::string near = Nearest(name, known);
    Wrong(fmt::format("{} type not found for \"{}\"{}", what, name,
                      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  }

  // A list of predicates selected among those that existed; plugins added later for newer pod fields stay
  // enabled.
  void UsePredicates() {
    predicates_.insert("CheckNodeUnschedulable");
    predicates_.insert("PodToleratesNodeTaints");
    PluginSet filter = Nothing();
    for (const Predicate& predicate : Predicates()) {
      if (!predicates_.contains(std::string(predicate.name))) continue;
      for (const std::string_view plugin : predicate.plugins) Enable(filter, plugin);
    }
    const bool binds_volumes = filter.Enables("VolumeBinding");
    static constexpr std::string_view kNoPreFilter[] = {"NodeUnschedulable", "TaintToleration", "NodeLabel",
                                                        "ServiceAffinity"};
    PluginSet pre_filter = Nothing();
    for (const PluginRef& plugin : filter.enabled) {
      if (std::ranges::find(kNoPreFilter, plugin.name) != std::end(kNoPreFilter)) continue;
      if (plugin.name == "NodeName") continue;
      Enable(pre_filter, plugin.name);
    }
    for (const auto* plugin : {"DynamicResources", "NodeDeclaredFeatures"}) {
      Enable(filter, plugin);
      Enable(pre_filter, plugin);
    }
    profile_.at(Point::kFilter) = std::move(filter);
    profile_.at(Point::kPreFilter) = std::move(pre_filter);
    if (binds_volumes) return;
    for (const Point point : {Point::kReserve, Point::kPreBind})
      profile_.at(point).disabled.emplace_back("VolumeBinding");
  }

  void UsePriorities() {
    static constexpr std::string_view kWithPreScore[] = {
        "TaintToleration",  "NodeAffinity",     "NodeResourcesFit", "NodeResourcesBalancedAllocation",
        "InterPodAffinity", "PodTopologySpread"};
    PluginSet score = Nothing();
    PluginSet pre_score = Nothing();
    for (const auto& [plugin, weight] : priorities_) {
      Enable(score, plugin, weight);
      const bool by_resources = plugin == "NodeResourcesLeastAllocated" ||
                                plugin == "NodeResourcesMostAllocated" ||
                                plugin == "RequestedToCapacityRatio";
      const std::string_view now = by_resources                 ? "NodeResourcesFit"
                                   : plugin == "SelectorSpread" ? "PodTopologySpread"
                                   : plugin == "NodeLabel"      ? "NodeAffinity"
                                                                : std::string_view(plugin);
      if (std::ranges::find(kWithPreScore, now) != std::end(kWithPreScore)) Enable(pre_score, now);
    }
    // Without other spreading priorities, EvenPodsSpread considered only pods with spread constraints.
    if (score.Enables("PodTopologySpread") && !score.Enables("SelectorSpread"))
      profile_.ArgsOf("PodTopologySpread").Set("defaultingType", Value::Text("List"));
    profile_.at(Point::kScore) = std::move(score);
    profile_.at(Point::kPreScore) = std::move(pre_score);
  }

  const Value& root_;
  Document& document_;
  ProfileDocument& profile_;
  Problems& problems_;
  std::set<std::string> predicates_;
  std::map<std::string, std::int64_t> priorities_;  // former plugin name and weight
};

}  // namespace

bool IsPolicy(const Value& root) {
  if (root.kind != Value::Kind::kMap) return false;
  const auto text = [&](std::string_view field) {
    const Value* value = root.Find(field);
    return value != nullptr ? value->text : std::string();
  };
  if (text("kind") == "Policy") return text("apiVersion").empty() || text("apiVersion") == "v1";
  if (!text("kind").empty() || (!text("apiVersion").empty() && text("apiVersion") != "v1")) return false;
  return std::ranges::any_of(root.members, [](const auto& member) {
    static constexpr std::string_view kFields[] = {"predicates", "priorities", "extenders"};
    return std::ranges::find(kFields, ToAsciiLower(member.first)) != std::end(kFields);
  });
}

Expected<void> ReadPolicy(const Value& root, Document& document, ProfileDocument& profile) {
  Problems problems;
  PolicyReader(root, document, profile, problems).Read();
  if (!problems.empty()) return Invalid(problems.Text());
  return {};
}

}  // namespace berth::config
