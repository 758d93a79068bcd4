// How long the first pod of a tenant waits behind the pods of another one, with PrioritySort and with
// FairOrder, in a complete scheduler; the API server accepts every request immediately. Cases:
//
//   fits       50,000 pods of tenant a that fit, then one of tenant b
//   rejected   tenant b uses half of the cluster; 50,000 pods of tenant a that fit on no node, then one of b
//   tenants    50,000 pods of 10,000 tenants, five of each, then one of b: the cost of the order
//
//   bench_fair_order [--nodes 1000] [--pods 50000] [--tenants 10000] [--json]
#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/measuring.hpp"
#include "bench/no_writes.hpp"
#include "bench/whole_scheduler.hpp"
#include "command_line/command.hpp"
#include "testing/builders.hpp"

namespace berth::bench {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;

struct Parameters {
  std::size_t nodes = 1000;
  std::size_t pods = 50'000;
  std::size_t tenants = 10'000;
};

// Counts the pods that were bound or rejected until the first pod of tenant b was bound.
class CountingWriter final : public NoWrites {
 public:
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    ++decided;
    if (binding.name == "first") {
      before = decided - 1;
      bound_at = CpuSeconds();
    }
    done({});
  }
  void PatchPodStatus(ports::PodStatusPatch, ports::WriteDone done) override {
    ++decided;
    done({});
  }
  std::size_t decided = 0, before = 0;
  double bound_at = 0;  // CPU time of the process; 0: not bound
};

struct Result {
  std::size_t before = 0;     // decisions before that of the first pod of tenant b
  double cpu_until = 0;       // seconds of CPU time until its binding
  double micros_per_pod = 0;  // CPU time of all decisions
};

class Round {
 public:
  explicit Round(const std::string& order) : scheduler_(Config(order), api_) {}

  void AddNodes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      scheduler_.Deliver<api::Node>(
          MakeNode(fmt::format("node-{}", i)).Cpu("64").Memory("256Gi").Pods("110").Share());
  }
  void Add(const std::string& tenant, const std::string& name, const std::string& cpu) {
    scheduler_.Deliver<api::Pod>(PodOf(tenant, name).Cpu(cpu).Share());
    ++pods_;
  }
  void Run(const std::string& tenant, const std::string& name, const std::string& cpu, std::string node) {
    scheduler_.Deliver<api::Pod>(PodOf(tenant, name).Cpu(cpu).OnNode(std::move(node)).Share());
  }
  Result Decide() {
    const double cpu = CpuSeconds();
    scheduler_.Run();
    if (api_.bound_at == 0) Stop("the first pod of tenant b was not bound");
    return {.before = api_.before,
            .cpu_until = api_.bound_at - cpu,
            .micros_per_pod = (CpuSeconds() - cpu) * 1e6 / static_cast<double>(pods_)};
  }

 private:
  static config::SchedulerConfig Config(const std::string& order) {
    auto config = config::ParseSchedulerConfig(fmt::format(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{{plugins: {{queueSort: {{enabled: [{{name: {}}}], disabled: [{{name: '*'}}]}}}}}}]\n",
        order));
    if (!config) Stop(config.error().message);
    return *std::move(config);
  }
  static PodBuilder PodOf(const std::string& tenant, const std::string& name) {
    return MakePod(name).Namespace(tenant).Uid(tenant + "/" + name);
  }

  CountingWriter api_;
  WholeScheduler scheduler_;
  std::size_t pods_ = 0;
};

Result Measure(const std::string& name, const std::string& order, const Parameters& parameters) {
  Round round(order);
  round.AddNodes(parameters.nodes);
  if (name == "rejected") {
    for (std::size_t i = 0; i < parameters.nodes; ++i)
      round.Run("b", fmt::format("running-{}", i), "32", fmt::format("node-{}", i));
  }
  for (std::size_t i = 0; i < parameters.pods; ++i) {
    round.Add(name == "tenants" ? fmt::format("a-{}", i % parameters.tenants) : "a", fmt::format("pod-{}", i),
              name == "rejected" ? "60" : "100m");
  }
  round.Add("b", "first", "100m");
  return round.Decide();
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  KeepFreedMemory();
  Parameters parameters;
  std::vector<std::string> cases;
  const std::vector<std::string> all{"fits", "rejected", "tenants"};
  bool json = false;
  berth::command_line::Command command(
      "bench_fair_order",
      "How long the first pod of a tenant waits behind the pods of another one, with PrioritySort and with "
      "FairOrder.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Choices("cases", cases, all, "cases, comma-separated; default: all", "NAMES");
  flags.Integer("nodes", parameters.nodes, "nodes for 110 pods each", {.least = 1});
  flags.Integer("pods", parameters.pods, "pods of the other tenants", {.least = 1});
  flags.Integer("tenants", parameters.tenants, "other tenants in the case `tenants`", {.least = 1});
  flags.Bool("json", json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  if (!json) {
    fmt::print("{:<10} {:<13} {:>17} {:>13} {:>12}\n", "case", "order", "decisions before", "CPU until",
               "CPU per pod");
  }
  for (const std::string& name : cases.empty() ? all : cases) {
    for (const std::string order : {"PrioritySort", "FairOrder"}) {
      const Result result = Measure(name, order, parameters);
      if (json) {
        fmt::print(
            "{{\"name\":\"fair_order/{}/{}\",\"value\":{},\"unit\":\"decisions\",\"cpuSeconds\":{:.6f},"
            "\"cpuMicros\":{:.2f}}}\n",
            name, order, result.before, result.cpu_until, result.micros_per_pod);
      } else {
        fmt::print("{:<10} {:<13} {:>17} {:>10.3f} ms {:>9.2f} us\n", name, order, result.before,
                   1e3 * result.cpu_until, result.micros_per_pod);
      }
    }
  }
}
