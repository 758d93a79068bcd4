// A cluster of nodes that carry Flink-like jobs: TaskManager pods ask for what their configuration says and
// use what their data demands, which is another thing, and changes. Somebody else says which pod goes where.
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
  std::size_t applications = 120;  // each submits jobs again and again
  double busy_share = 0.7;         // of the nodes' cores, asked for by the jobs that run in the long run
  double job_minutes = 40;         // a job's life, on average
  std::uint64_t seed = 1;
};

constexpr double kCores = 16;  // of a node
constexpr double kMemoryBytes = 64.0 * (1 << 30);
constexpr double kLinkBytes = 1.25e9;  // per second, each way: 10 Gbit/s
constexpr double kRequestedCores = 2;  // by each TaskManager
constexpr double kLimitCores = 6;

// What all TaskManagers of an application have in common.
struct Application {
  std::string name;
  int task_managers = 1;
  double cores = 1;           // that a TaskManager demands, on average over time
  double bytes_per_core = 0;  // per second, each way
  double memory_bytes = 0;
  double swing = 0;  // of the data volume, up and down
  double phase = 0;
};

struct TaskManager {
  api::PodPtr pod;
  const Application* application = nullptr;
  std::size_t job = 0;
  double mood = 1;       // data is not spread evenly
  double submitted = 0;  // seconds
  double ends = 0;
  int node = -1;  // -1: waits
  double runs_from = 0;
  double cores = 0;  // used now, on average since the last step
};

struct NodeLoad {
  double background = 0;  // cores that nobody asked for
  double background_phase = 0;
  // Demanded now; more than the node has is not done.
  double cores = 0, bytes = 0, memory = 0;
  // Counters, as the node's exporter shows them.
  double busy_seconds = 0, received = 0;
  double Share() const { return cores / kCores; }
};

// What a step of the clock has cost.
struct Work {
  double demanded = 0, lost = 0;          // core-seconds of TaskManagers
  double job_demanded = 0, job_lost = 0;  // a job is as slow as its slowest TaskManager
};

class World {
 public:
  explicit World(const WorldOptions& options);

  const WorldOptions& options() const { return options_; }
  double now() const { return now_; }
  const std::vector<NodeLoad>& nodes() const { return nodes_; }
  const std::map<std::string, TaskManager>& pods() const { return pods_; }  // by name
  static std::string NodeName(std::size_t node);
  static api::Node MakeNode(std::size_t node);

  // Goes on by some seconds: jobs are submitted and end, pods use what they demand.
  struct Changes {
    std::vector<api::PodPtr> submitted;
    std::vector<api::PodPtr> ended;
    Work work;
  };
  Changes Step(double seconds);
  // That many TaskManagers of several applications at once.
  void SubmitBurst(int task_managers);
  // The scheduler's word. Returns the pod as the API server shows it then.
  api::PodPtr Place(const std::string& pod, const std::string& node, std::int64_t start_time);

 private:
  double Chance() { return std::uniform_real_distribution<double>()(random_); }
  double Scatter(double sigma) { return std::lognormal_distribution<double>(0, sigma)(random_); }
  void Submit(const Application& application);
  void Carry(double seconds, Work& work);
  double DemandOf(const TaskManager& pod) const;

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
