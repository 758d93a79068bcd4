// The running scheduler: its command line, from the manifest of a static pod or from a pod of the cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

// The source of a file in a container.
struct MountedFile {
  std::string config_map;  // in the pod's namespace; empty: not from a ConfigMap
  std::string key;         // key in the ConfigMap
  std::string host_path;   // path on the node; empty: not from the node
};

struct RunningScheduler {
  std::string where;              // "pod kube-system/kube-scheduler-a", or the file
  std::string ns;                 // of the pod
  std::string image;              // "registry.k8s.io/kube-scheduler:v1.33.2"
  std::vector<std::string> args;  // the arguments after the program's name
  config::Value pod;              // its spec
  config::Value container;

  // The source of a file that its command line names; nullopt: it is in the image, or of another source.
  std::optional<MountedFile> Find(const std::string& path) const;
};

// The value of --name=value or --name value in a command line, of the last mention; nullopt: it is absent.
std::optional<std::string> FlagIn(const std::vector<std::string>& args, std::string_view name);

// From the object of a pod of a cluster, whose scheduler is kube-scheduler or Berth. Errors: it runs no
// scheduler, or its command line cannot be read.
Expected<RunningScheduler> ReadSchedulerPod(const config::Value& pod);

// From a manifest with a Pod, a Deployment or a DaemonSet, YAML or JSON.
Expected<RunningScheduler> ReadSchedulerManifest(const std::string& path);

// The pods of kube-system with the label component=kube-scheduler, as kubeadm creates them; may be empty.
// `differ` is true if they have different command lines.
struct LiveSchedulers {
  std::optional<RunningScheduler> first;
  std::size_t count = 0;
  bool differ = false;
};
Expected<LiveSchedulers> FindLiveSchedulers(Server& server);

// The content of one of its files in a ConfigMap.
Expected<std::string> ReadFromConfigMap(Server& server, const std::string& ns, const MountedFile& file);

}  // namespace berth::migrate
