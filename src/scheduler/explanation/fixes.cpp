#include "scheduler/explanation/fixes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "kubernetes/api/owners.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/explanation/lower_requests.hpp"
#include "scheduler/explanation/neighbours.hpp"
#include "scheduler/explanation/node_requirements.hpp"
#include "scheduler/explanation/resources.hpp"
#include "scheduler/explanation/spreading.hpp"
#include "scheduler/explanation/taints.hpp"
#include "scheduler/explanation/volumes.hpp"

namespace berth::explanation {
namespace {

using Fixes = std::vector<Fix>;

// Efforts: changes of the pod are easier than those of the cluster.
constexpr int kCorrectLabel = 1;
constexpr int kTolerate = 2;
constexpr int kChangePod = 3;
constexpr int kRemoveRule = 4;
constexpr int kChangeNode = 5;
constexpr int kWaitForPods = 6;
constexpr int kAddNode = 8;

constexpr std::size_t kMostLeaving = 5;  // pods in one proposal
constexpr std::string_view kNodeLifecycle = "node.kubernetes.io/";
constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";
constexpr const char* kHostname = "kubernetes.io/hostname";

Fixes TaintFixes(const Situation& at, const RowGroup& group);
Fixes CordonFixes(const Situation& at, const RowGroup& group);
Fixes SelectionFixes(const Situation& at, const RowGroup& group);
Fixes ResourceFixes(const Situation& at, const RowGroup& group);
Fixes SpreadFixes(const Situation& at, const RowGroup& group);
Fixes AffinityFixes(const Situation& at, const RowGroup& group);
Fixes PortFixes(const Situation& at, const RowGroup& group);
Fixes VolumePlaceFixes(const Situation& at, const RowGroup& group);
Fixes VolumeUseFixes(const Situation& at, const RowGroup& group);

struct Maker {
  std::string_view plugin;
  Fixes (*make)(const Situation&, const RowGroup&);
};
constexpr Maker kMakers[] = {
    {"TaintToleration", &TaintFixes},
    {"NodeUnschedulable", &CordonFixes},
    {"NodeAffinity", &SelectionFixes},
    {"NodeResourcesFit", &ResourceFixes},
    {"PodTopologySpread", &SpreadFixes},
    {"InterPodAffinity", &AffinityFixes},
    {"NodePorts", &PortFixes},
    {"VolumeZone", &VolumePlaceFixes},
    {"VolumeBinding", &VolumePlaceFixes},
    {"VolumeRestrictions", &VolumeUseFixes},
};

// Taints of the node lifecycle are not to be tolerated: the node does not work until they are gone.
Fix TolerationFix(const std::vector<api::Taint>& taints) {
  const std::vector<std::string> texts = TaintTexts(taints);
  return {.text = fmt::format("add {} for {}", taints.size() == 1 ? "a toleration" : "tolerations",
                              fmt::join(texts, ", ")),
          .effort = kTolerate,
          .on_pod = [taints](api::Pod& pod) {
            for (const api::Taint& taint : taints) {
              pod.spec.tolerations.push_back({.key = taint.key,
                                              .op = taint.value.empty() ? "Exists" : "Equal",
                                              .value = taint.value,
                                              .effect = taint.effect});
            }
          }};
}

Fix RemovedTaintsFix(const std::string& node, const std::vector<api::Taint>& taints) {
  const std::vector<std::string> texts = TaintTexts(taints);
  return {.text = fmt::format(
              "repair node {}, so that its {} {} removed", node, taints.size() == 1 ? "taint" : "taints",
              fmt::format("{} {}", fmt::join(texts, ", "), taints.size() == 1 ? "is" : "are")),
          .effort = kChangeNode,
          .node = node,
          .on_node = [taints](api::Node& changed) {
            std::vector<api::Taint> kept;
            for (const api::Taint& taint : std::as_const(changed.taints)) {
              if (std::ranges::find(taints, taint) == taints.end()) kept.push_back(taint);
            }
            changed.taints = std::move(kept);
          }};
}

// The node controller removes the taint of a cordoned node together with the cordon.
Fix UncordonFix(const std::string& node) {
  return {.text = fmt::format("uncordon node {} (kubectl uncordon {})", node, node),
          .effort = kChangeNode,
          .node = node,
          .on_node = [](api::Node& changed) {
            changed.unschedulable = false;
            std::vector<api::Taint> kept;
            for (const api::Taint& taint : std::as_const(changed.taints)) {
              if (taint.key != kCordonTaint) kept.push_back(taint);
            }
            changed.taints = std::move(kept);
          }};
}

// Those that remain when the node is no longer cordoned.
std::vector<api::Taint> TaintsWithoutCordon(const Situation& at, cluster::Row row) {
  const api::Node& node = at.nodes().node(row);
  std::vector<api::Taint> taints = UntoleratedTaints(*at.pod.pod, node);
  if (node.unschedulable)
    std::erase_if(taints, [](const api::Taint& taint) { return taint.key == kCordonTaint; });
  return taints;
}

Fixes TaintFixes(const Situation& at, const RowGroup& group) {
  constexpr std::size_t kMostLists = 3;
  if (TaintsWithoutCordon(at, group.nearest).empty()) return {UncordonFix(at.nodes().name(group.nearest))};
  std::vector<std::vector<api::Taint>> lists;
  const auto add = [&](cluster::Row row) {
    std::vector<api::Taint> taints = TaintsWithoutCordon(at, row);
    if (lists.size() < kMostLists && std::ranges::find(lists, taints) == lists.end())
      lists.push_back(std::move(taints));
  };
  add(group.nearest);
  for (const cluster::Row row : RowsByName(at, group.rows)) add(row);
  Fixes fixes;
  for (const std::vector<api::Taint>& taints : lists) {
    const bool lifecycle = std::ranges::any_of(
        taints, [](const api::Taint& taint) { return taint.key.starts_with(kNodeLifecycle); });
    if (taints.empty()) continue;
    if (!lifecycle) {
      fixes.push_back(TolerationFix(taints));
    } else if (&taints == &lists.front()) {
      fixes.push_back(RemovedTaintsFix(at.nodes().name(group.nearest), taints));
    }
  }
  return fixes;
}

Fixes CordonFixes(const Situation& at, const RowGroup& group) {
  return {UncordonFix(at.nodes().name(group.nearest))};
}

// Replaces a requirement by another one; nullopt: removes it.
void ReplaceRequirement(api::Pod& pod, const NodeRequirement& before,
                        const std::optional<api::NodeSelectorRequirement>& after) {
  if (!before.term) {
    api::Labels selector;
    for (const auto& [key, value] : std::as_const(pod.spec.node_selector)) {
      if (key != before.spec.key) selector.Set(key, value);
    }
    if (after) selector.Set(after->key, after->values.front());
    pod.spec.node_selector = std::move(selector);
    return;
  }
  auto& required = pod.spec.node_affinity->required;
  auto& expressions = required->terms[*before.term].match_expressions;
  if (after) {
    expressions[before.index] = *after;
    return;
  }
  expressions.erase(expressions.begin() + static_cast<long>(before.index));
  // An empty term matches no node.
  if (required->terms.size() == 1 && required->terms.front().empty()) required.reset();
}

Fix UseValue(const NodeRequirement& requirement, std::string key, std::string value, int effort) {
  api::NodeSelectorRequirement after = requirement.spec;
  after.key = std::move(key);
  after.values = {std::move(value)};
  const NodeRequirement replaced{.term = requirement.term, .index = requirement.index, .spec = after};
  return {.text = fmt::format("require {} instead of {}", replaced.Text(), requirement.Text()),
          .effort = effort,
          .on_pod = [requirement, after](api::Pod& pod) { ReplaceRequirement(pod, requirement, after); },
          .names_node = after.key == kHostname};
}

Fix LabelNode(const std::string& node, const NodeRequirement& requirement) {
  const std::string key = requirement.spec.key, value = requirement.spec.values.front();
  return {.text = fmt::format("label node {} with {}={} (kubectl label node {} {}={})", node, key, value,
                              node, key, value),
          .effort = kChangeNode,
          .node = node,
          .on_node = [key, value](api::Node& changed) { changed.metadata.labels.Set(key, value); }};
}

// A requirement is changed alone only if it is the only one that the nearest node fails.
Fixes SelectionFixes(const Situation& at, const RowGroup& group) {
  const api::Node& node = at.nodes().node(group.nearest);
  const std::vector<NodeRequirement> failed = FailedRequirements(*at.pod.pod, node);
  Fixes fixes;
  if (failed.size() != 1) return fixes;
  const NodeRequirement& requirement = failed.front();
  const std::string nearest = NearestValue(at.nodes(), requirement);
  if (!nearest.empty()) fixes.push_back(UseValue(requirement, requirement.spec.key, nearest, kCorrectLabel));
  if (const std::string key = NearestKey(at.lookups.label_keys, requirement);
      !key.empty() && !requirement.spec.values.empty())
    fixes.push_back(UseValue(requirement, key, requirement.spec.values.front(), kCorrectLabel));
  const std::string* value = node.metadata.labels.Find(requirement.spec.key);
  const bool in = requirement.spec.op == "In";
  if (in && value != nullptr && *value != nearest && requirement.spec.key != kHostname)
    fixes.push_back(UseValue(requirement, requirement.spec.key, *value, kChangePod));
  fixes.push_back(
      {.text = fmt::format("no longer require {}", requirement.Text()),
       .effort = kRemoveRule,
       .on_pod = [requirement](api::Pod& pod) { ReplaceRequirement(pod, requirement, std::nullopt); }});
  if (in && !requirement.spec.values.empty() && value == nullptr)
    fixes.push_back(LabelNode(node.metadata.name, requirement));
  return fixes;
}

std::int64_t AmountOf(const cluster::PodUse& use, const Situation& at, const std::string& resource) {
  if (resource == "pods") return 1;
  return use.requested.Of(at.symbols.FindResource(resource));
}

// Whether the shortages are gone without these pods.
bool Suffices(const std::vector<const cluster::PlacedPod*>& leaving, const std::vector<Shortage>& shortages,
              const Situation& at) {
  return std::ranges::all_of(shortages, [&](const Shortage& shortage) {
    std::int64_t missing = shortage.missing();
    for (const cluster::PlacedPod* placed : leaving)
      missing -= AmountOf(placed->use(), at, shortage.resource);
    return missing <= 0;
  });
}

// The parts of the shortages that the pod's end would remove.
double HelpOf(const cluster::PlacedPod& placed, const std::vector<Shortage>& shortages, const Situation& at) {
  double parts = 0;
  for (const Shortage& shortage : shortages) {
    const auto amount = static_cast<double>(AmountOf(placed.use(), at, shortage.resource));
    parts += std::min(1.0, amount / static_cast<double>(shortage.missing()));
  }
  return parts;
}

// A small set of pods on the row that leave enough room; empty: there is none.
std::vector<api::PodPtr> PodsInTheWay(const Situation& at, cluster::Row row,
                                      const std::vector<Shortage>& shortages) {
  std::vector<std::tuple<double, std::string, const cluster::PlacedPod*>> candidates;
  for (const cluster::PlacedPod* placed : at.nodes().pods(row)) {
    const api::ObjectMeta& metadata = placed->pod->metadata;
    if (!api::ComesBack(metadata))
      candidates.emplace_back(-HelpOf(*placed, shortages, at), metadata.Key(), placed);
  }
  std::ranges::sort(candidates);
  std::vector<const cluster::PlacedPod*> leaving;
  for (const auto& [help, key, placed] : candidates) {
    if (leaving.size() == kMostLeaving || Suffices(leaving, shortages, at)) break;
    leaving.push_back(placed);
  }
  if (!Suffices(leaving, shortages, at)) return {};
  for (std::size_t i = leaving.size(); i-- > 0;) {
    auto without = leaving;
    without.erase(without.begin() + static_cast<long>(i));
    if (Suffices(without, shortages, at)) leaving = without;
  }
  std::vector<api::PodPtr> pods;
  for (const cluster::PlacedPod* placed : leaving) pods.push_back(placed->pod);
  return pods;
}

Fix WaitFor(std::vector<api::PodPtr> pods) {
  std::vector<std::string> names;
  for (const api::PodPtr& pod : pods) names.push_back(pod->metadata.Key());
  return {.text = fmt::format("wait until {} {} ended, or delete {}", fmt::join(names, ", "),
                              names.size() == 1 ? "has" : "have", names.size() == 1 ? "it" : "them"),
          .effort = kWaitForPods + static_cast<int>(names.size()) - 1,
          .leaving = std::move(pods)};
}

// All of these pods must end. Empty: there is none, there are too many, or one would come back at once.
Fixes WaitForAll(std::vector<api::PodPtr> pods) {
  if (pods.empty() || pods.size() > kMostLeaving) return {};
  if (std::ranges::any_of(pods, [](const api::PodPtr& pod) { return api::ComesBack(pod->metadata); }))
    return {};
  return {WaitFor(std::move(pods))};
}

Fixes ResourceFixes(const Situation& at, const RowGroup& group) {
  const std::vector<Shortage> shortages = ShortagesOn(at, group.nearest);
  Fixes fixes;
  if (shortages.empty()) return fixes;
  if (auto lower = LowerRequests(*at.pod.pod, shortages)) {
    fixes.push_back({.text = lower->text, .effort = kChangePod, .on_pod = std::move(lower->apply)});
  }
  if (auto pods = PodsInTheWay(at, group.nearest, shortages); !pods.empty())
    fixes.push_back(WaitFor(std::move(pods)));
  return fixes;
}

Fixes SpreadFixes(const Situation& at, const RowGroup& group) {
  const api::Node& node = at.nodes().node(group.nearest);
  std::vector<std::string> texts;
  std::vector<std::pair<std::size_t, std::int64_t>> raises;  // index of the constraint, new maxSkew
  for (const SpreadState& state : SpreadStates(at)) {
    if (!node.metadata.labels.Find(state.key)) return {};
    const std::int64_t skew = state.SkewOn(node);
    if (skew <= state.max_skew) continue;
    raises.emplace_back(state.index, skew);
    texts.push_back(fmt::format("raise maxSkew for {} from {} to {}", state.key, state.max_skew, skew));
  }
  if (raises.empty()) return {};
  return {{.text = fmt::format("{}", fmt::join(texts, " and ")),
           .effort = kChangePod,
           .on_pod = [raises](api::Pod& pod) {
             for (const auto& [index, skew] : raises)
               pod.spec.topology_spread_constraints[index].max_skew = static_cast<std::int32_t>(skew);
           }}};
}

bool HasReason(const RowGroup& group, std::string_view reason) {
  return std::ranges::any_of(group.obstacles,
                             [&](const Obstacle* obstacle) { return obstacle->reason == reason; });
}

Fixes AffinityFixes(const Situation& at, const RowGroup& group) {
  Fixes fixes;
  if (HasReason(group, "node(s) didn't match pod affinity rules")) {
    fixes.push_back({.text = "no longer require the pod's affinity to other pods",
                     .effort = kRemoveRule,
                     .on_pod = [](api::Pod& pod) {
                       if (pod.spec.pod_affinity) pod.spec.pod_affinity->required.clear();
                     }});
    return fixes;
  }
  if (HasReason(group, "node(s) didn't match pod anti-affinity rules")) {
    fixes.push_back({.text = "prefer the pod's anti-affinity instead of requiring it",
                     .effort = kRemoveRule,
                     .on_pod = [](api::Pod& pod) {
                       if (!pod.spec.pod_anti_affinity) return;
                       api::PodAffinity& rules = *pod.spec.pod_anti_affinity;
                       for (api::PodAffinityTerm& term : rules.required)
                         rules.preferred.push_back({.weight = 100, .term = term});
                       rules.required.clear();
                     }});
  }
  for (Fix& fix : WaitForAll(AntiAffinityConflicts(at, group.nearest))) fixes.push_back(std::move(fix));
  return fixes;
}

Fixes PortFixes(const Situation& at, const RowGroup& group) {
  Fixes fixes = WaitForAll(HostPortConflicts(at, group.nearest));
  for (Fix& fix : fixes) fix.text = "free the host port: " + fix.text;
  return fixes;
}

// A node where the volumes of the pod are.
Fixes VolumePlaceFixes(const Situation& at, const RowGroup& group) {
  const std::map<std::string, std::string> labels = LabelsForVolumes(at);
  if (labels.empty()) return {};
  Fix fix = NodeLike(at, group.nearest);
  api::Node node = *fix.new_node->node;
  std::vector<std::string> texts;
  for (const auto& [key, value] : labels) {
    const std::string* own = node.metadata.labels.Find(key);
    if (own != nullptr && *own == value) continue;
    node.metadata.labels.Set(key, value);
    texts.push_back(fmt::format("{}={}", key, value));
  }
  if (texts.empty()) return {};
  fix.text += fmt::format(" with {}", fmt::join(texts, ", "));
  fix.new_node->node = std::make_shared<const api::Node>(std::move(node));
  return {std::move(fix)};
}

Fixes VolumeUseFixes(const Situation& at, const RowGroup&) { return WaitForAll(UsersOfExclusiveClaims(at)); }

// Of a new node. Objects of nodes that do not exist any more may remain, and must not be replaced.
std::string FreeName(const Situation& at, const std::string& model) {
  const auto taken = [&](const std::string& name) {
    return at.nodes().Find(name) != cluster::kNoRow ||
           at.cluster.objects().Of<api::CSINode>().Find(name) != nullptr ||
           at.cluster.objects().Of<api::NodeResourceTopology>().Find(name) != nullptr;
  };
  std::string name = model + "-new";
  while (taken(name)) name += "-new";
  return name;
}

// The model's object of a kind with one object per node, which has the node's name; null: it has none.
template <class T>
std::shared_ptr<const T> CopyOf(const Situation& at, const std::string& model, const std::string& name) {
  const auto found = at.cluster.objects().Of<T>().Find(model);
  if (found == nullptr) return nullptr;
  T copy = *found;
  copy.metadata.name = name;
  copy.metadata.uid.clear();
  return std::make_shared<const T>(std::move(copy));
}

std::vector<api::PodPtr> DaemonSetPodsFor(const Situation& at, cluster::Row model, const std::string& name) {
  std::vector<api::PodPtr> pods;
  for (const cluster::PlacedPod* placed : at.nodes().pods(model)) {
    if (!api::IsOfDaemonSet(placed->pod->metadata)) continue;
    api::Pod copy = *placed->pod;
    copy.metadata.name += "-on-" + name;
    copy.metadata.uid += "-on-" + name;
    copy.spec.node_name = name;
    pods.push_back(std::make_shared<const api::Pod>(std::move(copy)));
  }
  return pods;
}

using Slices = std::vector<std::shared_ptr<const api::ResourceSlice>>;

Slices SlicesFor(const Situation& at, const std::string& model, const std::string& name) {
  Slices slices;
  at.cluster.objects().Of<api::ResourceSlice>().ForEach([&](const auto& slice) {
    if (slice->node_name != model) return;
    api::ResourceSlice copy = *slice;
    copy.metadata.name += "-of-" + name;
    copy.metadata.uid.clear();
    copy.node_name = name;
    copy.pool = copy.pool == model ? name : copy.pool + "-of-" + name;
    slices.push_back(std::make_shared<const api::ResourceSlice>(std::move(copy)));
  });
  return slices;
}

bool Adds(const Change& change, const std::string& node) {
  return std::ranges::any_of(change.new_nodes,
                             [&](const NewNode& added) { return added.node->metadata.name == node; });
}

}  // namespace

void FindNearest(const Situation& at, RowGroup& group, const std::function<bool(cluster::Row)>& eligible) {
  const bool resources = std::ranges::any_of(
      group.obstacles, [](const Obstacle* obstacle) { return obstacle->plugin == "NodeResourcesFit"; });
  group.nearest = cluster::kNoRow;
  group.shortfall = 0;
  group.rows.ForEach([&](std::size_t index) {
    const auto row = static_cast<cluster::Row>(index);
    const double shortfall = resources ? ShortfallOn(at, row) : 0;
    if (group.nearest != cluster::kNoRow) {
      if (shortfall > group.shortfall) return;
      if (shortfall == group.shortfall && at.nodes().name(row) > at.nodes().name(group.nearest)) return;
    }
    if (eligible && !eligible(row)) return;
    group.nearest = row;
    group.shortfall = shortfall;
  });
}

bool IsAllowedOn(const Situation& at, const Fix& fix, cluster::Row row) {
  if (!at.allows || !fix.on_node) return true;
  const api::Node& before = at.nodes().node(row);
  api::Node after = before;
  fix.on_node(after);
  return at.allows(before, after);
}

std::vector<Fix> FixesForPod(const Situation& at) {
  Fixes fixes;
  for (const MisspelledClaim& claim : MisspelledClaims(at)) {
    fixes.push_back({.text = fmt::format("use claim {} instead of {}", claim.nearest, claim.name),
                     .effort = kCorrectLabel,
                     .on_pod = [claim](api::Pod& pod) {
                       for (api::Volume& volume : pod.spec.volumes) {
                         if (volume.source == api::Volume::Source::kPersistentVolumeClaim &&
                             volume.id == claim.name)
                           volume.id = claim.nearest;
                       }
                     }});
  }
  return fixes;
}

std::vector<Fix> FixesFor(const Situation& at, const RowGroup& group, std::string_view plugin) {
  for (const Maker& maker : kMakers) {
    if (maker.plugin == plugin) return maker.make(at, group);
  }
  return {};
}

Fix NodeLike(const Situation& at, cluster::Row row) {
  api::Node node = at.nodes().node(row);
  const std::string model = node.metadata.name;
  const std::string name = FreeName(at, model);
  node.metadata.name = name;
  node.metadata.uid.clear();
  if (node.metadata.labels.Find(kHostname) != nullptr) node.metadata.labels.Set(kHostname, name);
  node.unschedulable = false;
  std::vector<api::Taint> taints;
  for (const api::Taint& taint : std::as_const(node.taints)) {
    if (!taint.key.starts_with(kNodeLifecycle)) taints.push_back(taint);
  }
  node.taints = std::move(taints);
  return {.text = fmt::format("add a node like {}", model),
          .effort = kAddNode,
          .new_node = NewNode{.node = std::make_shared<const api::Node>(std::move(node)),
                              .pods = DaemonSetPodsFor(at, row, name),
                              .slices = SlicesFor(at, model, name),
                              .csi_node = CopyOf<api::CSINode>(at, model, name),
                              .topology = CopyOf<api::NodeResourceTopology>(at, model, name)}};
}

Change Combine(const Situation& at, const api::PodPtr& pod, const std::vector<Fix>& fixes) {
  Change change;
  api::Pod changed = *pod;
  bool pod_changes = false;
  std::map<std::string, api::Node> nodes;
  for (const Fix& fix : fixes) {
    if (fix.on_pod) {
      fix.on_pod(changed);
      pod_changes = true;
    }
    if (fix.on_node) {
      const cluster::Row row = at.nodes().Find(fix.node);
      fix.on_node(nodes.try_emplace(fix.node, at.nodes().node(row)).first->second);
    }
    for (const api::PodPtr& leaving : fix.leaving) {
      if (std::ranges::find(change.leaving, leaving) == change.leaving.end())
        change.leaving.push_back(leaving);
    }
    if (fix.new_node && !Adds(change, fix.new_node->node->metadata.name))
      change.new_nodes.push_back(*fix.new_node);
  }
  if (pod_changes) change.pod = std::make_shared<const api::Pod>(std::move(changed));
  for (auto& [name, node] : nodes) change.nodes.push_back(std::make_shared<const api::Node>(std::move(node)));
  return change;
}

}  // namespace berth::explanation
