#include "tests/faults/checker.hpp"

#include <algorithm>
#include <array>

#include "sandbox/controllers/kinds.hpp"
#include "tests/faults/extender.hpp"

namespace berth::faults {

using sandbox::FindArray;
using sandbox::FindPath;
using sandbox::FindString;
using sandbox::Known;

namespace {

std::size_t TemplateOf(const sandbox::Object& pod) {
  const std::string* app = pod.Label("app");
  for (std::size_t i = 0; i < kTemplates.size(); ++i) {
    if (app != nullptr && *app == kTemplates[i].name) return i;
  }
  return 0;
}

bool IsUnscheduled(const sandbox::Object& pod) {
  const sandbox::Document document = pod.Parse();
  const auto* conditions = FindArray(document.root(), "status.conditions");
  return conditions != nullptr && std::ranges::any_of(*conditions, [](const auto& condition) {
           const auto& each = condition.get_object();
           return FindString(each, "type") == "PodScheduled" && FindString(each, "status") == "False";
         });
}

std::string LabelOf(const sandbox::Object& pod, std::string_view name) {
  const std::string* value = pod.Label(name);
  return value == nullptr ? "" : *value;
}

PodFacts FactsOf(const sandbox::Object& pod) {
  const std::string members = LabelOf(pod, "members");
  const std::string& phase = pod.fields[sandbox::pod_field::kPhase];
  return {.key = pod.key,
          .uid = pod.uid,
          .node = pod.fields[sandbox::pod_field::kNodeName],
          .pod_template = TemplateOf(pod),
          .deleting = pod.deleting,
          .ended = phase == "Succeeded" || phase == "Failed",
          .unscheduled = IsUnscheduled(pod),
          .group = LabelOf(pod, "group"),
          .members = members.empty() ? 0 : std::stoul(members)};
}

}  // namespace

Checker::Checker(simulation::VirtualTime& time, Timeline& timeline, CheckerInputs inputs)
    : time_(time), timeline_(timeline), inputs_(std::move(inputs)) {}

void Checker::Report(const std::string& invariant, const std::string& what) {
  timeline_.Add("VIOLATION", "{}: {}", invariant, what);
  violations_.push_back(fmt::format("{}: {}", invariant, what));
}

void Checker::OnChange(const sandbox::ResourceType& type, const sandbox::Change& change) {
  if (&type == &Known().pods) return OnPod(change);
  if (&type == &Known().nodes) return OnNode(change);
  if (&type == &sandbox::Kinds().resource_claims) return OnDeviceClaim(change);
  if (&type == &sandbox::Kinds().claims) return OnVolumeClaim(change);
  if (&type == &Known().leases) return OnLease(change);
}

void Checker::OnRequest(const Client& client, const http::Request& request) {
  constexpr std::string_view kBinding = "/binding";
  const std::string_view target = request.target;
  if (request.method != "POST" || !target.ends_with(kBinding)) return;
  const auto name = target.substr(0, target.size() - kBinding.size());
  const auto pod = pods_.find("default/" + std::string(name.substr(name.rfind('/') + 1)));
  if (pod == pods_.end() || pod->second.binder != client.process || pod->second.bound_late) return;
  const auto body = sandbox::Document::Parse(request.body);
  const std::string node(body ? FindString(body->root(), "target.name") : "");
  if (node != pod->second.node) {
    Report("a bound pod is not scheduled again",
           fmt::format("{} has bound {} to {} and tries {}", client.process, pod->first, pod->second.node,
                       node));
  }
}

bool Checker::RecentlyLate(const std::string& what) const {
  const auto found = late_.find(what);
  return found != late_.end() && Recent(found->second);
}

void Checker::OnPod(const sandbox::Change& change) {
  const std::string& key = change.subject().key;
  if (!change.after) {
    const auto gone = pods_.find(key);
    if (gone == pods_.end()) return;
    if (!gone->second.node.empty()) shrunk_[gone->second.pod_template] = time_.now();
    incomplete_groups_.insert(gone->second.group);
    timeline_.Add("store", "pod {} is removed", key);
    pods_.erase(gone);
    return;
  }
  PodFacts after = FactsOf(*change.after);
  const auto known = pods_.find(key);
  const bool same = known != pods_.end() && known->second.uid == after.uid;
  if (!same) timeline_.Add("store", "pod {} is created", key);
  if (same) {
    const PodFacts& before = known->second;
    if (!before.node.empty() && before.node != after.node)
      Report("no pod is bound twice", fmt::format("{} moved from {} to {}", key, before.node, after.node));
    if (after.deleting && !before.deleting) timeline_.Add("store", "pod {} is being deleted", key);
    if (after.ended && !before.ended) timeline_.Add("store", "pod {} has ended", key);
    if (!before.node.empty() && after.unscheduled && !before.unscheduled && !late())
      Report("a bound pod is scheduled", fmt::format("PodScheduled of {} becomes False", key));
    after.binder = before.binder;
    after.bound_late = before.bound_late;
    const bool holds = !before.node.empty() && !before.deleting && !before.ended;
    if (holds && (after.deleting || after.ended)) shrunk_[after.pod_template] = time_.now();
  }
  const bool bound = !after.node.empty() && (!same || known->second.node.empty());
  if (bound && inputs_.client() != nullptr) after.binder = inputs_.client()->process;
  after.bound_late = after.bound_late || (bound && late());
  if (after.deleting || after.ended || after.bound_late) incomplete_groups_.insert(after.group);
  pods_[key] = after;
  if (!bound) return;
  ++bindings_;
  timeline_.Add("store", "pod {} is bound to {}", key, after.node);
  if (late()) late_["node " + after.node] = late_["pods"] = time_.now();
  if (!late()) CheckBinding(after);
}

void Checker::OnNode(const sandbox::Change& change) {
  const std::string& name = change.subject().name;
  NodeFacts& node = nodes_[name];
  const bool exists = change.after != nullptr;
  if (exists != node.exists) {
    timeline_.Add("store", "node {} is {}", name, exists ? "created" : "removed");
    node.changed = topology_changed_ = time_.now();
  }
  node.exists = exists;
  node.number = std::stoul(name.substr(1));
  if (!exists) {
    node.cordoned.reset();
    node.tainted.reset();
    return;
  }
  const sandbox::Document document = change.after->Parse();
  const auto* cordon = FindPath(document.root(), "spec.unschedulable");
  const bool cordoned = cordon != nullptr && cordon->is_bool() && cordon->get_bool();
  bool tainted = false;
  if (const auto* taints = FindArray(document.root(), "spec.taints")) {
    tainted = std::ranges::any_of(
        *taints, [](const auto& taint) { return FindString(taint.get_object(), "key") == kTaint; });
  }
  const auto update = [&](std::optional<Duration>& since, bool now) {
    if (!now) since.reset();
    if (now && !since) since = time_.now();
  };
  update(node.cordoned, cordoned);
  update(node.tainted, tainted);
}

void Checker::OnDeviceClaim(const sandbox::Change& change) {
  const std::string& key = change.subject().key;
  for (const std::string& device : devices_of_[key]) device_owner_.erase(device);
  devices_of_.erase(key);
  if (!change.after) return;
  const sandbox::Document document = change.after->Parse();
  const auto* results = FindArray(document.root(), "status.allocation.devices.results");
  if (results == nullptr) return;
  for (const auto& result : *results) {
    const auto& each = result.get_object();
    const std::string device = fmt::format("{}/{}/{}", FindString(each, "driver"), FindString(each, "pool"),
                                           FindString(each, "device"));
    const auto [owner, added] = device_owner_.emplace(device, key);
    if (late()) late_["claim " + key] = time_.now();
    const bool tolerated = RecentlyLate("claim " + key) || RecentlyLate("claim " + owner->second);
    if (!added && tolerated) continue;
    if (!added) {
      Report("each device belongs to one claim",
             fmt::format("{} is allocated to {} and {}", device, owner->second, key));
      continue;
    }
    devices_of_[key].insert(device);
  }
}

void Checker::OnVolumeClaim(const sandbox::Change& change) {
  const sandbox::Object& claim = change.subject();
  std::erase_if(volume_owner_, [&](const auto& entry) { return entry.second == claim.uid; });
  if (!change.after) return;
  const sandbox::Document document = change.after->Parse();
  const std::string volume(FindString(document.root(), "spec.volumeName"));
  if (volume.empty()) return;
  const auto [owner, added] = volume_owner_.emplace(volume, claim.uid);
  if (!added) Report("each volume belongs to one claim", fmt::format("{} is bound twice", volume));
}

// A standby measures from its observation of a renewal, which is later than the renewal.
void Checker::OnLease(const sandbox::Change& change) {
  if (change.subject().key != "kube-system/kube-scheduler") return;
  std::string holder;
  if (change.after) {
    const sandbox::Document document = change.after->Parse();
    holder = FindString(document.root(), "spec.holderIdentity");
  }
  if (!holder_.empty() && !holder.empty() && holder != holder_ && time_.now() - renewed_ < kLeaseDuration) {
    Report("a lease that is held is not taken",
           fmt::format("{} takes the lease that {} has renewed {:.3f} s before", holder, holder_,
                       std::chrono::duration<double>(time_.now() - renewed_).count()));
  }
  holder_ = std::move(holder);
  renewed_ = time_.now();
}

// --- bindings ---

const Checker::NodeFacts* Checker::NodeOf(const PodFacts& pod) const {
  const auto found = nodes_.find(pod.node);
  return found == nodes_.end() || !found->second.exists ? nullptr : &found->second;
}

void Checker::CheckBinding(const PodFacts& pod) {
  const NodeFacts* node = NodeOf(pod);
  if (node == nullptr) {
    const auto known = nodes_.find(pod.node);
    if (known == nodes_.end() || !Recent(known->second.changed))
      Report("the node exists", fmt::format("{} is bound to {}, which does not exist", pod.key, pod.node));
    return;
  }
  CheckRoom(pod, *node);
  CheckNode(pod, *node);
  CheckPods(pod, *node);
  CheckLoad(pod);
  const PodTemplate& content = kTemplates[pod.pod_template];
  if (content.spreads || content.follows_small || !pod.group.empty()) CheckLater(pod);
}

// A decision precedes its binding, for pods with claims by the time of the writes of the claims.
void Checker::CheckLoad(const PodFacts& pod) {
  constexpr std::chrono::seconds kDecisionAge{3};
  const PodTemplate& content = kTemplates[pod.pod_template];
  if (!inputs_.reading || content.needs_volume || content.needs_device) return;
  const std::optional<Reading> reading = inputs_.reading(pod.binder, pod.node);
  const Duration age = reading ? time_.now() - reading->at : Duration::max();
  if (!reading || age > kMeasurementUse + kDecisionAge) {
    Report("a node without a measurement gets no pod", fmt::format("{} is bound to {}", pod.key, pod.node));
  } else if (reading->hot && age > kDecisionAge) {
    Report("a hot node gets no pod", fmt::format("{} is bound to {}", pod.key, pod.node));
  }
}

void Checker::CheckLater(const PodFacts& pod) {
  time_.After(kOrderTime, [this, pod] {
    const auto now = pods_.find(pod.key);
    if (inputs_.faulty() || now == pods_.end() || now->second.uid != pod.uid) return;
    CheckGroup(now->second);
    const NodeFacts* node = NodeOf(pod);
    if (node == nullptr) return;
    if (kTemplates[pod.pod_template].spreads) CheckSpread(pod, *node);
    if (kTemplates[pod.pod_template].follows_small) CheckAffinity(pod, *node);
  });
}

void Checker::CheckGroup(const PodFacts& pod) {
  if (pod.group.empty() || incomplete_groups_.contains(pod.group)) return;
  std::size_t bound = 0;
  for (const auto& [key, other] : pods_) bound += other.group == pod.group && !other.node.empty() ? 1 : 0;
  if (bound > 0 && bound < pod.members) {
    Report("pod groups start together",
           fmt::format("{} of {} pods of {} are bound", bound, pod.members, pod.group));
    incomplete_groups_.insert(pod.group);  // once
  }
}

void Checker::CheckGroups() {
  for (const auto& [key, pod] : pods_) CheckGroup(pod);
}

void Checker::CheckRoom(const PodFacts& pod, const NodeFacts& node) {
  if (RecentlyLate("node " + pod.node)) return;
  const NodeShape shape = ShapeOf(node.number);
  std::int64_t cpu = 0, memory = 0, count = 0, ports = 0;
  for (const auto& [key, other] : pods_) {
    if (other.node != pod.node || other.ended) continue;
    const PodTemplate& content = kTemplates[other.pod_template];
    cpu += content.cpu;
    memory += content.memory;
    count += 1;
    ports += content.host_port ? 1 : 0;
  }
  if (cpu > shape.cpu || memory > shape.memory || count > shape.pods) {
    Report("no node over its allocatable",
           fmt::format("with {}, {} has {}m of {}m CPU, {}Mi of {}Mi memory, {} of {} pods", pod.key,
                       pod.node, cpu, shape.cpu, memory, shape.memory, count, shape.pods));
  }
  if (kTemplates[pod.pod_template].host_port && ports > 1)
    Report("a host port has one pod",
           fmt::format("with {}, {} has {} pods on port 8080", pod.key, pod.node, ports));
}

void Checker::CheckNode(const PodFacts& pod, const NodeFacts& node) {
  const PodTemplate& content = kTemplates[pod.pod_template];
  if (content.needs_ssd && !ShapeOf(node.number).ssd)
    Report("node selectors hold", fmt::format("{} is bound to {}", pod.key, pod.node));
  if (inputs_.has_required_extender && !ExtenderAccepts(content.name, node.number))
    Report("the extender accepts the node", fmt::format("{} is bound to {}", pod.key, pod.node));
  if (node.cordoned && !Recent(*node.cordoned))
    Report("cordoned nodes get no pods", fmt::format("{} is bound to {}", pod.key, pod.node));
  if (node.tainted && !content.tolerates && !Recent(*node.tainted))
    Report("taints hold", fmt::format("{} is bound to {}", pod.key, pod.node));
}

void Checker::CheckPods(const PodFacts& pod, const NodeFacts& node) {
  const PodTemplate& content = kTemplates[pod.pod_template];
  if ((!content.avoids_own_node && !content.avoids_own_zone) || RecentlyLate("pods")) return;
  for (const auto& [key, other] : pods_) {
    if (key == pod.key || other.pod_template != pod.pod_template || other.node.empty() || other.ended)
      continue;
    const NodeFacts* place = NodeOf(other);
    if (place == nullptr) continue;
    const bool together = content.avoids_own_node ? other.node == pod.node : place->zone() == node.zone();
    // A node that has just appeared brings its pods with it.
    if (!together || Recent(place->changed) || Recent(node.changed)) continue;
    Report("anti-affinity holds",
           fmt::format("{} is bound to {}, beside {} on {}", pod.key, pod.node, key, other.node));
  }
}

void Checker::CheckAffinity(const PodFacts& pod, const NodeFacts& node) {
  bool small_in_zone = false;
  const Duration since = time_.now() - inputs_.staleness() - kOrderTime;
  bool recent = topology_changed_ >= since;
  for (const auto& [key, other] : pods_) {
    const NodeFacts* place = NodeOf(other);
    if (place == nullptr || other.ended || kTemplates[other.pod_template].name != "small") continue;
    small_in_zone |= place->zone() == node.zone();
  }
  for (const auto& [pod_template, time] : shrunk_)
    recent |= kTemplates[pod_template].name == "small" && time >= since;
  if (small_in_zone || recent) return;
  Report("affinity holds",
         fmt::format("{} is bound to {}, whose zone has no pod of \"small\"", pod.key, pod.node));
}

void Checker::CheckSpread(const PodFacts& pod, const NodeFacts& node) {
  const auto shrunk = shrunk_.find(pod.pod_template);
  const Duration since = time_.now() - inputs_.staleness() - kOrderTime;
  if (topology_changed_ >= since || (shrunk != shrunk_.end() && shrunk->second >= since)) return;
  std::array<std::int64_t, kZones> counts{};
  std::array<bool, kZones> present{};
  for (const auto& [name, each] : nodes_) present[each.zone()] |= each.exists;
  for (const auto& [key, other] : pods_) {
    const NodeFacts* place = NodeOf(other);
    if (place != nullptr && other.pod_template == pod.pod_template && !other.deleting && !other.ended)
      ++counts[place->zone()];
  }
  std::int64_t least = INT64_MAX;
  for (std::size_t zone = 0; zone < kZones; ++zone) {
    if (present[zone]) least = std::min(least, counts[zone]);
  }
  if (counts[node.zone()] - least > 1) {
    Report("topology spread holds", fmt::format("with {}, zone z{} has {} pods, another one {}", pod.key,
                                                node.zone(), counts[node.zone()], least));
  }
}

}  // namespace berth::faults
