// The descheduler's plugin LowNodeUtilization, which runs in a child process (tests/descheduler) on the usage
// that a simulation sends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/child_process.hpp"

namespace berth::bench {

class Descheduler {
 public:
  struct Usage {
    double cores = 0;
    double memory = 0;  // bytes
  };
  struct Node {
    std::string name;
    Usage allocatable;
    std::int64_t pods = 110;
  };
  struct NodeUsage {
    std::string node;
    Usage usage;
  };
  struct Pod {
    std::string name, node, deployment;
    Usage usage;
  };
  // Where the plugin reads usage: each pod's and node's, or only the busy share of nodes.
  enum class Source { kKubernetesMetrics, kPrometheus };

  // Starts the program. All functions throw std::runtime_error if it ends or rejects a request.
  explicit Descheduler(const std::string& program);
  Descheduler(const Descheduler&) = delete;
  Descheduler& operator=(const Descheduler&) = delete;
  ~Descheduler();

  // A new cluster. `thresholds` and `target` are shares of cpu.
  void Begin(const std::vector<Node>& nodes, Source source, double thresholds, double target);
  // The real descheduler collects every five seconds and smooths the values.
  void Collect(const std::vector<NodeUsage>& nodes);
  // Runs the plugin. Returns the names of the pods that it evicts.
  std::vector<std::string> Balance(const std::vector<Pod>& pods);

 private:
  std::vector<std::string> Call(std::string line);

  int socket_ = -1;
  ChildProcess child_;
  std::string received_;
};

}  // namespace berth::bench
