// The pod of the scheduler that leads, by its Lease.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tools/migrate/running_scheduler.hpp"
#include "tools/migrate/server.hpp"

namespace berth::scheduler_access {

// Of the manifests of Berth beside another scheduler, and of kube-scheduler; the first one with a holder
// counts.
inline constexpr std::string_view kUsualLeases[] = {"kube-system/berth", "kube-system/kube-scheduler"};

struct LeaderPod {
  std::string ns, name;
  std::uint16_t port = 0;             // the secure port
  migrate::RunningScheduler program;  // its command line and volumes

  std::string Text() const { return "pod " + ns + "/" + name; }
};

// `lease` is "namespace/name"; empty: kUsualLeases. The holder's identity begins with the host name of its
// process, which is the name of a pod, or of a node for pods in the network of their node. Without any Lease
// the only scheduler pod in kube-system is the leader. Sends GET requests only. Errors: kInvalid (`lease`),
// kUnauthorized (a permission is missing), kNotFound (no Lease, no holder or no pod), kUnavailable.
Expected<LeaderPod> FindLeader(migrate::Server& server, const std::string& lease);

}  // namespace berth::scheduler_access
