#include "scheduler/plugins/node_declared_features/node_declared_features.hpp"

#include <algorithm>

namespace berth::plugins {
namespace {

using FeatureNames = std::vector<std::string_view>;

// Sorted. Other declared features are relevant only to the kubelet or to admission.
FeatureNames RequiredBy(const api::PodSpec& spec) {
  FeatureNames names;
  if (spec.restarts_all_containers) names.push_back("RestartAllContainersOnContainerExits");
  if (spec.host_network && spec.host_users == false) names.push_back("UserNamespacesHostNetworkSupport");
  if (spec.bind_mount_options) names.push_back("VolumeBindMountOptions");
  return names;
}

}  // namespace

NodeDeclaredFeatures::NodeDeclaredFeatures(framework::Handle& handle)
    : reason_(handle.reasons.Intern("node(s) didn't match Pod's required features")),
      required_key_(handle.NewKey<FeatureNames>()) {}

framework::PreFilterResult NodeDeclaredFeatures::PreFilter(const framework::Attempt& attempt) const {
  FeatureNames required = RequiredBy(attempt.pod().pod->spec);
  if (required.empty()) return {framework::Status::Skip(), std::nullopt};
  attempt.state().Write(required_key_, std::move(required));
  return {};
}

framework::ResultDependency NodeDeclaredFeatures::PreFilterDependency(const cluster::PodInfo& pod) const {
  return RequiredBy(pod.pod->spec).empty() ? framework::ResultDependency::kNodes
                                           : framework::ResultDependency::kEverything;
}

void NodeDeclaredFeatures::Filter(const framework::Attempt& attempt, const RowSet& candidates,
                                  framework::Rejections& out) const {
  const FeatureNames* required = attempt.state().Read(required_key_);
  if (required == nullptr)
    return out.Fail(candidates,
                    "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found");
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  // Pods that require a declared feature are rare, so nodes are checked one by one.
  candidates.ForEach([&](std::size_t row) {
    const auto& declared = attempt.nodes().node(static_cast<cluster::Row>(row)).declared_features;
    if (!std::ranges::includes(declared, *required)) rejected.Add(row);
  });
  out.unresolvable() |= rejected;
}

std::vector<framework::EventRegistration> NodeDeclaredFeatures::EventsToRegister() const {
  using namespace framework;
  return {WhenNode(kAdd | kUpdateNodeDeclaredFeature,
                   [](const cluster::PodInfo&, const api::Node* before, const api::Node* after) {
                     return before != nullptr && before->declared_features == after->declared_features
                                ? Hint::kSkip
                                : Hint::kQueue;
                   }),
          WhenTargetPod(kUpdate, [](const cluster::PodInfo&, const api::Pod* before, const api::Pod* after) {
            return RequiredBy(before->spec) == RequiredBy(after->spec) ? Hint::kSkip : Hint::kQueue;
          })};
}

}  // namespace berth::plugins
