// The indexed cache of cluster state that controllers share, updated on every write: an informer's cache with
// its indexes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "sandbox/store/selector.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

// The data of a pod that controllers use, parsed once for all controllers.
struct PodFacts {
  ObjectPtr object;
  std::string owner_kind, owner_name, owner_uid;  // the managing controller; empty: none
  bool ready = false;
  WallTime ready_since{};
  WallTime created{};
  std::int64_t restarts = 0;
  std::int64_t deletion_cost = 0;
  std::int64_t exit_code = 0;  // of the first container that failed
  // When a pod that has ended or is being deleted stopped to work: the end of its last container, the time
  // when it was no longer ready, or the start of its deletion; otherwise `created`.
  WallTime finished{};

  const std::string& node() const { return object->fields[pod_field::kNodeName]; }
  const std::string& phase() const { return object->fields[pod_field::kPhase]; }
  bool failed() const { return phase() == "Failed"; }
  bool succeeded() const { return phase() == "Succeeded"; }
  bool terminal() const { return failed() || succeeded(); }
  bool active() const { return !terminal() && !object->deleting; }
  // True if the pod has been ready for that long. Otherwise `wait` receives the remaining time if the pod is
  // ready.
  bool Available(std::int64_t min_ready_seconds, WallTime now, Duration* wait = nullptr) const;
};

class PodObserver {
 public:
  virtual ~PodObserver() = default;
  // `before` is null after a creation, `after` is null after a deletion. Must not write, like
  // StoreObserver::OnChange.
  virtual void OnPod(const PodFacts* before, const PodFacts* after) = 0;
};

// One thread. Must be registered with the store before every observer that reads it.
class ClusterView final : public StoreObserver {
 public:
  struct ByKey {
    bool operator()(const PodFacts* a, const PodFacts* b) const { return a->object->key < b->object->key; }
  };
  using Pods = std::set<const PodFacts*, ByKey>;
  using Dependent = std::pair<const ResourceType*, std::string>;  // type and key

  explicit ClusterView(Store& store);
  void OnChange(const ResourceType& type, const Change& change) override;
  void Observe(PodObserver& observer) { observers_.push_back(&observer); }

  const PodFacts* Pod(std::string_view key) const;
  // Ordered by key; valid until the next write.
  std::vector<const PodFacts*> PodsOf(const std::string& controller_uid) const;
  std::vector<const PodFacts*> OrphansIn(const std::string& ns) const;
  std::vector<const PodFacts*> PodsOn(const std::string& node) const;
  std::size_t CountOn(const std::string& node) const;
  void ForEachIn(std::string_view ns, const std::function<void(const PodFacts&)>& visit) const;
  const std::map<std::string, PodFacts, std::less<>>& all() const { return pods_; }

  // All objects that list the object of this uid as an owner.
  const std::set<Dependent>& DependentsOf(const std::string& uid) const;
  // The dependents of one type.
  std::vector<ObjectPtr> DependentsOf(const std::string& uid, const ResourceType& type) const;
  bool Exists(const std::string& uid) const { return uids_.contains(uid); }

 private:
  void TrackOwners(const ResourceType& type, const Change& change);
  void TrackPod(const Change& change);
  void Link(const PodFacts& pod, bool add);

  Store& store_;
  std::map<std::string, PodFacts, std::less<>> pods_;
  std::unordered_map<std::string, Pods> by_owner_;  // uid
  std::unordered_map<std::string, Pods> by_node_;   // name, "" for the unbound
  std::unordered_map<std::string, Pods> orphans_;   // namespace
  std::unordered_map<std::string, std::set<Dependent>> dependents_;
  std::unordered_map<std::string, const ResourceType*> uids_;
  std::vector<PodObserver*> observers_;
};

// The text of metadata.ownerReferences, empty if there are none: comparing it is far cheaper than parsing the
// object. Valid as long as the object.
std::string_view OwnersText(const Object& object);
// uids in metadata.ownerReferences.
std::vector<std::string> OwnerUids(const Object& object);

// Selectors of many objects of one kind; finds those that select a given pod.
class SelectorTable {
 public:
  // Null: selects nothing.
  void Set(const Object& object, const json::object* selector);
  void Remove(const Object& object);
  // The keys of the objects whose selectors match, in order.
  std::vector<std::string> Matching(const Object& pod) const;
  const LabelSelector* Find(const std::string& ns, const std::string& key) const;

 private:
  std::unordered_map<std::string, std::map<std::string, LabelSelector>> by_namespace_;
};

}  // namespace berth::sandbox
