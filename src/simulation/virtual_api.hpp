// The API server of a simulation: stores objects, executes the scheduler's writes after a latency, and
// delivers every change to the scheduler.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::simulation {

// Durations of virtual time.
struct Latencies {
  Duration watch = std::chrono::milliseconds(1);   // from a change to its arrival at the scheduler
  Duration bind = std::chrono::milliseconds(5);    // from the request to the change and the response
  Duration patch = std::chrono::milliseconds(5);   // the same for a status
  Duration remove = std::chrono::milliseconds(5);  // the same for a deletion
  Duration termination = std::chrono::seconds(2);  // from the deletion of a running pod to its end
};

// Receives what happens, at the time of the write and in its order.
class ApiObserver {
 public:
  virtual ~ApiObserver() = default;
  virtual void OnBound(const api::PodPtr& pod) = 0;
  // The scheduler has deleted a pod to make room for another one. It still holds its resources.
  virtual void OnPreempted(const api::PodPtr& pod) = 0;
  // The last version of a pod that no longer exists.
  virtual void OnPodRemoved(const api::PodPtr& pod) = 0;
  // An event that the scheduler emits; without latency.
  virtual void OnEvent(const ports::Event& event) = 0;
};

// Mirrors a kube-apiserver with kubelets: a binding fails if the pod is gone (kNotFound), has another UID or
// a node (kConflict); a bound pod runs at once; a deleted pod with a node terminates after a delay (see
// SetTermination). Mirrors
// the controller of resource claims: a claim whose controller is a pod is removed with the pod. Not
// simulated: volumes, whose writes fail with kInvalid. Changes are delivered in the order of their writes.
// One thread.
class VirtualApi final : public ports::ApiWriter, public ports::EventSink {
 public:
  // The arguments must outlive it.
  VirtualApi(VirtualTime& time, const Latencies& latencies, ports::ClusterSink& sink);

  // Null: none. Must outlive the writes in progress.
  void SetObserver(ApiObserver* observer) { observer_ = observer; }
  // How long a deleted pod continues to exist; nullopt: until RemovePod. By default a pod with a node takes
  // Latencies::termination, and one without is removed at once.
  using Termination = std::function<std::optional<Duration>(const api::Pod&)>;
  void SetTermination(Termination termination) { termination_ = std::move(termination); }

  // --- other clients: without latency except for the watch ---
  // Creates or replaces an object of any kind but pods. Sets its resource version.
  template <class T>
    requires(!std::same_as<T, api::Pod>)
  void Put(T object) {
    object.metadata.resource_version = NextVersion();
    Store<T>(std::make_shared<const T>(std::move(object)));
  }
  // No effect if there is no such object.
  template <class T>
  void Remove(std::string_view key) {
    auto& objects = ObjectsOf<T>();
    const auto found = objects.find(NameOf(key));
    if (found == objects.end()) return;
    std::shared_ptr<const T> last = found->object;
    objects.erase(found);
    Publish(ports::Change<T>{std::move(last), nullptr});
  }
  // Null if there is none. `key`: "namespace/name", or "name" for kinds without namespace.
  template <class T>
  std::shared_ptr<const T> Find(std::string_view key) const {
    return Find<T>(NameOf(key));
  }
  // Calls visit(const std::shared_ptr<const T>&) for every object, in no defined order.
  template <class T, class Visit>
  void ForEach(Visit&& visit) const {
    for (const Stored<T>& each : std::get<Objects<T>>(objects_)) visit(each.object);
  }
  // Creates a pod and returns it; name and UID must be new.
  api::PodPtr CreatePod(api::Pod&& pod);
  // Replaces a pod of the same name and UID, which must exist.
  void UpdatePod(api::Pod pod);
  // Creates a claim for the pod, which need not exist yet and becomes the claim's controller. The name must
  // be new.
  void CreateClaimFor(const api::ObjectMeta& pod, api::ResourceClaim claim);
  // The pod ends or is removed immediately. No effect if it is gone.
  void RemovePod(std::string_view key, std::string_view uid) { RemovePod(NameOf(key), uid); }
  // The same for any version of the pod, which must outlive the call.
  void RemovePod(const api::Pod& pod) { RemovePod(NameOf(pod.metadata), pod.metadata.uid); }
  // A client deletes the pod with its grace period. No effect if it is gone or being deleted.
  void TerminatePod(const std::string& key);

  std::size_t pods() const { return std::get<Objects<api::Pod>>(objects_).size(); }
  std::uint64_t bindings() const { return bindings_; }

  // --- the scheduler ---
  void Bind(ports::Binding binding, ports::WriteDone done) override;
  void PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) override;
  void DeletePod(ports::PodDeletion deletion, ports::WriteDone done) override;
  void PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) override;
  void ClaimVolume(ports::VolumeClaimed write, ports::VersionDone done) override;
  void SelectNode(ports::NodeSelected write, ports::VersionDone done) override;
  void ChangeClaim(ports::ClaimChange change, ports::VersionDone done) override;
  void CreateClaim(ports::NewClaim claim, ports::ClaimDone done) override;
  void DeleteClaim(ports::ClaimDeletion deletion, ports::WriteDone done) override;
  void Emit(ports::Event event) override;

 private:
  // The parts of a key. An object without namespace has its name's part before a "/" in `ns`, if there is
  // one, so that equal keys have equal parts.
  struct ObjectName {
    std::string_view ns, name;
    friend bool operator==(const ObjectName&, const ObjectName&) = default;
  };
  static ObjectName NameOf(std::string_view key) {
    const std::size_t slash = key.find('/');
    if (slash == std::string_view::npos) return {{}, key};
    return {key.substr(0, slash), key.substr(slash + 1)};
  }
  static ObjectName NameOf(const api::ObjectMeta& object) {
    return object.ns.empty() ? NameOf(object.name) : ObjectName{object.ns, object.name};
  }
  // The current version of an object, which is replaced by later ones.
  template <class T>
  struct Stored {
    mutable std::shared_ptr<const T> object;
  };
  // The objects contain their names: a table of keys would repeat them, and a search would read both.
  struct NameHash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const ObjectName& name) const { return SeededHash()(name.ns, name.name); }
    template <class T>
    std::size_t operator()(const Stored<T>& stored) const {
      return (*this)(NameOf(stored.object->metadata));
    }
  };
  struct SameName {
    using is_transparent = void;
    template <class T>
    bool operator()(const ObjectName& name, const Stored<T>& stored) const {
      return name == NameOf(stored.object->metadata);
    }
    template <class T>
    bool operator()(const Stored<T>& a, const Stored<T>& b) const {
      return NameOf(a.object->metadata) == NameOf(b.object->metadata);
    }
  };
  template <class T>
  using Objects = boost::unordered_flat_set<Stored<T>, NameHash, SameName>;
  template <class Kinds>
  struct ObjectsOfAll;
  template <class... T>
  struct ObjectsOfAll<api::KindList<T...>> {
    using type = std::tuple<Objects<T>...>;
  };

  template <class T>
  Objects<T>& ObjectsOf() {
    return std::get<Objects<T>>(objects_);
  }
  template <class T>
  void Store(std::shared_ptr<const T> object) {
    const auto [place, is_new] = ObjectsOf<T>().insert(Stored<T>{object});
    auto before = is_new ? nullptr : std::exchange(place->object, object);
    Publish(ports::Change<T>{std::move(before), std::move(object)});
  }
  template <class T>
  std::shared_ptr<const T> Find(const ObjectName& name) const {
    const auto& objects = std::get<Objects<T>>(objects_);
    const auto found = objects.find(name);
    return found == objects.end() ? nullptr : found->object;
  }
  // `uid` may refer to the pod.
  void RemovePod(const ObjectName& name, std::string_view uid);
  std::string NextVersion() { return std::to_string(++version_); }
  void Publish(ports::ClusterChange change);
  // Whether the pod exists and has the UID, unless that is empty.
  static Expected<void> Check(const api::PodPtr& pod, std::string_view name, std::string_view uid);
  // The current pod, if the name still belongs to it.
  Expected<api::PodPtr> FindPod(std::string_view ns, std::string_view name, std::string_view uid) const;
  Expected<void> ApplyBinding(const ports::Binding& binding);
  Expected<void> ApplyPatch(const ports::PodStatusPatch& patch);
  Expected<void> ApplyDeletion(const ports::PodDeletion& deletion);
  // Requires a pod that is not being deleted.
  void Terminate(const api::PodPtr& pod);
  // The new resource version.
  Expected<std::string> ApplyChange(const ports::ClaimChange& change);
  Expected<ports::CreatedClaim> ApplyCreation(const ports::NewClaim& claim);
  Expected<void> ApplyDeletion(const ports::ClaimDeletion& deletion);
  void RemoveClaimsOf(std::string_view pod_uid);
  // Like kube-controller-manager: removes the claims whose controller is the pod, and the pod from the
  // reservations of others; a claim without a reservation is deallocated.
  void ReleaseClaimsOf(const api::Pod& pod);
  api::Text NodeName(const std::string& name);

  VirtualTime& time_;
  const Latencies latencies_;
  ports::ClusterSink& sink_;
  ApiObserver* observer_ = nullptr;
  Termination termination_;
  ObjectsOfAll<api::AllKinds>::type objects_;
  std::deque<ports::ClusterChange> published_;   // not delivered yet; all take the same time
  FlatTextMap<api::Text> node_names_;            // shared by the pods of a node
  TextMap<std::vector<std::string>> claims_of_;  // keys of claims by the UID of their controller
  std::uint64_t created_claims_ = 0;             // by the scheduler
  std::uint64_t version_ = 0;
  std::uint64_t bindings_ = 0;
};

}  // namespace berth::simulation
