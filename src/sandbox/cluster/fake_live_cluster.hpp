// For tests: a cluster with kubelets and controllers, and a scheduler that binds to the first suitable node.
#pragma once

#include "sandbox/cluster/test_cluster.hpp"
#include "sandbox/controllers/controllers.hpp"
#include "sandbox/controllers/fields.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/controllers/node_selector.hpp"
#include "sandbox/kubelet/devices/device_attachments.hpp"
#include "sandbox/kubelet/devices/device_drivers.hpp"
#include "sandbox/kubelet/kubelet.hpp"

namespace berth::sandbox {

struct LiveCluster : TestCluster, StoreObserver {
  explicit LiveCluster(KubeletOptions kubelet_options = {}, ControllersOptions options = {})
      : TestCluster(1'000'000),
        controllers(verbs, timers, random, options),
        kubelet(verbs, timers, kubelet_options, &controllers.events()),
        device_drivers(verbs, timers, controllers.events()),
        device_attachments(verbs, timers) {
    store.Observe(*this);
  }

  // Binds pods round-robin to nodes that their affinity and taints allow.
  void OnChange(const ResourceType& type, const Change& change) override {
    if (!scheduling || &type != &Known().pods || !change.after || change.before) return;
    if (change.after->fields[0].empty())
      timers.After(Duration::zero(), [this, key = change.after->key] { Schedule(key); });
  }
  void Schedule(const std::string& key) {
    const ObjectPtr pod = store.Get(Known().pods, key);
    if (!pod || !pod->fields[0].empty()) return;
    const Document document = pod->Parse();
    const json::object& spec = ObjectOrEmpty(document.root(), "spec");
    const auto& nodes = store.All(Known().nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto it = nodes.upper_bound(last_node_);
      if (it == nodes.end()) it = nodes.begin();
      last_node_ = it->first;
      if (!Accepts(*it->second, spec)) continue;
      const json::object target{{"kind", "Node"}, {"name", it->first}};
      (void)verbs.Bind({Known().pods, pod->ns, pod->name}, json::object{{"target", target}});
      return;
    }
  }
  static bool Accepts(const Object& node, const json::object& spec) {
    const Document document = node.Parse();
    for (const auto& taint : ArrayOrEmpty(document.root(), "spec.taints")) {
      if (!ToleratesTaint(ArrayOrEmpty(spec, "tolerations"), taint.as_object())) return false;
    }
    return MatchesNodeAffinity(spec, node);
  }

  void CreateNodes(int count) {
    for (int i = 1; i <= count; ++i) CreateNode(fmt::format("n{}", i));
    Pass(std::chrono::milliseconds(1));
  }
  RecordedResponse Make(std::string_view group, std::string_view plural, std::string body) {
    return Create(fmt::format("{}/namespaces/default/{}", group, plural), std::move(body));
  }
  json::value Read(std::string_view group, std::string_view plural, std::string_view name) {
    return Get(fmt::format("{}/namespaces/default/{}/{}", group, plural, name)).Json();
  }
  // "a-1 b-2": the names of the pods that are not being deleted; `path` appends that field to each.
  std::string Pods(std::string_view path = {}) {
    std::string names;
    for (const auto& [_, pod] : store.All(Known().pods)) {
      if (pod->deleting) continue;
      names += names.empty() ? "" : " ";
      names += pod->name;
      if (!path.empty()) names += "=" + At(pod->Parse().root(), path);
    }
    return names;
  }
  std::size_t PodCount() const { return store.All(Known().pods).size(); }
  // "Scaled up replica set ...": the messages of events with a reason, in the order of recording.
  std::vector<std::string> Events(std::string_view reason) {
    std::map<Version, std::string> found;
    for (const auto& [_, event] : store.All(Known().events)) {
      const Document document = event->Parse();
      if (FindString(document.root(), "reason") == reason)
        found[event->version] = FindString(document.root(), "message");
    }
    std::vector<std::string> messages;
    for (auto& [_, message] : found) messages.push_back(message);
    return messages;
  }
  // Status and reason of a condition: "True:MinimumReplicasAvailable".
  static std::string ConditionOf(const json::value& object, std::string_view type) {
    const json::object* condition = FindCondition(ObjectOrEmpty(object.as_object(), "status"), type);
    if (condition == nullptr) return {};
    return fmt::format("{}:{}", FindString(*condition, "status"), FindString(*condition, "reason"));
  }

  bool scheduling = true;
  Controllers controllers;
  Kubelet kubelet;
  DeviceDrivers device_drivers;
  DeviceAttachments device_attachments;

 private:
  std::string last_node_;
};

}  // namespace berth::sandbox
