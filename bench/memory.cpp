// Memory per node, bound pod and pending pod in the scheduler, in process: each is decoded from JSON and
// stored like in the program, in the informer's store and the cache or the queue. Counts the memory allocated
// by the allocator and not freed (including the spare capacity of tables), and the resident memory.
//
//   bench_memory [--nodes 5000] [--pods 30000] [--pending 10000] [--workloads 300] [--kind deployed] [--json]
#include <fmt/format.h>
#include <jemalloc/jemalloc.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string>

#include "base/clock.hpp"
#include "command_line/command.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/object_store.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "testing/allocated_bytes.hpp"

namespace berth::bench {
namespace {

struct Settings {
  std::size_t nodes = 5000;
  std::size_t pods = 30000;
  std::size_t pending = 10000;
  std::size_t workloads = 300;
  std::string kind = "deployed";
  bool json = false;
};

void ReturnFreedMemory() {
  mallctl(fmt::format("arena.{}.purge", MALLCTL_ARENAS_ALL).c_str(), nullptr, nullptr, nullptr, 0);
}
std::size_t ResidentBytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
double CpuMicros() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// A typical cloud node, in three zones and seven types, with twenty of a hundred images.
std::string NodeText(std::size_t i) {
  std::string images;
  for (std::size_t k = 0; k < 20; ++k) {
    const std::size_t image = (i * 7 + k * 5) % 100;
    images += fmt::format(R"({}{{"names":["registry.internal/team/service-{:02}@sha256:{:064x}",)"
                          R"("registry.internal/team/service-{:02}:1.{}.0"],"sizeBytes":{}}})",
                          k == 0 ? "" : ",", image, image * 2654435761U, image, image, 50'000'000 + image);
  }
  constexpr std::string_view kAmounts =
      R"({"cpu":"16","memory":"64Gi","ephemeral-storage":"200Gi","hugepages-1Gi":"0","hugepages-2Mi":"0","pods":"110"})";
  std::string conditions;
  for (const auto* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
    conditions += fmt::format(
        R"({}{{"type":"{}","status":"{}","reason":"Kubelet","message":"kubelet has sufficient memory available",)"
        R"("lastHeartbeatTime":"2026-10-01T00:00:{:02}Z","lastTransitionTime":"2026-10-01T00:00:00Z"}})",
        conditions.empty() ? "" : ",", type, type == std::string_view("Ready") ? "True" : "False", i % 60);
  }
  return fmt::format(
      R"({{"metadata":{{"name":"node-{0:06}","uid":"{0:08x}-1111-4c6b-9d3f-{0:012x}","resourceVersion":"{1}",)"
      R"("labels":{{"beta.kubernetes.io/arch":"amd64","beta.kubernetes.io/os":"linux","kubernetes.io/arch":"amd64",)"
      R"("kubernetes.io/hostname":"node-{0:06}","kubernetes.io/os":"linux",)"
      R"("node.kubernetes.io/instance-type":"type-{2}","topology.kubernetes.io/region":"region-1",)"
      R"("topology.kubernetes.io/zone":"zone-{3}"}}}},"spec":{{"podCIDR":"10.0.0.0/24"}},)"
      R"("status":{{"allocatable":{4},"capacity":{4},"conditions":[{5}],)"
      R"("addresses":[{{"type":"InternalIP","address":"10.{6}.{7}.1"}},{{"type":"Hostname","address":"node-{0:06}"}}],)"
      R"("images":[{8}]}}}})",
      i, 1000 + i, i % 7, i % 3, kAmounts, conditions, i / 256 % 256, i % 256, images);
}

// "plain": only requests, of 97 sizes. "deployed": the fields of a Deployment's pod in an API server that a
// scheduler reads. Without a node the pod is pending.
std::string PodText(const Settings& settings, std::size_t i, const std::string& node) {
  const std::string place = node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node);
  if (settings.kind == "plain") {
    return fmt::format(
        R"({{"metadata":{{"name":"pod-{0}","namespace":"default","uid":"{0:08x}-5a1e-4c6b-9d3f-{0:012x}",)"
        R"("resourceVersion":"{1}","labels":{{"app":"app-{2}"}}}},)"
        R"("spec":{{{3}"schedulerName":"default-scheduler","containers":[{{"name":"main","image":"nginx:1.27",)"
        R"("resources":{{"requests":{{"cpu":"{4}m","memory":"{5}Mi"}}}}}}]}},"status":{{"phase":"{6}"}}}})",
        i, 10000 + i, i % 10, place, 50 + i % 97, 64 + i % 89, node.empty() ? "Pending" : "Running");
  }
  const std::size_t w = i % settings.workloads;
  const auto container = [&](std::string_view name, std::string_view image, std::size_t size) {
    return fmt::format(
        R"({{"name":"{0}","image":"{1}","ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],)"
        R"("resources":{{"limits":{{"cpu":"{3}m","memory":"{3}Mi"}},"requests":{{"cpu":"{2}m","memory":"{2}Mi"}}}},)"
        R"("volumeMounts":[{{"name":"kube-api-access-{4:05x}","mountPath":"/var/run/secrets"}}]}})",
        name, image, size, 2 * size, i);
  };
  const std::string image = fmt::format("registry.internal/team/service-{:03}:1.{}.0", w, w);
  const std::string containers = container("main", image, 50 + w % 40) + "," +
                                 container("proxy", "registry.internal/mesh/proxy:v1.24.2", 16);
  std::string tolerations, conditions, statuses;
  for (const auto* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    tolerations +=
        fmt::format(R"({}{{"key":"{}","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}})",
                    tolerations.empty() ? "" : ",", key);
  }
  if (!node.empty()) {
    for (const auto* type :
         {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
      conditions += fmt::format(
          R"({}{{"type":"{}","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-10-01T00:{:02}:{:02}Z"}})",
          conditions.empty() ? "" : ",", type, i / 60 % 60, i % 60);
    }
    for (const auto& [name, size] : {std::pair("main", 50 + w % 40), std::pair("proxy", std::size_t{16})}) {
      statuses += fmt::format(R"({}{{"name":"{}","allocatedResources":{{"cpu":"{}m","memory":"{}Mi"}},)"
                              R"("resources":{{"requests":{{"cpu":"{}m","memory":"{}Mi"}}}}}})",
                              statuses.empty() ? "" : ",", name, size, size, size, size);
    }
  }
  return fmt::format(
      R"({{"metadata":{{"name":"service-{0:03}-{1:08x}-{2:05x}","namespace":"team-{3:02}",)"
      R"("uid":"{2:08x}-5a1e-4c6b-9d3f-{2:012x}","resourceVersion":"{4}","generation":1,)"
      R"("creationTimestamp":"2026-10-01T00:00:00Z","labels":{{"app.kubernetes.io/name":"service-{0:03}",)"
      R"("app.kubernetes.io/part-of":"team-{3:02}","app.kubernetes.io/version":"1.{0}.0","pod-template-hash":"{1:08x}"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-{0:03}-{1:08x}",)"
      R"("uid":"{0:08x}-0b1c-4d2e-8f3a-000000000000","controller":true}}]}},)"
      R"("spec":{{{5}"schedulerName":"default-scheduler","priority":0,"containers":[{6}],"tolerations":[{7}]}},)"
      R"("status":{{"phase":"{8}","conditions":[{9}],"containerStatuses":[{10}]{11}}}}})",
      w, w * 2654435761U, i, w % 20, 10000 + i, place, containers, tolerations,
      node.empty() ? "Pending" : "Running", conditions, statuses,
      node.empty() ? "" : R"(,"startTime":"2026-10-01T00:00:00Z")");
}

class Policy final : public queue::QueuePolicy {
 public:
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    return a.timestamp < b.timestamp;
  }
  framework::Status PreEnqueue(const framework::QueuedPod&) const override { return {}; }
  bool IsAnyRegistered(const framework::ClusterEvent&) const override { return true; }
  bool IsRegisteredBy(std::uint32_t, const std::string&, const framework::ClusterEvent&) const override {
    return true;
  }
  framework::Requeue EvaluateHint(const framework::QueuedPod&, const framework::ClusterEvent&,
                                  const framework::EventObjects&) const override {
    return framework::Requeue::kSkip;
  }
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {}

  void Run() {
    Show("api::Pod", static_cast<double>(sizeof(api::Pod)), "B");
    Show("api::Node", static_cast<double>(sizeof(api::Node)), "B");
    Measure("node", settings_.nodes, [&](std::size_t i) {
      node_store_.Put(api::AnyObject(Decode<api::Node>(NodeText(i), &node_micros_)));
    });
    Measure("bound_pod", settings_.pods, [&](std::size_t i) {
      const std::string node = fmt::format("node-{:06}", i % std::max<std::size_t>(settings_.nodes, 1));
      pod_store_.Put(api::AnyObject(Decode<api::Pod>(PodText(settings_, i, node), &pod_micros_)));
    });
    Measure("pending_pod", settings_.pending, [&](std::size_t i) {
      pod_store_.Put(
          api::AnyObject(Decode<api::Pod>(PodText(settings_, settings_.pods + i, ""), &pending_micros_)));
    });
    Show("decode_node", node_micros_ / static_cast<double>(std::max<std::size_t>(settings_.nodes, 1)), "us");
    Show("decode_bound_pod", pod_micros_ / static_cast<double>(std::max<std::size_t>(settings_.pods, 1)),
         "us");
    ReturnFreedMemory();
    Show("rss", static_cast<double>(ResidentBytes()) / (1 << 20), "MiB");
  }

 private:
  template <class T>
  std::shared_ptr<const T> Decode(const std::string& text, double* micros) {
    const std::string frame = R"({"type":"ADDED","object":)" + text + "}";
    const double begin = CpuMicros();
    auto event = decoder_.Event<T>(frame);
    *micros += CpuMicros() - begin;
    if (!event || !event->object) {
      fmt::print(stderr, "Error: {}\n", event ? event->skipped : event.error().message);
      std::exit(1);
    }
    return std::move(event->object);
  }

  template <class Make>
  void Measure(std::string_view what, std::size_t count, Make&& make) {
    if (count == 0) return;
    const std::size_t heap = testing::AllocatedBytes(), resident = ResidentBytes();
    for (std::size_t i = 0; i < count; ++i) make(i);
    const auto each = static_cast<double>(count);
    Show(fmt::format("heap_per_{}", what), static_cast<double>(testing::AllocatedBytes() - heap) / each, "B");
    Show(fmt::format("rss_per_{}", what),
         (static_cast<double>(ResidentBytes()) - static_cast<double>(resident)) / each, "B");
  }

  void Show(std::string_view name, double value, std::string_view unit) const {
    if (settings_.json) {
      fmt::print(R"({{"name":"{}","value":{:.3f},"unit":"{}","nodes":{},"pods":{},"kind":"{}"}})"
                 "\n",
                 name, value, unit, settings_.nodes, settings_.pods, settings_.kind);
    } else {
      fmt::print("{:<24} {:>12.1f} {}\n", name, value, unit);
    }
    std::fflush(stdout);
  }

  void OnPod(const ports::Change<api::Pod>& change) {
    if (change.after->spec.node_name.empty()) {
      queue_.Add(cluster::PreparePod(change.after, words_), 0);
    } else {
      cache_.AddPod(change.after);
    }
  }

  const Settings settings_;
  api::Decoder decoder_;
  cluster::SymbolTable words_;
  cluster::ClusterState cache_{words_};
  ManualClock clock_;
  Policy policy_;
  metrics::Registry metrics_;
  cluster::NoGrouping grouping_;
  cluster::PodGroups groups_{grouping_};
  queue::SchedulingQueue queue_{{}, clock_, policy_, groups_, metrics_};
  client::ObjectStore node_store_{
      [this](const api::AnyObject&, const api::AnyObject& node) { cache_.AddNode(node.As<api::Node>()); }};
  client::ObjectStore pod_store_{[this](const api::AnyObject& before, const api::AnyObject& after) {
    OnPod({before.As<api::Pod>(), after.As<api::Pod>()});
  }};
  double node_micros_ = 0, pod_micros_ = 0, pending_micros_ = 0;
};

int Main(int argc, char** argv) {
  Settings settings;
  command_line::Command command("bench_memory", "Memory of nodes and pods in the scheduler.");
  command_line::FlagSet& flags = command.flags();
  flags.Integer("nodes", settings.nodes, "nodes");
  flags.Integer("pods", settings.pods, "bound pods");
  flags.Integer("pending", settings.pending, "waiting pods");
  flags.Integer("workloads", settings.workloads, "number of Deployments of the pods", {.least = 1});
  flags.Choice("kind", settings.kind, {"plain", "deployed"}, "kind of the pods");
  flags.Bool("json", settings.json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  Bench(settings).Run();
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
