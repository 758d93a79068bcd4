// Cost of the scheduling queue itself, by the number of pending pods; plugins return immediately.
//
//   bench_queue [--pods 10000,100000] [--json]
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "command_line/command.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::bench {
namespace {

constexpr framework::ClusterEvent kNodeAdd{framework::EventResource::kNode, framework::kAdd, "NodeAdd"};

class Policy final : public queue::QueuePolicy {
 public:
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.timestamp < b.timestamp;
  }
  framework::Status PreEnqueue(const framework::QueuedPod&) const override { return gate; }
  bool IsAnyRegistered(const framework::ClusterEvent&) const override { return true; }
  bool IsRegisteredBy(std::uint32_t, const std::string&, const framework::ClusterEvent&) const override {
    return true;
  }
  framework::Requeue EvaluateHint(const framework::QueuedPod&, const framework::ClusterEvent&,
                                  const framework::EventObjects&) const override {
    return hint;
  }
  framework::Requeue hint = framework::Requeue::kSkip;
  framework::Status gate;
};

class Bench {
 public:
  Bench(std::size_t pods, bool json) : json_(json) {
    for (std::size_t i = 0; i < pods; ++i) {
      auto pod = std::make_shared<api::Pod>();
      pod->metadata.ns = "default";
      pod->metadata.name = fmt::format("pod-{:06}", i);
      pod->metadata.uid = fmt::format("5f0e6b1c-7a52-4c0e-9d7e-{:012}", i);
      pod->spec.scheduler_name = "default-scheduler";
      pod->spec.priority = static_cast<std::int32_t>(i * 7919 % 10);
      infos_.push_back(cluster::PreparePod(std::move(pod), words_));
    }
  }

  void Run() {
    if (!json_) fmt::print("{} pods\n", infos_.size());
    Measure("add", "Add", infos_.size(), [&] { AddAll(); });
    Measure("pop-done", "Pop and Done", infos_.size(), [&] {
      while (const auto pod = queue_.Pop().pod) queue_.Done(pod->info.pod->metadata.uid);
    });
    AddAll();
    Measure("pop-rejected", "Pop and Requeue, rejected", infos_.size(), [&] { RejectAll(); });
    Measure("event-helps-none", "MoveAll that requeues no pod, per pod", infos_.size(), [&] { MoveAll(); });
    Measure("event-step", "the part of MoveAll between two decisions", 1, [&] {
      queue_.MoveAll(kNodeAdd, {});
      queue_.EvaluateDeferred();
    });
    while (queue_.EvaluateDeferred()) {
    }
    Measure("activate", "Activate one pod", 1000, [&] {
      for (std::size_t i = 0; i < 1000; ++i)
        queue_.Activate(std::span(&infos_[i * 7 % infos_.size()].key, 1));
    });
    policy_.hint = framework::Requeue::kAfterBackoff;
    Measure("event-helps-all", "MoveAll that requeues all, per pod", infos_.size(), [&] { MoveAll(); });
    Measure("sizes", "sizes", 1000, [&] {
      for (int i = 0; i < 1000; ++i) waiting_ += queue_.sizes().backoff;
    });
    clock_.Advance(std::chrono::seconds(30));
    Measure("flush-backoff", "flush of all from backoff, per pod", infos_.size(), [&] { queue_.Tick(); });
    Measure("delete", "Delete", infos_.size(), [&] { DeleteAll(); });
    policy_.gate = framework::Status::Unresolvable({});
    Measure("add-gated", "Add, gated", infos_.size(), [&] { AddAll(); });
    Measure("delete-gated", "Delete, gated", infos_.size(), [&] { DeleteAll(); });
  }

 private:
  void MoveAll() {
    queue_.MoveAll(kNodeAdd, {});
    while (queue_.EvaluateDeferred()) {
    }
  }
  void AddAll() {
    for (const auto& info : infos_) {
      clock_.Advance(std::chrono::microseconds(1));
      queue_.Add(info, 0);
    }
  }
  void DeleteAll() {
    for (const auto& info : infos_) queue_.Delete(*info.pod);
  }
  void RejectAll() {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      clock_.Advance(std::chrono::microseconds(1));
      const auto pod = queue_.Pop().pod;
      pod->rejectors = {"NodeResourcesFit"};
      queue_.Requeue(pod);
    }
  }
  // CPU time of this process only.
  static double CpuNanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }
  template <class Work>
  void Measure(const char* name, const char* what, std::size_t times, Work&& work) const {
    const double started = CpuNanoseconds();
    work();
    const double took = CpuNanoseconds() - started;
    if (json_) {
      fmt::print("{{\"name\":\"queue/{}/{}\",\"value\":{:.1f},\"unit\":\"ns\",\"cpuSeconds\":{:.6f}}}\n",
                 infos_.size(), name, took / static_cast<double>(times), took / 1e9);
    } else {
      fmt::print("  {:<36} {:>9.0f} ns {:>9.2f} ms total\n", what, took / static_cast<double>(times),
                 took / 1e6);
    }
  }

  bool json_;
  cluster::SymbolTable words_;
  ManualClock clock_;
  Policy policy_;
  metrics::Registry metrics_;
  cluster::NoGrouping grouping_;
  cluster::PodGroups groups_{grouping_};
  queue::SchedulingQueue queue_{{}, clock_, policy_, groups_, metrics_};
  std::vector<cluster::PodInfo> infos_;
  std::size_t waiting_ = 0;
};

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  std::vector<std::size_t> pods{10'000, 100'000};
  bool json = false;
  berth::command_line::Command command("bench_queue", "Cost of the scheduling queue itself.");
  command.flags().Integers("pods", pods, "number of pending pods");
  command.flags().Bool("json", json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  for (const std::size_t count : pods) berth::bench::Bench(count, json).Run();
}
