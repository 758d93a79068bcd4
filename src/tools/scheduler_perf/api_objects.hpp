// The API server, admission and controllers that the tests of kube-scheduler run with, on the objects of a
// simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "base/yaml.hpp"
#include "kubernetes/api/decode.hpp"
#include "simulation/virtual_api.hpp"

namespace berth::scheduler_perf {

// Creates, updates and deletes objects as clients of that API server do. There are no kubelets: a deleted pod
// with a node, a grace period and no finalizers stays as terminating, and counts as scheduled. Mirrors the
// controller of resource claims: claims from templates, for pods and for pod groups; a claim whose last
// consumer is gone is deallocated. Namespaces are created without conditions.
// One thread; the API must outlive it.
class ApiObjects {
 public:
  // `pod_groups`: the API server serves PodGroups. `group_claims`: groups may have claims of their own.
  struct Options {
    bool pod_groups = false;
    bool group_claims = false;
    std::size_t most_pods = 0;
    std::function<void(const api::Pod&)> on_created;  // not empty
  };
  ApiObjects(simulation::VirtualApi& api, const Options& options);

  // Creates the object, whose kind is a field of it, in the namespace; empty: it must be cluster-scoped.
  // Returns its name. Errors: an unknown kind or field, an object of this name, too many pods.
  Expected<std::string> Create(const yaml::Value& object, const std::string& ns);
  // Of an unknown kind: true.
  static bool IsNamespaced(std::string_view kind);
  // Replaces an object; of a pod, the node and the status are kept.
  Expected<void> Update(const yaml::Value& object, const std::string& ns);
  // No effect if there is none. `kind`: Node, Pod, Service or another kind that Create accepts.
  void Remove(std::string_view kind, const std::string& ns, const std::string& name);
  void EnsureNamespace(const std::string& name);

  // Removes the pod at once, as a deletion without grace period does.
  void RemovePodAtOnce(const api::Pod& pod);
  // To be called for each removed pod.
  void OnPodRemoved(const api::Pod& pod);

  std::uint64_t nodes() const { return nodes_; }
  std::uint64_t pods() const { return pods_; }  // that were created

 private:
  template <class T>
  Expected<T> Decode(const yaml::Value& object);
  // Sets namespace, name and UID of a new object.
  Expected<void> Complete(yaml::Value& object, bool namespaced, const std::string& ns);
  Expected<std::string> CreatePod(const yaml::Value& object);
  Expected<std::string> CreateTemplate(const yaml::Value& object);
  template <class T>
  Expected<std::string> CreateKind(yaml::Value object, const std::string& ns);
  template <class T>
  Expected<void> UpdateKind(const yaml::Value& object, const std::string& ns);
  Expected<void> CreateClaims(api::Pod& pod);
  Expected<void> CreateGroupClaims(api::PodGroup& group);
  Expected<api::ResourceClaim> ClaimFrom(const api::PodResourceClaim& reference,
                                         const api::ObjectMeta& owner);
  void ReleaseClaim(const std::string& key, std::string_view pod_uid);

  // How pods end, by UID; absent: with the default grace period.
  struct Ending {
    bool at_once = false, finalizers = false;
  };
  std::optional<Duration> TimeToEnd(const api::Pod& pod) const;

  simulation::VirtualApi& api_;
  const Options options_;
  api::Decoder decoder_;
  TextMap<Ending> endings_;
  std::map<std::string, api::ResourceClaim> claim_templates_;  // by key
  std::uint64_t serial_ = 0;
  std::uint64_t nodes_ = 0, pods_ = 0;
};

}  // namespace berth::scheduler_perf
