// Where a command of a user reads a cluster: files, or the cluster of a kubeconfig, with the configuration of
// its scheduler. Only reads: no request but GET is sent.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "config/scheduler_config.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/explain/cluster_input.hpp"
#include "tools/explain/running_config.hpp"

namespace berth::explain {

// The process' environment, and the thread for requests, which starts with the first one.
struct Surroundings {
  SystemClock clock;
  client::SystemEnvironment environment;
  std::unique_ptr<http::IoThread> io = {};

  http::IoThread& Io() {
    if (io == nullptr) io = std::make_unique<http::IoThread>(clock);
    return *io;
  }
};

// The cluster and the configuration that a command line names.
struct ClusterSelection {
  std::vector<std::string> files;  // JSON or YAML of Kubernetes objects; "-": standard input
  std::string kubeconfig;          // without files: of the cluster; empty: as kubectl
  std::string context;             // empty: the current one
  std::string
      config;  // path of a configuration; empty: that of the cluster's scheduler, else the default one
  std::optional<RunningConfig> running = {};  // with an empty `config`: the cluster's, if it was read already
  std::vector<std::string> feature_gates;     // as the scheduler's flag
};

struct UsedConfig {
  config::SchedulerConfig config;
  bool from_cluster = false;
};

// One thread. The arguments of Open must outlive it.
class ClusterSource {
 public:
  // Connects to the cluster if there are no files. `agent`: the suffix of the user agent.
  static Expected<ClusterSource> Open(const ClusterSelection& selection, std::string_view agent,
                                      Surroundings& around);
  ~ClusterSource();
  ClusterSource(ClusterSource&&) noexcept;

  // The configuration of the selection. Of a cluster without `config`: that of its scheduler if it can be
  // read, else the default one; a note names it.
  Expected<UsedConfig> Config(const runtime::Registry& plugins, const config::FeatureGates& gates,
                              std::vector<std::string>& notes);
  // Reads everything that is wanted of a cluster, or the files. `warnings`: one text per kind that cannot be
  // read.
  Expected<void> Load(const LoadPage& load, const Wanted& wanted, std::vector<std::string>& warnings);
  // Reads the PriorityClasses of a cluster; Load has read those of files.
  Expected<void> LoadPriorityClasses(const LoadPage& load);

  bool of_cluster() const { return selection_.files.empty(); }
  const std::string& ns() const { return ns_; }  // of names without a namespace

 private:
  ClusterSource(const ClusterSelection& selection, std::string ns);
  Expected<UsedConfig> ConfigOfCluster(const runtime::Registry& plugins, config::FeatureGates gates,
                                       std::vector<std::string>& notes);

  const ClusterSelection& selection_;
  std::string ns_;
  std::unique_ptr<migrate::Server> server_;  // null: files
  std::string url_;
};

}  // namespace berth::explain
