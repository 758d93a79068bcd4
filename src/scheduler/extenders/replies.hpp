// Decoding of extenders' responses (k8s.io/kube-scheduler/extender/v1) with the rules and error texts of Go's
// decoder: "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::extenders {

struct FilterReply {
  std::optional<std::vector<std::string>> node_names;
  std::optional<std::vector<std::string>> nodes;  // names only; other fields are not used
  std::map<std::string, std::string> failed;
  std::map<std::string, std::string> failed_and_unresolvable;
  std::string error;
};

struct HostPriority {
  std::string host;
  std::int64_t score = 0;
};

struct MetaVictims {
  std::vector<std::string> uids;
  std::int64_t violations = 0;
};

// Null is the same as absent; field names are case-insensitive; unknown fields are ignored. In the nodes of a
// filter response only the fields around the names are checked.
Expected<FilterReply> ReadFilterReply(const Reply& reply);
Expected<std::vector<HostPriority>> ReadPrioritizeReply(const Reply& reply);
// By node. Null instead of victims, which crashes kube-scheduler, is read as an empty list.
Expected<std::map<std::string, MetaVictims>> ReadPreemptReply(const Reply& reply);
// The extender's error text; empty on success.
Expected<std::string> ReadBindReply(const Reply& reply);

}  // namespace berth::extenders
