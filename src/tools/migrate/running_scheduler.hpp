// The scheduler that runs today: its command line, as a static pod's manifest or a pod of the cluster tells
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/value.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

// A file of a container, where it comes from.
struct MountedFile {
  std::string config_map;  // of the pod's namespace; empty: it is not from one
  std::string key;         // in it
  std::string host_path;   // on the node; empty: it is not from there
};

struct RunningScheduler {
  std::string where;              // "pod kube-system/kube-scheduler-a", or the file
  std::string ns;                 // of the pod
  std::string image;              // "registry.k8s.io/kube-scheduler:v1.33.2"
  std::vector<std::string> args;  // what stands behind the program's name
  config::Value pod;              // its spec
  config::Value container;

  // Where a file that its command line names comes from; nothing: it is in the image, or from elsewhere.
  std::optional<MountedFile> Find(const std::string& path) const;
};

// From a manifest with a Pod, a Deployment or a DaemonSet, YAML or JSON.
Expected<RunningScheduler> ReadSchedulerManifest(const std::string& path);

// The pods of kube-system that have the label component=kube-scheduler, as kubeadm makes them; there may be
// none, and others than the first may have been started otherwise: `differ` says so.
struct LiveSchedulers {
  std::optional<RunningScheduler> first;
  std::size_t count = 0;
  bool differ = false;
};
Expected<LiveSchedulers> FindLiveSchedulers(Server& server);

// The text of a file of its that is in a ConfigMap.
Expected<std::string> ReadFromConfigMap(Server& server, const std::string& ns,
                                        const MountedFile& file);

}  // namespace berth::migrate
