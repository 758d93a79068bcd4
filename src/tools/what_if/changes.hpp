// Changes of a cluster, in the order in which they are made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/meta.hpp"

namespace berth::what_if {

// Adds nodes that are copies of a node of the cluster, or of the Node in a file.
struct AddNodes {
  std::size_t count = 1;
  std::string like;  // exactly one of the two is set
  std::string file;
};
// The node is gone, with its pods.
struct RemoveNode {
  std::string node;
};
struct Cordon {
  std::string node;
  bool unschedulable = true;  // false: uncordon
};
// As kubectl drain --ignore-daemonsets --force --delete-emptydir-data.
struct Drain {
  std::string node;
};
struct SetLabel {
  std::string node;
  std::string key;
  std::optional<std::string> value;  // nullopt: the label is removed
};
struct SetTaint {
  std::string node;
  api::Taint taint;
  bool remove = false;  // the taint of this key, and of this effect unless that is empty
};
// The pods of a file: pods, and the pods that the controllers of its workloads create.
struct AddPods {
  std::string file;
  std::optional<std::size_t> replicas;  // of each pod or workload; nullopt: those of the file
};

// A pod, or the pods of a controller.
struct PodSelection {
  std::string text;   // as given
  std::string ns;     // empty: that of the context
  std::string owner;  // "Deployment"; empty: a pod
  std::string name;
};
struct DeletePods {
  PodSelection pods;
};
// The pods are replaced by pods with these requests; limits that are lower are raised to them.
struct SetRequests {
  PodSelection pods;
  std::map<std::string, std::string> requests;  // quantity by resource, of the first container
};
// The pods are replaced by pods with this priority.
struct SetPriority {
  PodSelection pods;
  std::int32_t priority = 0;
};

using Change = std::variant<AddNodes, RemoveNode, Cordon, Drain, SetLabel, SetTaint, AddPods, DeletePods,
                            SetRequests, SetPriority>;

// "drain node-1", "add 2 nodes like node-3": without a full stop.
std::string TextOf(const Change& change);

// Values of flags. Errors name the value and the expectation.
// "NODE:key=value", or "NODE:key-" to remove the label.
Expected<SetLabel> ParseLabel(const std::string& text);
// "NODE:key=value:Effect", "NODE:key:Effect", or "NODE:key-" and "NODE:key:Effect-" to remove taints.
Expected<SetTaint> ParseTaint(const std::string& text);
// "web", "pod/web", "shop/pod/web", "deployment/web", "shop/deploy/web".
Expected<PodSelection> ParsePods(const std::string& text);
// "PODS:cpu=2,memory=4Gi"
Expected<SetRequests> ParseRequests(const std::string& text);
// "PODS:1000"
Expected<SetPriority> ParsePriority(const std::string& text);

}  // namespace berth::what_if
