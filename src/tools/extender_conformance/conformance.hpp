// `berth extender check`: sends an extender the requests of kube-scheduler and reports its replies.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/extender_conformance/http_connection.hpp"
#include "tools/extender_conformance/script.hpp"

namespace berth::extender_conformance {

inline constexpr std::chrono::seconds kDefaultTimeout{5};

struct ConformanceOptions {
  Target target{.url = {}, .tls = {}, .timeout = kDefaultTimeout};  // timeout zero: kDefaultTimeout
  Plan plan;                  // paths of the verbs and sizes; the following members determine the rest
  std::string form = "both";  // "names", "nodes" or "both"
  std::vector<std::string> verbs{"filter", "prioritize", "preempt"};  // the verbs to check
  bool bind = false;                                                  // check the verb bind, too
  std::string bind_verb = "bind";
  std::string objects;           // file with nodes and a pending pod; empty: generated ones
  std::string managed_resource;  // resource that the generated pod requests; empty: none
  bool as_json = false;
};

// Prints the result of each case to standard output. Returns the exit code: 0: no wrong replies; 2: some. An
// error means that no request could be sent.
Expected<int> RunConformance(ConformanceOptions options);

}  // namespace berth::extender_conformance
