// A port of a pod, forwarded to this host by `kubectl port-forward` as a child process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/child_process.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::scheduler_access {

struct ForwardTarget {
  std::string kubeconfig, context;  // empty: kubectl's own choice
  std::string ns, pod;
  std::uint16_t port = 0;
};

// The port is open until the object is destroyed, which ends kubectl. One thread, which must outlive it: the
// kernel ends the child with the thread that started it.
class PortForward {
 public:
  // Returns when kubectl listens, on a free port of 127.0.0.1. Errors: kNotFound: there is no kubectl in
  // PATH; kUnavailable with kubectl's message; kTimeout.
  static Expected<PortForward> Start(const ForwardTarget& target, const Clock& clock, Duration timeout);
  PortForward(PortForward&&) noexcept = default;
  PortForward& operator=(PortForward&&) = delete;
  ~PortForward();

  std::uint16_t port() const { return port_; }

 private:
  PortForward(std::filesystem::path folder, ChildProcess child);

  std::filesystem::path folder_;  // of kubectl's output; empty after a move
  ChildProcess child_;
  std::uint16_t port_ = 0;
};

}  // namespace berth::scheduler_access
