// What extenders answer (k8s.io/kube-scheduler/extender/v1), read by the rules of Go's decoder, with its
// errors: "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult".
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
  std::optional<std::vector<std::string>> nodes;  // their names: nothing else of them is used
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

// Null stands for nothing, fields may have any case and any order, unknown ones are ignored. Inside the nodes
// of a filter's answer only what leads to the names is checked.
Expected<FilterReply> ReadFilterReply(const Reply& reply);
Expected<std::vector<HostPriority>> ReadPrioritizeReply(const Reply& reply);
// By node. Null in place of victims, which brings kube-scheduler down, is read as no victims.
Expected<std::map<std::string, MetaVictims>> ReadPreemptReply(const Reply& reply);
// The extender's own words on what went wrong; empty if nothing did.
Expected<std::string> ReadBindReply(const Reply& reply);

}  // namespace berth::extenders
