// A copy of a cluster on virtual time, to which changes are made.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/assembly/fill_engine.hpp"
#include "scheduler/assembly/loaded_cluster.hpp"
#include "scheduler/cluster/eviction_budgets.hpp"
#include "scheduler/runtime/registry.hpp"
#include "simulation/virtual_cluster.hpp"
#include "tools/what_if/changes.hpp"
#include "tools/what_if/manifest.hpp"

namespace berth::what_if {

// A pod without a node, at the start or since a change.
struct FollowedPod {
  enum class Origin : std::uint8_t {
    kPending,      // existed at the start
    kAdded,        // by a change
    kReplacement,  // of a pod that was evicted, preempted, or changed
  };
  api::PodPtr pod;    // without a node
  std::string owner;  // "Deployment shop/web"; empty: no controller
  Origin origin{};
  std::string from = {};     // of a replacement: the node of the pod that it replaces
  std::size_t step = 0;      // the number of the change that created it; 0: the start
  std::string node = {};     // empty: not bound
  std::size_t bound_at = 0;  // the number of the change after which it was bound; 0: before the first one
  bool gone = false;         // it no longer exists
  std::string problem = {};  // the last reason why it was not bound
};

struct LostPod {
  std::string pod, owner, node;
  std::string why;  // "evicted; no controller replaces it"
};
struct PreemptedPod {
  std::string pod, owner, node;
  std::int32_t priority = 0;
  std::string by = {};                           // "namespace/name" of the pod or group that takes its place
  std::optional<std::int32_t> by_priority = {};  // nullopt: a group, or a pod that is not followed
};
struct StayingPod {
  std::string pod, why;
};
struct BlockedPod {
  std::string pod;
  std::string budget;        // "namespace/name"
  std::int64_t allowed = 0;  // disruptions that the budget allows
  std::string why;           // a sentence without a full stop
};

// What a change did besides placements.
struct ChangeResult {
  std::string change;                    // TextOf
  std::vector<std::string> nodes = {};   // added
  std::size_t added = 0;                 // pods
  std::size_t removed = 0;               // pods: evicted, deleted, replaced, or gone with the node
  std::vector<StayingPod> stays = {};    // not evicted by a drain, as kubectl does it
  std::vector<BlockedPod> blocked = {};  // not evicted because of a budget
  std::size_t daemon_pods = 0;           // of new nodes
  std::size_t local_storage = 0;         // removed pods with local storage, which is lost
  std::vector<std::string> notes = {};
};

// The texts of files, each read once: a question may need many scenarios, and standard input has no second
// text.
class FileTexts {
 public:
  // "-" is standard input.
  Expected<std::string> Read(const std::string& file);

 private:
  std::map<std::string, std::string> texts_;
};

struct ScenarioParts {
  const assembly::LoadedCluster& objects;
  const config::SchedulerConfig& config;  // without extenders
  const runtime::Registry& plugins;
  std::string ns = "default";  // of names without a namespace
  std::uint64_t seed = 1;      // of the choice between equal nodes
  FileTexts& files;            // of manifests
  const std::atomic<bool>& stop;
};

// The production scheduler places pods one after the other in the order of its queue, at the start and after
// each change, until nothing changes any more. Controllers replace pods that are evicted or preempted.
// Nothing is written outside of this object. The same parts and changes give the same result. One thread; the
// parts must outlive it.
class Scenario final : private simulation::ApiObserver {
 public:
  // Limits of what one question may request.
  static constexpr std::size_t kMostNodes = 100'000;
  static constexpr std::size_t kMostPods = 1'000'000;

  // Places the pods that have no node. Errors are those of the configuration. `notes`: texts for users.
  static Expected<std::unique_ptr<Scenario>> Build(const ScenarioParts& parts,
                                                   std::vector<std::string>& notes);
  ~Scenario() override;

  // Makes a change and places pods. Errors name what does not exist, with the nearest name.
  Expected<ChangeResult> Apply(const Change& change);

  // The manifest of a file, read with the cluster's PriorityClasses.
  Expected<Manifest> Read(const std::string& file) const;
  // Creates the objects of a manifest, without its pods.
  void CreateObjects(const Manifest& manifest);
  // Creates `count` pods, without placing them. Errors: a pod of that name exists, or there are too many.
  // Returns the pods' indices in followed().
  Expected<std::vector<std::size_t>> CreatePods(const PodSource& source, std::size_t count);
  // Places what can be placed. Returns false if pods were still being retried at the end.
  bool Settle();
  // Copies of a node, without placing pods. Errors: the limit of nodes.
  Expected<std::vector<std::string>> CopyNode(const api::Node& like, std::size_t count,
                                              std::size_t* daemon_pods);
  Expected<api::NodePtr> FindNode(const std::string& name) const;
  // The node of this name; if that is empty, the Node in the file.
  Expected<api::NodePtr> ModelOf(const std::string& like, const std::string& file) const;

  // Those that were made, in their order.
  const std::vector<Change>& changes() const { return changes_; }
  const std::vector<FollowedPod>& followed() const { return followed_; }
  const std::vector<LostPod>& lost() const { return lost_; }
  const std::vector<PreemptedPod>& preempted() const { return preempted_; }
  // The answer is no longer needed.
  bool stopped() const { return parts_.stop.load(); }
  // The indices in followed() of pods that exist and have no node.
  std::vector<std::size_t> Waiting() const;
  // The current version of a pod that exists.
  api::PodPtr Current(const FollowedPod& pod) const;
  std::size_t nodes() const { return cluster_->engine().cache().nodes().node_count(); }
  assembly::Engine& engine() { return cluster_->engine(); }
  // All objects as they are now. PodDisruptionBudgets allow what the drains have left.
  assembly::ClusterContents Contents() const;
  // The bound pods of a node, by name.
  std::vector<api::PodPtr> PodsOn(std::string_view node) const;
  std::vector<api::ResourceSlice> SlicesOf(std::string_view node) const;
  api::ResourceSlice SliceOf(const api::ResourceSlice& like, const std::string& node);

 private:
  enum class End : std::uint8_t { kDeleted, kEvicted, kPreempted, kNodeRemoved, kReplaced };

  explicit Scenario(const ScenarioParts& parts) : parts_(parts) {}
  void LoadObjects(std::vector<std::string>& notes);

  Expected<void> Make(const AddNodes& change, ChangeResult& result);
  Expected<void> Make(const RemoveNode& change, ChangeResult& result);
  Expected<void> Make(const Cordon& change, ChangeResult& result);
  Expected<void> Make(const Drain& change, ChangeResult& result);
  Expected<void> Make(const SetLabel& change, ChangeResult& result);
  Expected<void> Make(const SetTaint& change, ChangeResult& result);
  Expected<void> Make(const AddPods& change, ChangeResult& result);
  Expected<void> Make(const DeletePods& change, ChangeResult& result);
  Expected<void> Make(const SetRequests& change, ChangeResult& result);
  Expected<void> Make(const SetPriority& change, ChangeResult& result);

  // Evicts a pod and places its replacement. Returns false if its budget does not allow that now.
  bool Evict(const api::Pod& pod, ChangeResult& result);
  // Replacements that have been bound since give their budgets new room. Returns whether there were any.
  bool ReleaseBudgets();
  // Replaces the pods of the selection; alter(pod) makes the new version.
  template <class Alter>
  Expected<void> Replace(const PodSelection& pods, ChangeResult& result, Alter&& alter);
  Expected<std::vector<api::PodPtr>> Select(const PodSelection& selection) const;
  void Remove(const api::Pod& pod, End end, ChangeResult& result);
  void AddReplacement(const api::Pod& of);
  void Follow(api::Pod pod, FollowedPod::Origin origin, std::string from);
  std::string FreeName(const std::string& ns, const std::string& stem);
  std::string NewUid() { return "what-if-" + std::to_string(++uids_); }

  // --- ApiObserver ---
  void OnBound(const api::PodPtr& pod) override;
  void OnPreempted(const api::PodPtr& pod) override;
  void OnPodRemoved(const api::PodPtr& pod) override;
  void OnEvent(const ports::Event& event) override;

  const ScenarioParts parts_;
  std::unique_ptr<simulation::VirtualCluster> cluster_;
  std::optional<cluster::EvictionBudgets> budgets_;
  std::vector<std::size_t> unreleased_;  // replacements of evicted pods, in followed_
  std::vector<FollowedPod> followed_;
  TextMap<std::size_t> by_uid_;   // in followed_
  TextMap<End> ends_;             // of pods that are being removed, by UID
  TextMap<std::size_t> numbers_;  // last number of names by stem
  std::vector<LostPod> lost_;
  std::vector<PreemptedPod> preempted_;
  TextMap<std::size_t> preempted_uids_;  // in preempted_
  std::size_t step_ = 0;
  std::size_t pods_ = 0;
  std::uint64_t uids_ = 0;
  std::vector<Change> changes_;
};

}  // namespace berth::what_if
