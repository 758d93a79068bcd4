// A cluster of nodes that run Flink-like jobs: the requests of TaskManager pods follow their configuration,
// their usage follows their data and changes. Some applications may be Spark-like instead: short jobs whose
// executors compute and shuffle in turns. The caller places the pods.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"

namespace berth::bench {

struct WorldOptions {
  std::size_t nodes = 250;
  std::size_t applications = 120;  // each submits jobs repeatedly
  double busy_share = 0.7;         // of the nodes' cores, requested by the jobs that run on average
  double job_minutes = 40;         // average duration of a job
  double batch_share = 0;          // of the applications that are Spark-like; their jobs last a fifth
  double disk_share = 0;           // of the other applications that keep state on disk
  std::uint64_t seed = 1;
};

constexpr double kCores = 16;  // of a node
constexpr double kMemoryBytes = 64.0 * (1 << 30);
constexpr double kLinkBytes = 1.25e9;  // per second, each way: 10 Gbit/s
constexpr double kDiskBytes = 1e9;     // per second
constexpr double kDiskOfSystem = 0.1;  // share that other processes use
constexpr double kRequestedCores = 2;  // by each TaskManager
constexpr double kLimitCores = 6;

// The common properties of an application's TaskManagers or executors.
struct Application {
  std::string name;
  bool batch = false;  // Spark-like
  int task_managers = 1;
  double cores = 1;           // demanded by a TaskManager, average over time
  double bytes_per_core = 0;  // per second, each way
  double disk_per_core = 0;   // bytes per second, average over time
  double memory_bytes = 0;
  double swing = 0;  // amplitude of the data volume
  double phase = 0;
};

struct TaskManager {
  api::PodPtr pod;
  const Application* application = nullptr;
  std::size_t job = 0;
  double load_factor = 1;  // factor of this TaskManager: data is spread unevenly
  double submitted = 0;    // seconds
  double ends = 0;
  int node = -1;           // -1: pending
  std::size_t origin = 0;  // number of the first pod in the chain of replacements
  double runs_from = 0;
  double cores = 0;  // used cores, average since the last step
  double disk = 0;   // demanded bytes per second
};

struct NodeLoad {
  double background = 0;  // used cores without requests
  double background_phase = 0;
  // Current demand; usage is limited to the node's capacity.
  double cores = 0, bytes = 0, memory = 0, disk = 0;
  // Counters of the node's exporter; the last one without kDiskOfSystem.
  double busy_seconds = 0, received = 0, disk_seconds = 0;
  double Share() const { return cores / kCores; }
};

// The demanded and lost work of a step.
struct Work {
  double demanded = 0, lost = 0;          // core-seconds of TaskManagers
  double job_demanded = 0, job_lost = 0;  // a job is as slow as its slowest TaskManager
};

class World {
 public:
  static constexpr double kPeriodSeconds = 90 * 60;  // of data volumes: a day that is shorter than in reality

  explicit World(const WorldOptions& options);

  const WorldOptions& options() const { return options_; }
  double now() const { return now_; }
  const std::vector<NodeLoad>& nodes() const { return nodes_; }
  const std::map<std::string, TaskManager>& pods() const { return pods_; }  // by name
  static std::string NodeName(std::size_t node);
  static api::Node MakeNode(std::size_t node);

  // Advances by some seconds: jobs are submitted and end, pods use resources.
  struct Changes {
    std::vector<api::PodPtr> submitted;
    std::vector<api::PodPtr> ended;
    Work work;
  };
  Changes Step(double seconds);
  // Submits that many TaskManagers of several applications simultaneously.
  void SubmitBurst(int task_managers);
  // Deletes a running pod; its controller submits a replacement with the next step. Returns the deleted pod.
  api::PodPtr Evict(const std::string& pod);
  // Binds the pod. Returns it in the form of the API server.
  api::PodPtr Place(const std::string& pod, const std::string& node, std::int64_t start_time);

 private:
  double RandomShare() { return std::uniform_real_distribution<double>()(random_); }
  double Scatter(double sigma) { return std::lognormal_distribution<double>(0, sigma)(random_); }
  void Submit(const Application& application);
  api::PodPtr NewPod(const Application& application);
  void Carry(double seconds, Work& work);
  double CoresOf(const TaskManager& pod) const;
  double DiskOf(const TaskManager& pod) const;
  double BytesOf(const TaskManager& pod) const;
  bool Shuffles(const TaskManager& pod) const;
  void MakeSparkLike(Application& application);

  const WorldOptions options_;
  std::mt19937_64 random_;
  double now_ = 0;
  double jobs_per_second_ = 0;
  std::size_t jobs_ = 0;
  std::size_t submitted_ = 0;
  std::vector<Application> applications_;
  std::vector<NodeLoad> nodes_;
  std::map<std::string, TaskManager> pods_;
  std::vector<api::PodPtr> fresh_;
};

}  // namespace berth::bench
