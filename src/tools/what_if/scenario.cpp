#include "tools/what_if/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.hpp"
#include "base/nearest.hpp"
#include "kubernetes/api/owners.hpp"
#include "kubernetes/api/selectors.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/what_if/node_edits.hpp"

namespace berth::what_if {
namespace {

// Virtual time until pods that are retried again and again are given up.
constexpr Duration kSettleLimit = std::chrono::minutes(2);
constexpr const char* kNotSettled =
    "some pods are retried again and again; their placement needs volumes or claims that are not created on "
    "a copy of the cluster";
// Taints that node conditions cause: a new node does not have them.
constexpr std::string_view kConditionTaints = "node.kubernetes.io/";

std::string KeyOf(const std::string& ns, const std::string& name) { return ns + "/" + name; }

// The condition PodScheduled and the like belong to the old pod, not to its replacement.
api::Pod WithoutNode(const api::Pod& pod) {
  api::Pod free = pod;
  free.spec.node_name = "";
  free.status = {};
  free.metadata.deletion_timestamp = "";
  free.metadata.resource_version.clear();
  return free;
}

bool Tolerated(const api::Pod& pod, const api::Taint& taint) {
  return std::ranges::any_of(std::as_const(pod.spec.tolerations), [&](const api::Toleration& toleration) {
    return api::Tolerates(toleration, taint);
  });
}

// The controller has created the replacement already; a StatefulSet waits until the name is free.
bool WasReplaced(const api::Pod& pod) {
  return pod.metadata.deleting() && pod.metadata.controller && pod.metadata.controller->kind != "StatefulSet";
}

// Whose pods come back: every controller but those that bind pods to their nodes.
bool IsReplaced(const api::Pod& pod, bool node_remains) {
  if (!pod.metadata.controller || api::IsMirrorPod(pod.metadata)) return false;
  return node_remains || !api::IsOfDaemonSet(pod.metadata);
}

}  // namespace

Expected<std::string> FileTexts::Read(const std::string& file) {
  const auto known = texts_.find(file);
  if (known != texts_.end()) return known->second;
  BERTH_TRY(std::string text, ReadWholeFile(file));
  return texts_.emplace(file, std::move(text)).first->second;
}

Expected<std::unique_ptr<Scenario>> Scenario::Build(const ScenarioParts& parts,
                                                    std::vector<std::string>& notes) {
  std::unique_ptr<Scenario> scenario(new Scenario(parts));
  // Decisions and deletions take no time: only their order matters.
  const simulation::VirtualClusterOptions options{
      .latencies = {.termination = std::chrono::milliseconds(1)}, .decision = {}, .seed = parts.seed};
  BERTH_TRY(scenario->cluster_,
            simulation::VirtualCluster::Build(parts.config, parts.plugins, options, notes));
  scenario->cluster_->api().SetObserver(scenario.get());
  if (parts.objects.nodes().size() > kMostNodes || parts.objects.pods().size() > kMostPods) {
    return Invalid(fmt::format("the cluster has {} nodes and {} pods; expected at most {} and {}",
                               parts.objects.nodes().size(), parts.objects.pods().size(), kMostNodes,
                               kMostPods));
  }
  scenario->LoadObjects(notes);
  scenario->cluster_->Start();
  if (!scenario->Settle()) notes.emplace_back(kNotSettled);
  scenario->budgets_.emplace(scenario->engine().cache().objects());
  return scenario;
}

Scenario::~Scenario() = default;

void Scenario::LoadObjects(std::vector<std::string>& notes) {
  simulation::VirtualApi& api = cluster_->api();
  for (const auto& [name, node] : parts_.objects.nodes()) api.Put(api::Node(*node));
  api::AllKinds::ForEach([&]<class T>() {
    if constexpr (!std::same_as<T, api::Pod> && !std::same_as<T, api::Node>) {
      for (const auto& [key, object] : parts_.objects.others().Of<T>()) api.Put(T(*object));
    }
  });
  std::size_t deleting = 0;
  for (const api::PodPtr& pod : parts_.objects.pods()) {
    const bool waits = pod->spec.node_name.empty();
    if (pod->terminal() || (waits && pod->metadata.deleting())) continue;
    deleting += pod->metadata.deleting() ? 1 : 0;
    ++pods_;
    if (waits) {
      by_uid_[pod->metadata.uid] = followed_.size();
      followed_.push_back(
          {.pod = pod, .owner = explanation::OwnerOf(*pod), .origin = FollowedPod::Origin::kPending});
    }
    api.CreatePod(api::Pod(*pod));
  }
  if (deleting > 0)
    notes.push_back(fmt::format("{} pod{} with a node {} being deleted and still count{}", deleting,
                                deleting == 1 ? "" : "s", deleting == 1 ? "is" : "are",
                                deleting == 1 ? "s" : ""));
}

bool Scenario::Settle() { return cluster_->Settle(kSettleLimit, parts_.stop); }

Expected<ChangeResult> Scenario::Apply(const Change& change) {
  ++step_;
  ChangeResult result{.change = TextOf(change)};
  auto made = std::visit([&](const auto& one) { return Make(one, result); }, change);
  if (!made) return std::unexpected(std::move(made).error().In(result.change));
  changes_.push_back(change);
  if (!Settle()) result.notes.emplace_back(kNotSettled);
  ReleaseBudgets();
  return result;
}

// --- nodes ---

Expected<api::NodePtr> Scenario::FindNode(const std::string& name) const {
  if (api::NodePtr node = cluster_->api().Find<api::Node>(name)) return node;
  std::vector<std::string> known;
  cluster_->api().ForEach<api::Node>([&](const api::NodePtr& node) { known.push_back(node->metadata.name); });
  std::ranges::sort(known);
  const std::string nearest = Nearest(name, known);
  return Fail(ErrorCode::kNotFound,
              nearest.empty() ? fmt::format("there is no node {} among {} nodes", name, known.size())
                              : fmt::format("there is no node {}; the nearest name is {}", name, nearest));
}

Expected<api::NodePtr> Scenario::ModelOf(const std::string& like, const std::string& file) const {
  if (!like.empty()) return FindNode(like);
  BERTH_TRY(const std::string text, parts_.files.Read(file));
  BERTH_TRY(api::Node node, ReadNode(text, file));
  return std::make_shared<const api::Node>(std::move(node));
}

Expected<void> Scenario::Make(const AddNodes& change, ChangeResult& result) {
  BERTH_TRY(const api::NodePtr like, ModelOf(change.like, change.file));
  if (change.like.empty())
    result.notes.emplace_back("DaemonSet pods of the new nodes are not known and take nothing");
  BERTH_TRY(result.nodes, CopyNode(*like, change.count, &result.daemon_pods));
  return {};
}

// As a new machine of the same kind: without the state of the old one, and with its DaemonSet pods.
Expected<std::vector<std::string>> Scenario::CopyNode(const api::Node& like, std::size_t count,
                                                      std::size_t* daemon_pods) {
  simulation::VirtualApi& api = cluster_->api();
  if (count > kMostNodes || nodes() + count > kMostNodes)
    return Invalid(fmt::format("expected at most {} nodes, got {}", kMostNodes, nodes() + count));
  const auto drivers = api.Find<api::CSINode>(like.metadata.name);
  std::vector<api::PodPtr> daemons = PodsOn(like.metadata.name);
  std::erase_if(daemons, [](const api::PodPtr& pod) { return !api::IsOfDaemonSet(pod->metadata); });
  if (pods_ + daemons.size() * count > kMostPods)
    return Invalid(fmt::format("expected at most {} pods, got {} with those of DaemonSets", kMostPods,
                               pods_ + daemons.size() * count));
  const std::vector<api::ResourceSlice> slices = SlicesOf(like.metadata.name);
  const auto zones = api.Find<api::NodeResourceTopology>(like.metadata.name);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    api::Node node = like;
    std::string& name = node.metadata.name;
    do {
      name = fmt::format("{}-new-{}", like.metadata.name, ++numbers_["node " + like.metadata.name]);
    } while (api.Find<api::Node>(name) != nullptr);
    node.metadata.uid = NewUid();
    if (node.metadata.labels.Find("kubernetes.io/hostname") != nullptr)
      node.metadata.labels.Set("kubernetes.io/hostname", name);
    node.unschedulable = false;
    api::CowList<api::Taint> taints;
    for (const api::Taint& taint : std::as_const(node.taints)) {
      if (!taint.key.starts_with(kConditionTaints)) taints.push_back(taint);
    }
    node.taints = std::move(taints);
    node.addresses = {};
    node.images = {};  // nothing is pulled yet: ImageLocality must not prefer the new node
    names.push_back(name);
    if (drivers != nullptr) {
      api::CSINode copy = *drivers;
      copy.metadata.name = name;
      copy.metadata.uid = NewUid();
      api.Put(std::move(copy));
    }
    if (zones != nullptr) {
      api::NodeResourceTopology copy = *zones;
      copy.metadata.name = name;
      copy.metadata.uid = NewUid();
      api.Put(std::move(copy));
    }
    for (const api::ResourceSlice& slice : slices) api.Put(SliceOf(slice, name));
    api.Put(std::move(node));
    for (const api::PodPtr& daemon : daemons) {
      api::Pod pod = *daemon;
      pod.metadata.uid = NewUid();
      pod.metadata.name = FreeName(pod.metadata.ns, daemon->metadata.controller->name);
      pod.spec.node_name = names.back();
      ++pods_;
      api.CreatePod(std::move(pod));
    }
  }
  if (daemon_pods != nullptr) *daemon_pods += daemons.size() * count;
  return names;
}

// Those that publish the devices of this node only; by name.
std::vector<api::ResourceSlice> Scenario::SlicesOf(std::string_view node) const {
  std::vector<api::ResourceSlice> slices;
  cluster_->api().ForEach<api::ResourceSlice>([&](const std::shared_ptr<const api::ResourceSlice>& slice) {
    if (slice->node_name == node) slices.push_back(*slice);
  });
  std::ranges::sort(slices, {}, [](const api::ResourceSlice& slice) { return slice.metadata.name; });
  return slices;
}

// The same devices on another node, in a pool of its own.
api::ResourceSlice Scenario::SliceOf(const api::ResourceSlice& like, const std::string& node) {
  api::ResourceSlice slice = like;
  slice.metadata.name = fmt::format("{}-{}", node, like.metadata.name);
  slice.metadata.uid = NewUid();
  slice.pool = like.pool == like.node_name ? node : fmt::format("{}-{}", node, like.pool);
  slice.node_name = node;
  return slice;
}

Expected<void> Scenario::Make(const RemoveNode& change, ChangeResult& result) {
  BERTH_RETURN_IF_ERROR(FindNode(change.node));
  const std::vector<api::PodPtr> pods = PodsOn(change.node);
  cluster_->api().Remove<api::Node>(change.node);
  cluster_->api().Remove<api::CSINode>(change.node);
  cluster_->api().Remove<api::NodeResourceTopology>(change.node);
  for (const api::ResourceSlice& slice : SlicesOf(change.node))
    cluster_->api().Remove<api::ResourceSlice>(slice.metadata.name);
  // The garbage collector of pods deletes one after the other, and the scheduler is faster.
  for (const api::PodPtr& pod : pods) {
    Remove(*pod, End::kNodeRemoved, result);
    Settle();
  }
  return {};
}

Expected<void> Scenario::Make(const Cordon& change, ChangeResult&) {
  BERTH_TRY(const api::NodePtr node, FindNode(change.node));
  cluster_->api().Put(WithCordon(*node, change.unschedulable));
  return {};
}

// One pod after the other. kubectl retries evictions that a budget rejects: replacements that run give new
// room.
Expected<void> Scenario::Make(const Drain& change, ChangeResult& result) {
  BERTH_TRY(const api::NodePtr node, FindNode(change.node));
  cluster_->api().Put(WithCordon(*node, true));
  std::vector<api::PodPtr> left;
  for (const api::PodPtr& pod : PodsOn(change.node)) {
    if (api::IsMirrorPod(pod->metadata)) {
      result.stays.push_back({pod->metadata.Key(), "static pod"});
    } else if (api::IsOfDaemonSet(pod->metadata)) {
      result.stays.push_back({pod->metadata.Key(), "DaemonSet"});
    } else {
      left.push_back(pod);
    }
  }
  for (bool progress = true; progress && !left.empty();) {
    progress = std::erase_if(left, [&](const api::PodPtr& pod) { return Evict(*pod, result); }) > 0;
    progress = ReleaseBudgets() || progress;
  }
  for (const api::PodPtr& pod : left) {
    const auto room = budgets_->For(*pod);
    const std::string budget = KeyOf(pod->metadata.ns, room.name);
    result.blocked.push_back(
        {.pod = pod->metadata.Key(),
         .budget = budget,
         .allowed = room.left,
         .why = room.budgets > 1
                    ? "it has more than one PodDisruptionBudget, so that the API server rejects its eviction"
                    : fmt::format("PodDisruptionBudget {} allows {} disruptions; it needs 1", budget,
                                  room.left)});
  }
  return {};
}

bool Scenario::Evict(const api::Pod& pod, ChangeResult& result) {
  ReleaseBudgets();
  const auto room = budgets_->For(pod);
  // The API server checks no budget of a pod that has not started or is being deleted.
  const bool free = pod.status.phase == "Pending" || pod.metadata.deleting();
  if (!free && (room.budgets > 1 || (room.budgets == 1 && room.left <= 0))) return false;
  if (!free) budgets_->Take(pod);
  const std::size_t before = followed_.size();
  Remove(pod, End::kEvicted, result);
  if (followed_.size() > before && !free) unreleased_.push_back(before);
  Settle();
  return true;
}

bool Scenario::ReleaseBudgets() {
  return std::erase_if(unreleased_, [&](std::size_t index) {
           const FollowedPod& pod = followed_[index];
           if (!pod.node.empty()) budgets_->Release(*pod.pod);
           return pod.gone || !pod.node.empty();
         }) > 0;
}

Expected<void> Scenario::Make(const SetLabel& change, ChangeResult&) {
  BERTH_TRY(const api::NodePtr node, FindNode(change.node));
  api::Node changed = *node;
  if (const std::string wrong = api::CheckLabelKey(change.key); !wrong.empty())
    return Invalid(fmt::format("label key \"{}\": {}", change.key, wrong));
  if (change.value) {
    if (const std::string wrong = api::CheckLabelValue(*change.value); !wrong.empty())
      return Invalid(fmt::format("label value \"{}\": {}", *change.value, wrong));
    changed.metadata.labels.Set(change.key, *change.value);
  } else {
    std::vector<std::string> known;
    api::Labels kept;
    for (const auto& [key, value] : node->metadata.labels) {
      known.push_back(key);
      if (key != change.key) kept.Set(key, value);
    }
    if (kept.size() == node->metadata.labels.size()) {
      const std::string nearest = Nearest(change.key, known);
      return Fail(ErrorCode::kNotFound,
                  fmt::format("node {} has no label {}{}", change.node, change.key,
                              nearest.empty() ? "" : "; the nearest one is " + nearest));
    }
    changed.metadata.labels = std::move(kept);
  }
  cluster_->api().Put(std::move(changed));
  return {};
}

// The taint manager evicts pods that do not tolerate NoExecute, whatever the budgets.
Expected<void> Scenario::Make(const SetTaint& change, ChangeResult& result) {
  BERTH_TRY(const api::NodePtr node, FindNode(change.node));
  api::Node changed = WithoutTaint(*node, change.taint.key, change.taint.effect);
  if (change.remove && changed.taints == node->taints)
    return Fail(ErrorCode::kNotFound,
                fmt::format("node {} has no taint {}{}{}", change.node, change.taint.key,
                            change.taint.effect.empty() ? "" : ":", change.taint.effect));
  if (!change.remove) changed.taints.push_back(change.taint);
  cluster_->api().Put(std::move(changed));
  if (change.remove || change.taint.effect != "NoExecute") return {};
  for (const api::PodPtr& pod : PodsOn(change.node)) {
    if (Tolerated(*pod, change.taint)) continue;
    if (api::IsMirrorPod(pod->metadata)) {
      result.stays.push_back({pod->metadata.Key(), "static pod"});
    } else {
      // A DaemonSet creates no pod for a node whose taint its pods do not tolerate.
      Remove(*pod, api::IsOfDaemonSet(pod->metadata) ? End::kNodeRemoved : End::kEvicted, result);
      Settle();
    }
  }
  return {};
}

// --- pods ---

Expected<Manifest> Scenario::Read(const std::string& file) const {
  BERTH_TRY(const std::string text, parts_.files.Read(file));
  const api::RetainedFields retained = cluster_->engine().retained_fields();
  return ReadManifest(text, file == "-" ? "standard input" : file,
                      {retained, parts_.objects.priority_classes(), parts_.ns});
}

void Scenario::CreateObjects(const Manifest& manifest) {
  for (const ports::ClusterChange& object : manifest.objects) {
    std::visit(
        [&]<class T>(const ports::Change<T>& change) {
          if constexpr (!std::same_as<T, api::Pod>) cluster_->api().Put(T(*change.after));
        },
        object);
  }
}

Expected<void> Scenario::Make(const AddPods& change, ChangeResult& result) {
  BERTH_TRY(const Manifest manifest, Read(change.file));
  CreateObjects(manifest);
  for (const PodSource& source : manifest.pods) {
    BERTH_TRY(const auto created, CreatePods(source, change.replicas.value_or(source.count)));
    result.added += created.size();
  }
  return {};
}

Expected<std::vector<std::size_t>> Scenario::CreatePods(const PodSource& source, std::size_t count) {
  if (count > kMostPods || pods_ + count > kMostPods)
    return Invalid(fmt::format("expected at most {} pods, got {}", kMostPods, pods_ + count));
  const std::string ns = source.model.metadata.ns;
  const bool single = source.kind == "Pod" && count == 1;
  if (single && cluster_->api().Find<api::Pod>(KeyOf(ns, source.name)) != nullptr)
    return Fail(
        ErrorCode::kAlreadyExists,
        fmt::format("pod {} exists already; delete it first, or use another name", KeyOf(ns, source.name)));
  std::vector<std::size_t> created;
  for (std::size_t i = 0; i < count; ++i) {
    api::Pod pod = source.model;
    pod.metadata.name = single ? source.name : FreeName(ns, source.name);
    created.push_back(followed_.size());
    Follow(std::move(pod), FollowedPod::Origin::kAdded, "");
  }
  return created;
}

Expected<std::vector<api::PodPtr>> Scenario::Select(const PodSelection& selection) const {
  const std::string ns = selection.ns.empty() ? parts_.ns : selection.ns;
  if (selection.owner.empty()) {
    if (api::PodPtr pod = cluster_->api().Find<api::Pod>(KeyOf(ns, selection.name))) return std::vector{pod};
    std::vector<std::string> known;
    cluster_->api().ForEach<api::Pod>([&](const api::PodPtr& pod) { known.push_back(pod->metadata.Key()); });
    std::ranges::sort(known);
    return Fail(ErrorCode::kNotFound, explain::UnknownPod(KeyOf(ns, selection.name), known));
  }
  const std::string wanted = fmt::format("{} {}/{}", selection.owner, ns, selection.name);
  std::vector<api::PodPtr> pods;
  std::vector<std::string> known;
  cluster_->api().ForEach<api::Pod>([&](const api::PodPtr& pod) {
    std::string owner = explanation::OwnerOf(*pod);
    if (owner == wanted) {
      pods.push_back(pod);
    } else if (!owner.empty()) {
      known.push_back(std::move(owner));
    }
  });
  std::ranges::sort(pods, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
  if (!pods.empty()) return pods;
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  const std::string nearest = Nearest(wanted, known);
  return Fail(ErrorCode::kNotFound, fmt::format("{} has no pods{}", wanted,
                                                nearest.empty() ? "" : "; the nearest owner is " + nearest));
}

Expected<void> Scenario::Make(const DeletePods& change, ChangeResult& result) {
  BERTH_TRY(const auto pods, Select(change.pods));
  // The controller of a single pod replaces it; with its controller, nothing does.
  const End end = change.pods.owner.empty() ? End::kEvicted : End::kDeleted;
  for (const api::PodPtr& pod : pods) Remove(*pod, end, result);
  return {};
}

template <class Alter>
Expected<void> Scenario::Replace(const PodSelection& selection, ChangeResult& result, Alter&& alter) {
  BERTH_TRY(auto pods, Select(selection));
  std::erase_if(pods, [](const api::PodPtr& pod) { return WasReplaced(*pod); });
  std::vector<api::Pod> changed;
  for (const api::PodPtr& pod : pods) {
    api::Pod free = WithoutNode(*pod);
    BERTH_RETURN_IF_ERROR(alter(free));
    changed.push_back(std::move(free));
  }
  for (const api::PodPtr& pod : pods) Remove(*pod, End::kReplaced, result);
  for (std::size_t i = 0; i < pods.size(); ++i)
    Follow(std::move(changed[i]), FollowedPod::Origin::kReplacement, pods[i]->spec.node_name.str());
  return {};
}

Expected<void> Scenario::Make(const SetRequests& change, ChangeResult& result) {
  return Replace(change.pods, result, [&](api::Pod& pod) -> Expected<void> {
    if (std::as_const(pod.spec.containers).empty())
      return Invalid(fmt::format("pod {} has no container", pod.metadata.Key()));
    api::ResourceRequirements& resources = pod.spec.containers[0].resources;
    for (const auto& [resource, text] : change.requests) {
      BERTH_TRY(const api::Quantity amount, api::Quantity::Parse(text));
      resources.requests.insert_or_assign(resource, amount);
      if (resources.limits.contains(resource) && resources.limits.at(resource).Compare(amount) < 0)
        resources.limits.insert_or_assign(resource, amount);
    }
    return {};
  });
}

Expected<void> Scenario::Make(const SetPriority& change, ChangeResult& result) {
  return Replace(change.pods, result, [&](api::Pod& pod) -> Expected<void> {
    pod.spec.priority = change.priority;
    return {};
  });
}

// Effects on controllers follow in OnPodRemoved, at once.
void Scenario::Remove(const api::Pod& pod, End end, ChangeResult& result) {
  ++result.removed;
  if (pod.spec.local_storage && !pod.spec.node_name.empty()) ++result.local_storage;
  ends_[pod.metadata.uid] = WasReplaced(pod) ? End::kDeleted : end;
  cluster_->api().RemovePod(pod.metadata.Key(), std::string(pod.metadata.uid));
}

void Scenario::Follow(api::Pod pod, FollowedPod::Origin origin, std::string from) {
  pod.metadata.uid = NewUid();
  by_uid_[pod.metadata.uid] = followed_.size();
  followed_.push_back({.pod = std::make_shared<const api::Pod>(pod),
                       .owner = explanation::OwnerOf(pod),
                       .origin = origin,
                       .from = std::move(from),
                       .step = step_});
  ++pods_;
  cluster_->api().CreatePod(std::move(pod));
}

// "web-1": the first free number.
std::string Scenario::FreeName(const std::string& ns, const std::string& stem) {
  std::size_t& number = numbers_[KeyOf(ns, stem)];
  std::string name;
  do {
    name = fmt::format("{}-{}", stem, number++);
  } while (cluster_->api().Find<api::Pod>(KeyOf(ns, name)) != nullptr);
  return name;
}

std::vector<std::size_t> Scenario::Waiting() const {
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < followed_.size(); ++i) {
    if (!followed_[i].gone && followed_[i].node.empty()) waiting.push_back(i);
  }
  return waiting;
}

api::PodPtr Scenario::Current(const FollowedPod& pod) const {
  return cluster_->api().Find<api::Pod>(pod.pod->metadata.Key());
}

assembly::ClusterContents Scenario::Contents() const {
  assembly::ClusterContents contents;
  const simulation::VirtualApi& api = cluster_->api();
  api::AllKinds::ForEach([&]<class T>() {
    api.ForEach<T>([&](const std::shared_ptr<const T>& object) {
      if constexpr (std::same_as<T, api::Node>) {
        contents.nodes.push_back(object);
      } else if constexpr (std::same_as<T, api::Pod>) {
        contents.pods.push_back(object);
      } else if constexpr (std::same_as<T, api::PodDisruptionBudget>) {
        const auto left = budgets_->Left(*object);
        if (!left) return;  // of a manifest, whose status is not known, or without a valid selector
        auto budget = std::make_shared<T>(*object);
        budget->disruptions_allowed = static_cast<std::int32_t>(*left);
        contents.others.emplace_back(ports::Change<T>{nullptr, std::move(budget)});
      } else {
        contents.others.emplace_back(ports::Change<T>{nullptr, object});
      }
    });
  });
  return contents;
}

std::vector<api::PodPtr> Scenario::PodsOn(std::string_view node) const {
  const assembly::Engine& engine = std::as_const(*cluster_).engine();
  const cluster::NodeTable& table = engine.cache().nodes();
  const cluster::Row row = table.Find(node);
  std::vector<api::PodPtr> pods;
  if (row == cluster::kNoRow) return pods;
  for (const cluster::PlacedPod* placed : table.pods(row)) {
    // The node table has the pod before its binding.
    if (api::PodPtr pod = cluster_->api().Find<api::Pod>(placed->pod->metadata.Key());
        pod != nullptr && pod->spec.node_name == node)
      pods.push_back(std::move(pod));
  }
  std::ranges::sort(pods, {}, [](const api::PodPtr& pod) { return pod->metadata.Key(); });
  return pods;
}

// --- what happens ---

void Scenario::OnBound(const api::PodPtr& pod) {
  const auto found = by_uid_.find(pod->metadata.uid);
  if (found == by_uid_.end()) return;
  FollowedPod& followed = followed_[found->second];
  followed.node = pod->spec.node_name.str();
  followed.bound_at = step_;
  followed.problem.clear();
}

void Scenario::OnPreempted(const api::PodPtr& pod) {
  ends_[pod->metadata.uid] = End::kPreempted;
  preempted_uids_[pod->metadata.uid] = preempted_.size();
  preempted_.push_back(
      {pod->metadata.Key(), explanation::OwnerOf(*pod), pod->spec.node_name.str(), pod->spec.priority});
}

void Scenario::OnEvent(const ports::Event& event) {
  const std::string& uid = event.regarding->metadata.uid;
  if (event.reason == "Preempted" && event.related) {
    const auto found = preempted_uids_.find(uid);
    if (found != preempted_uids_.end()) {
      PreemptedPod& preempted = preempted_[found->second];
      preempted.by = KeyOf(event.related->ns, event.related->name);
      if (const auto by = by_uid_.find(event.related->uid); by != by_uid_.end())
        preempted.by_priority = followed_[by->second].pod->spec.priority;
    }
  }
  if (event.reason != "FailedScheduling") return;
  if (const auto found = by_uid_.find(uid); found != by_uid_.end())
    followed_[found->second].problem = event.note;
}

void Scenario::OnPodRemoved(const api::PodPtr& pod) {
  --pods_;
  if (const auto found = by_uid_.find(pod->metadata.uid); found != by_uid_.end())
    followed_[found->second].gone = true;
  const auto end = ends_.find(pod->metadata.uid);
  const End how = end == ends_.end() ? End::kDeleted : end->second;
  if (end != ends_.end()) ends_.erase(end);
  if (how == End::kDeleted || how == End::kReplaced) return;
  if (IsReplaced(*pod, how != End::kNodeRemoved)) return AddReplacement(*pod);
  // They belong to the node.
  if (api::ComesBack(pod->metadata)) return;
  const char* const why = how == End::kPreempted     ? "preempted"
                          : how == End::kNodeRemoved ? "its node is gone"
                                                     : "deleted";
  lost_.push_back({pod->metadata.Key(), explanation::OwnerOf(*pod), pod->spec.node_name.str(),
                   fmt::format("{}; no controller replaces it", why)});
}

void Scenario::AddReplacement(const api::Pod& of) {
  api::Pod pod = WithoutNode(of);
  // A StatefulSet keeps the names of its pods.
  if (of.metadata.controller->kind != "StatefulSet")
    pod.metadata.name = FreeName(of.metadata.ns, of.metadata.controller->name);
  Follow(std::move(pod), FollowedPod::Origin::kReplacement, of.spec.node_name.str());
}

}  // namespace berth::what_if
