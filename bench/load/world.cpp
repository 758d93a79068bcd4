#include "bench/load/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "testing/builders.hpp"

namespace berth::bench {
namespace {

constexpr double kStartSeconds = 15;  // from the binding to the first record
// A Spark-like job computes, then shuffles, and so on.
constexpr double kStageSeconds = 120;
constexpr double kShuffleShare = 0.3;
constexpr double kShuffleCores = 0.4;
constexpr double kShuffleBytes = 1.5e8;  // per second, each way
constexpr double kShuffleDisk = 1.2e8;   // per second
// State is written at checkpoints.
constexpr double kCheckpointSeconds = 60;
constexpr double kCheckpointShare = 0.25;
constexpr double kYearsOfCounting = 90 * 86400.0;

// Of a job, as a share of job_minutes.
double DurationShare(const Application& application) { return application.batch ? 0.2 : 1; }

double Swing(double time, double phase) {
  return std::sin(2 * std::numbers::pi * (time / World::kPeriodSeconds + phase));
}

}  // namespace

World::World(const WorldOptions& options) : options_(options), random_(options.seed) {
  for (std::size_t i = 0; i < options.nodes; ++i) {
    NodeLoad& node = nodes_.emplace_back();
    // Every fifth node carries load without requests, such as a backup, a log shipper or a build.
    node.background = RandomShare() < 0.2 ? 4 + 6 * RandomShare() : 0.3 + RandomShare();
    node.background_phase = RandomShare();
    const double age = kYearsOfCounting * RandomShare();
    node.busy_seconds = age * kCores * 0.4;
    node.received = age * 5e7;
  }
  double task_managers = 0;
  for (std::size_t i = 0; i < options.applications; ++i) {
    applications_.push_back({.name = fmt::format("flink-{}", i),
                             .task_managers = 2 + static_cast<int>(RandomShare() * 22),
                             .cores = std::clamp(1.1 * Scatter(0.8), 0.1, 4.5),
                             .bytes_per_core = 2.5e7 * Scatter(0.8),
                             .memory_bytes = (1.5 + 2 * RandomShare()) * (1 << 30),
                             .swing = 0.5 * RandomShare(),
                             .phase = RandomShare()});
    if (options.disk_share > 0 && RandomShare() < options.disk_share)
      applications_.back().disk_per_core = 2e7 * Scatter(0.5);
    if (options.batch_share > 0 && RandomShare() < options.batch_share) MakeSparkLike(applications_.back());
    task_managers += applications_.back().task_managers * DurationShare(applications_.back());
  }
  const double wanted = options.busy_share * kCores / kRequestedCores * static_cast<double>(options.nodes);
  const double per_job = task_managers / static_cast<double>(options.applications);
  jobs_per_second_ = wanted / per_job / (options.job_minutes * 60);
  // Starts with the long-term average number of running jobs.
  while (static_cast<double>(pods_.size()) < wanted)
    Submit(
        applications_[static_cast<std::size_t>(RandomShare() * static_cast<double>(applications_.size()))]);
}

void World::MakeSparkLike(Application& application) {
  application.batch = true;
  application.name = "spark" + application.name.substr(application.name.find('-'));
  application.task_managers = 4 + static_cast<int>(RandomShare() * 36);
  application.cores = 1.5 + 2.5 * RandomShare();
  application.disk_per_core = application.swing = 0;
}

std::string World::NodeName(std::size_t node) { return fmt::format("node-{:03}", node); }

api::Node World::MakeNode(std::size_t node) {
  return testing::MakeNode(NodeName(node)).Cpu("16").Memory("64Gi").Allocatable("pods", "110");
}

void World::Submit(const Application& application) {
  const double ends =
      now_ - options_.job_minutes * DurationShare(application) * 60 * std::log(1 - RandomShare());
  ++jobs_;
  for (int i = 0; i < application.task_managers; ++i) {
    TaskManager pod;
    pod.pod = NewPod(application);
    pod.origin = submitted_;
    pod.application = &application;
    pod.job = jobs_;
    pod.load_factor = Scatter(0.15);
    pod.submitted = now_;
    pod.ends = ends;
    fresh_.push_back(pod.pod);
    pods_.emplace(pod.pod->metadata.name, std::move(pod));
  }
}

api::PodPtr World::NewPod(const Application& application) {
  testing::PodBuilder builder =
      testing::MakePod(fmt::format("{}-taskmanager-{}", application.name, ++submitted_));
  builder.Cpu("2").Memory("4Gi").Label("app", application.name);
  builder.raw().spec.scheduler_name = "default-scheduler";
  api::OwnerReference owner;
  owner.kind = "Deployment";
  owner.name = application.name;
  builder.raw().metadata.controller = std::move(owner);
  return builder.Share();
}

api::PodPtr World::Evict(const std::string& name) {
  const auto found = pods_.find(name);
  TaskManager replacement = found->second;
  const api::PodPtr deleted = replacement.pod;
  pods_.erase(found);
  replacement.pod = NewPod(*replacement.application);
  replacement.node = -1;
  replacement.submitted = now_;
  replacement.runs_from = replacement.cores = 0;
  fresh_.push_back(replacement.pod);
  pods_.emplace(replacement.pod->metadata.name, std::move(replacement));
  return deleted;
}

void World::SubmitBurst(int task_managers) {
  const auto target = submitted_ + static_cast<std::size_t>(task_managers);
  while (submitted_ < target)
    Submit(
        applications_[static_cast<std::size_t>(RandomShare() * static_cast<double>(applications_.size()))]);
}

World::Changes World::Step(double seconds) {
  Changes changes;
  Carry(seconds, changes.work);
  now_ += seconds;
  std::poisson_distribution<int> arrivals(jobs_per_second_ * seconds);
  for (int i = arrivals(random_); i > 0; --i)
    Submit(
        applications_[static_cast<std::size_t>(RandomShare() * static_cast<double>(applications_.size()))]);
  for (auto at = pods_.begin(); at != pods_.end();) {
    if (at->second.ends > now_) {
      ++at;
      continue;
    }
    // A job may end before its pods are announced.
    if (std::erase(fresh_, at->second.pod) == 0) changes.ended.push_back(at->second.pod);
    at = pods_.erase(at);
  }
  changes.submitted = std::exchange(fresh_, {});
  return changes;
}

api::PodPtr World::Place(const std::string& pod, const std::string& node, std::int64_t start_time) {
  TaskManager& placed = pods_.at(pod);
  placed.node = std::stoi(node.substr(node.find('-') + 1));
  placed.runs_from = now_ + kStartSeconds;
  api::Pod bound = *placed.pod;
  bound.spec.node_name = node;
  bound.status.start_time = start_time;
  bound.status.phase = "Running";
  placed.pod = std::make_shared<const api::Pod>(std::move(bound));
  return placed.pod;
}

// The executors of a job change their stage together.
bool World::Shuffles(const TaskManager& pod) const {
  return pod.application->batch &&
         std::fmod(now_ - pod.submitted, kStageSeconds) > (1 - kShuffleShare) * kStageSeconds;
}

double World::CoresOf(const TaskManager& pod) const {
  if (pod.node < 0 || now_ < pod.runs_from) return 0;
  const Application& app = *pod.application;
  if (Shuffles(pod)) return kShuffleCores;
  const double volume = 1 + app.swing * Swing(now_, app.phase);
  return std::min(app.cores * pod.load_factor * volume, kLimitCores);
}

double World::BytesOf(const TaskManager& pod) const {
  return Shuffles(pod) ? kShuffleBytes : pod.cores * pod.application->bytes_per_core;
}

double World::DiskOf(const TaskManager& pod) const {
  if (Shuffles(pod)) return kShuffleDisk;
  const double phase = std::fmod(now_ / kCheckpointSeconds + pod.application->phase, 1.0);
  return phase < kCheckpointShare ? pod.cores * pod.application->disk_per_core / kCheckpointShare : 0;
}

void World::Carry(double seconds, Work& work) {
  for (NodeLoad& node : nodes_) {
    node.cores = node.background * (1 + 0.3 * Swing(now_, node.background_phase));
    node.bytes = 1e6;
    node.memory = 4.0 * (1 << 30);
    node.disk = 0;
  }
  for (auto& [name, pod] : pods_) {
    pod.cores = CoresOf(pod);
    if (pod.cores == 0) continue;
    pod.disk = DiskOf(pod);
    NodeLoad& node = nodes_[static_cast<std::size_t>(pod.node)];
    node.cores += pod.cores;
    node.bytes += BytesOf(pod);
    node.disk += pod.disk;
    node.memory += pod.application->memory_bytes;
  }
  for (NodeLoad& node : nodes_) {
    node.busy_seconds += std::min(node.cores, kCores) * seconds;
    node.received += std::min(node.bytes, kLinkBytes) * seconds;
    node.disk_seconds += std::min(node.disk / kDiskBytes, 1 - kDiskOfSystem) * seconds;
  }
  struct Job {
    double slowest = 1, demanded = 0;
  };
  std::map<std::size_t, Job> jobs;
  for (auto& [name, pod] : pods_) {
    if (pod.cores == 0) continue;
    const NodeLoad& node = nodes_[static_cast<std::size_t>(pod.node)];
    double pace = std::min({1.0, kCores / node.cores, kLinkBytes / node.bytes});
    if (pod.disk > 0) pace = std::min(pace, (1 - kDiskOfSystem) * kDiskBytes / node.disk);
    work.demanded += pod.cores * seconds;
    work.lost += pod.cores * (1 - pace) * seconds;
    Job& job = jobs[pod.job];
    job.slowest = std::min(job.slowest, pace);
    job.demanded += pod.cores * seconds;
    pod.cores *= pace;
  }
  for (const auto& [number, job] : jobs) {
    work.job_demanded += job.demanded;
    work.job_lost += job.demanded * (1 - job.slowest);
  }
}

}  // namespace berth::bench
