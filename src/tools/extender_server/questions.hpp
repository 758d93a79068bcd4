// What a kube-scheduler asks its extender (k8s.io/kube-scheduler/extender/v1), read as Go would read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/objects.hpp"
#include "base/result.hpp"

namespace berth::extender_server {

// filter and prioritize. Which form the question has decides the form of the answer.
struct NodesQuestion {
  api::PodPtr pod;
  bool whole = false;                     // whole nodes, not names
  std::vector<std::string> names;         // in the order sent
  std::vector<std::string_view> objects;  // whole: the nodes as they were sent, views into `body`
  std::shared_ptr<const std::string> body;
};

struct NodeVictims {
  std::string node;
  std::vector<std::string> uids;
  std::int64_t violations = 0;
};

struct PreemptQuestion {
  api::PodPtr pod;
  std::vector<NodeVictims> nodes;
};

struct BindQuestion {
  std::string pod, ns, uid, node;
};

// Keys in any case, null for nothing, unknown fields ignored. Errors name the field and what it holds:
// "Pod.spec.containers: expected ...". One thread per decoder.
Expected<NodesQuestion> ReadNodesQuestion(std::shared_ptr<const std::string> body, api::Decoder& decoder);
// Victims whole or by UID.
Expected<PreemptQuestion> ReadPreemptQuestion(const std::string& body, api::Decoder& decoder);
Expected<BindQuestion> ReadBindQuestion(const std::string& body);

}  // namespace berth::extender_server
