// Decoding of kube-scheduler's requests (k8s.io/kube-scheduler/extender/v1) with the rules of Go's decoder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::extender_server {

// filter and prioritize. The form of the request determines the form of the response.
struct NodesRequest {
  api::PodPtr pod;
  bool whole = false;                     // whole nodes instead of names
  std::vector<std::string> names;         // in the order of the request
  std::vector<std::string_view> objects;  // whole: the nodes as received, views of `body`
  std::shared_ptr<const std::string> body;
};

struct NodeVictims {
  std::string node;
  std::vector<std::string> uids;
  std::int64_t violations = 0;
};

struct PreemptRequest {
  api::PodPtr pod;
  std::vector<NodeVictims> nodes;
};

struct BindRequest {
  std::string pod, ns, uid, node;
};

// Keys are case-insensitive, null is the same as absent, unknown fields are ignored. Errors name the field
// and its value: "Pod.spec.containers: expected ...". A decoder must not be used by several threads.
Expected<NodesRequest> DecodeNodesRequest(std::shared_ptr<const std::string> body, api::Decoder& decoder);
// Victims as whole pods or UIDs.
Expected<PreemptRequest> DecodePreemptRequest(const std::string& body, api::Decoder& decoder);
Expected<BindRequest> DecodeBindRequest(const std::string& body);

}  // namespace berth::extender_server
