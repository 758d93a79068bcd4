// How a command of a user finds and reaches the running scheduler.
#pragma once

#include <string>

namespace berth::scheduler_access {

struct AccessOptions {
  std::string kubeconfig{};  // of the cluster; empty: as kubectl
  std::string context{};     // empty: the current one
  std::string server{};   // URL of the scheduler's secure port; empty: a port forwarded to the leader's pod
  std::string lease{};    // "namespace/name" of the leader's Lease; empty: the usual ones (leader.hpp)
  std::string ca_file{};  // PEM of the authority that signed the scheduler's certificate; empty: none
  std::string server_name{};  // verified instead of the host of the URL; empty: the host
  bool insecure = false;      // the scheduler's certificate is not verified
};

}  // namespace berth::scheduler_access
