// Namespaces, services, pod controllers and disruption budgets, field by field.
#include <algorithm>

#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {

bool Read(const element& value, Namespace& out, Failure& failure) {
  return ReadFields(value, failure, Field{"metadata", out.metadata});
}

// Any kind with metadata and spec.selector, with any type of selector.
template <class T>
bool ReadSelecting(const element& value, T& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"selector", out.selector});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

bool Read(const element& value, Service& out, Failure& failure) { return ReadSelecting(value, out, failure); }
// Without a selector the template's labels are used, as the API server sets them.
bool Read(const element& value, ReplicationController& out, Failure& failure) {
  ObjectMeta pod;
  const auto pod_template = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"metadata", pod});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"selector", out.selector}, Field{"template", pod_template});
  };
  if (!ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec})) return false;
  if (out.selector.empty()) out.selector = std::move(pod.labels);
  return true;
}
bool Read(const element& value, ReplicaSet& out, Failure& failure) {
  return ReadSelecting(value, out, failure);
}
bool Read(const element& value, StatefulSet& out, Failure& failure) {
  return ReadSelecting(value, out, failure);
}

bool Read(const element& value, PodDisruptionBudget& out, Failure& failure) {
  const auto disrupted = [&](const element& member, Failure& f) {
    return ReadObject(member, f, [&](std::string_view pod, const element&) {
      out.disrupted_pods.emplace_back(pod);
      return true;
    });
  };
  const auto status = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"disruptionsAllowed", out.disruptions_allowed},
                      Field{"disruptedPods", disrupted});
  };
  const bool fine = ReadSelecting(value, out, failure) && ReadFields(value, failure, Field{"status", status});
  std::ranges::sort(out.disrupted_pods);
  return fine;
}

}  // namespace berth::api::json
