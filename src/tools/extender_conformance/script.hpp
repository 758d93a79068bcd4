// The questions that an extender is examined with.
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
  std::string pod;  // the one that is to be placed
};
// Three nodes and a pod that nobody has ever heard of; the pod asks for one of `resource`, if that is given,
// as pods do that an extender's managedResources are about.
Cluster MadeUpCluster(const std::string& resource = "");

struct Plan {
  // Empty: the extender does not offer that.
  std::string filter = "filter";
  std::string prioritize = "prioritize";
  std::string preempt = "preempt";
  std::string bind;         // of a pod that does not exist; empty: not played
  bool names = true;        // nodeCacheCapable: true
  bool whole = true;        // nodeCacheCapable: false
  std::size_t many = 5000;  // names in the large question; a fifth of them as whole nodes
  std::size_t at_once = 16;
  Duration timeout = std::chrono::seconds(5);
};

// How questions get there, as a port.
class Peer {
 public:
  virtual ~Peer() = default;
  // As kube-scheduler's HTTPExtender asks; all at once. Answers in the order of the bodies.
  virtual std::vector<Answer> Ask(const std::string& verb, const std::vector<std::string>& bodies) = 0;
  // With any method, without following redirects.
  struct Bare {
    int status = 0;
    bool closes = false;  // "Connection: close"
  };
  virtual Expected<Bare> AskBare(const std::string& method, const std::string& verb,
                                 const std::string& body) = 0;
};

struct Played {
  std::string name;
  Finding finding;
  Duration took{};
};

// Plays the plan; `tell` hears of each case as it ends.
void Play(const Plan& plan, const Cluster& cluster, Peer& peer, const Clock& clock,
          const std::function<void(const Played&)>& tell);

}  // namespace berth::extender_conformance
