// The requests of the extender conformance check.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "tools/extender_conformance/verdict.hpp"

namespace berth::extender_conformance {

// Objects as JSON.
struct Cluster {
  struct Node {
    std::string name;
    std::string json;
  };
  std::vector<Node> nodes;
  std::string pod;  // the pod to schedule
};
// Three nodes and a pod that do not exist in any cluster. The pod requests one unit of `resource`, if given,
// for extenders with managedResources.
Cluster SyntheticCluster(const std::string& resource = "");

struct Plan {
  // Verbs; empty: not offered by the extender.
  std::string filter = "filter";
  std::string prioritize = "prioritize";
  std::string preempt = "preempt";
  std::string bind;         // binds a pod that does not exist; empty: not tested
  bool names = true;        // nodeCacheCapable: true
  bool whole = true;        // nodeCacheCapable: false
  std::size_t many = 5000;  // number of names in the large request; a fifth of it as whole nodes
  std::size_t at_once = 16;
  Duration timeout = std::chrono::seconds(5);
};

// The connection to the extender, as an interface.
class ExtenderConnection {
 public:
  virtual ~ExtenderConnection() = default;
  // Sends all bodies in parallel as kube-scheduler's HTTPExtender does. Replies are in the order of the
  // bodies.
  virtual std::vector<ReplyOrError> SendAll(const std::string& verb,
                                            const std::vector<std::string>& bodies) = 0;
  // Sends a request with any method; redirects are not followed.
  struct RawResponse {
    int status = 0;
    bool closes = false;  // "Connection: close"
  };
  virtual Expected<RawResponse> SendRaw(const std::string& method, const std::string& verb,
                                        const std::string& body) = 0;
};

struct CaseResult {
  std::string name;
  Finding finding;
  Duration duration{};
};

// Runs the plan; calls `on_result` after each case.
void Play(const Plan& plan, const Cluster& cluster, ExtenderConnection& connection, const Clock& clock,
          const std::function<void(const CaseResult&)>& on_result);

}  // namespace berth::extender_conformance
