#include "tools/demo/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/random.hpp"

namespace berth::demo {
namespace {

namespace json = boost::json;

constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
constexpr std::string_view kHostLabel = "kubernetes.io/hostname";
constexpr std::string_view kTypeLabel = "node.kubernetes.io/instance-type";
constexpr std::string_view kGpu = "nvidia.com/gpu";

// A kind of pod and its share of the workload.
struct Kind {
  std::string_view name;
  double share = 0;
  double milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::string_view image;
  std::string_view priority_class = {};
};
constexpr Kind kKinds[] = {
    {"web", 0.22, 250, 256, "docker.io/library/nginx:1.27"},
    {"web-in-zone", 0.10, 250, 256, "docker.io/library/nginx:1.27"},
    {"flink-taskmanager", 0.14, 2000, 4096, "docker.io/apache/flink:1.20"},
    {"batch-low", 0.16, 500, 512, "docker.io/library/python:3.13", "demo-low"},
    {"batch-normal", 0.14, 500, 512, "docker.io/library/python:3.13", "demo-normal"},
    {"batch-urgent", 0.04, 500, 512, "docker.io/library/python:3.13", "demo-urgent"},
    {kSpreadOverZones, 0.06, 250, 256, "docker.io/library/nginx:1.27"},
    {kOnePerNode, 0.03, 250, 512, "docker.io/library/redis:7.4"},
    {"near-a-cache", 0.03, 250, 256, "docker.io/library/nginx:1.27"},
    {"pinned-to-big-nodes", 0.08, 1000, 2048, "docker.io/apache/spark:3.5"},
};
constexpr std::string_view kNever[] = {"never-too-big", "never-no-such-node", "never-untolerated"};

json::object Pod(std::string_view kind, std::size_t number, double milli_cpu, std::int64_t memory_mib,
                 std::string_view image) {
  const json::object requests{{"cpu", fmt::format("{}m", std::max<std::int64_t>(std::llround(milli_cpu), 1))},
                              {"memory", fmt::format("{}Mi", memory_mib)}};
  const json::object container{
      {"name", "main"}, {"image", image}, {"resources", json::object{{"requests", requests}}}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", json::object{{"name", fmt::format("{}-{:05}", kind, number)},
                                    {"labels", json::object{{"app", kind}, {kKindLabel, kind}}}}},
          {"spec", json::object{{"containers", json::array{container}}}}};
}

json::object& Spec(json::object& pod) { return pod.at("spec").get_object(); }

json::object RequiredNodes(std::string_view label, json::array values) {
  const json::object expression{{"key", label}, {"operator", "In"}, {"values", std::move(values)}};
  const json::object term{{"matchExpressions", json::array{expression}}};
  return {{"nodeAffinity", json::object{{"requiredDuringSchedulingIgnoredDuringExecution",
                                         json::object{{"nodeSelectorTerms", json::array{term}}}}}}};
}

json::object LabelSelector(std::string_view app) { return {{"matchLabels", json::object{{"app", app}}}}; }

// Adds the topology constraints of a kind.
void AddTopology(std::string_view kind, json::object& spec) {
  if (kind == kSpreadOverZones) {
    spec["topologySpreadConstraints"] = json::array{json::object{{"maxSkew", 1},
                                                                 {"topologyKey", kZoneLabel},
                                                                 {"whenUnsatisfiable", "DoNotSchedule"},
                                                                 {"nodeTaintsPolicy", "Honor"},
                                                                 {"labelSelector", LabelSelector(kind)}}};
  } else if (kind == kOnePerNode) {
    const json::object term{{"topologyKey", kHostLabel}, {"labelSelector", LabelSelector(kind)}};
    spec["affinity"] =
        json::object{{"podAntiAffinity",
                      json::object{{"requiredDuringSchedulingIgnoredDuringExecution", json::array{term}}}}};
  } else if (kind == "near-a-cache") {
    const json::object term{{"topologyKey", kHostLabel}, {"labelSelector", LabelSelector(kOnePerNode)}};
    const json::object weighted{{"weight", 100}, {"podAffinityTerm", term}};
    spec["affinity"] = json::object{
        {"podAffinity",
         json::object{{"preferredDuringSchedulingIgnoredDuringExecution", json::array{weighted}}}}};
  }
}

void RequestGpus(json::object& pod, int gpus) {
  auto& container = Spec(pod).at("containers").get_array()[0].get_object();
  auto& resources = container.at("resources").get_object();
  resources.at("requests").get_object()[kGpu] = fmt::to_string(gpus);
  resources["limits"] = json::object{{kGpu, fmt::to_string(gpus)}};
}

json::object RegularPod(const Kind& kind, std::size_t number, double scale, const ClusterSize& size) {
  json::object pod =
      Pod(kind.name, number, kind.milli_cpu * scale,
          std::max<std::int64_t>(std::llround(static_cast<double>(kind.memory_mib) * scale), 1), kind.image);
  if (!kind.priority_class.empty()) Spec(pod)["priorityClassName"] = kind.priority_class;
  AddTopology(kind.name, Spec(pod));
  if (kind.name == "web-in-zone") {
    const std::size_t zones = std::min(size.zones, size.nodes);
    const auto zone =
        fmt::format("sandbox-1{}", static_cast<char>('a' + number % std::max<std::size_t>(zones, 1)));
    Spec(pod)["nodeSelector"] = json::object{{kZoneLabel, zone}};
  }
  // Three node shapes alternate, so a cluster of a few nodes may lack the big ones.
  if (kind.name == "pinned-to-big-nodes" && size.nodes >= 3 * size.zones) {
    Spec(pod)["affinity"] = RequiredNodes(kTypeLabel, {"standard-16", "standard-32"});
  }
  return pod;
}

json::object GpuPod(std::size_t number) {
  json::object pod = Pod("training-on-gpu", number, 4000, 16384, "docker.io/pytorch/pytorch:2.5");
  RequestGpus(pod, 1);
  const json::object toleration{{"key", kGpu}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
  Spec(pod)["tolerations"] = json::array{toleration};
  return pod;
}

json::object NeverPod(std::string_view kind, std::size_t number) {
  json::object pod =
      Pod(kind, number, kind == "never-too-big" ? 512'000 : 100, 128, "docker.io/library/redis:7.4");
  if (kind == "never-no-such-node") Spec(pod)["nodeSelector"] = json::object{{"disktype", "quantum"}};
  if (kind == "never-untolerated") Spec(pod)["nodeSelector"] = json::object{{"accelerator", "nvidia"}};
  return pod;
}

std::string PriorityClass(std::string_view name, int value) {
  return json::serialize(json::object{{"apiVersion", "scheduling.k8s.io/v1"},
                                      {"kind", "PriorityClass"},
                                      {"metadata", json::object{{"name", name}}},
                                      {"value", value}});
}

// Scales requests so that the regular pods use no more than this share of the ordinary nodes' CPUs.
double Scale(const ClusterSize& size, std::size_t pods) {
  constexpr double kShare = 0.66;
  constexpr double kMeanMilliCpus = (8 + 16 + 32) / 3.0 * 1000 - 100;
  double wanted = 0;
  for (const auto& kind : kKinds) wanted += kind.share * kind.milli_cpu * static_cast<double>(pods);
  return std::min(1.0, kShare * kMeanMilliCpus * static_cast<double>(size.nodes) / std::max(wanted, 1.0));
}

}  // namespace

std::size_t Workload::fitting() const {
  return static_cast<std::size_t>(std::ranges::count_if(pods, [](const DemoPod& pod) { return pod.fits; }));
}

std::string MakePreemptor(std::int64_t milli_cpu) {
  json::object pod = Pod(kPreemptor, 0, static_cast<double>(milli_cpu), 256, "docker.io/library/redis:7.4");
  pod.at("metadata").get_object()["name"] = kPreemptor;
  Spec(pod)["priorityClassName"] = "demo-urgent";
  return json::serialize(pod);
}

Workload MakeWorkload(const ClusterSize& size, std::size_t pods, std::uint64_t seed) {
  Workload workload;
  workload.priority_classes = {PriorityClass("demo-low", 100), PriorityClass("demo-normal", 1000),
                               PriorityClass("demo-urgent", 10000)};
  const auto add = [&](std::string_view kind, const json::object& pod, bool fits) {
    workload.pods.push_back({std::string(pod.at("metadata").at("name").get_string()), std::string(kind), fits,
                             json::serialize(pod)});
  };
  const std::size_t never_each = std::max<std::size_t>(pods / 1000, 1);
  for (const auto kind : kNever) {
    // Without GPU nodes "untolerated" would be an ordinary selector that matches no node.
    if (kind == "never-untolerated" && size.gpu_nodes == 0) continue;
    for (std::size_t i = 0; i < never_each && workload.pods.size() < pods; ++i)
      add(kind, NeverPod(kind, i), false);
  }
  const std::size_t gpus = std::min(size.gpu_nodes * 6, pods / 50);  // of eight per node
  for (std::size_t i = 0; i < gpus && workload.pods.size() < pods; ++i)
    add("training-on-gpu", GpuPod(i), true);
  const std::size_t rest = pods - workload.pods.size();
  const double scale = Scale(size, rest);
  for (const auto& kind : kKinds) {
    auto count = static_cast<std::size_t>(kind.share * static_cast<double>(rest));
    if (kind.name == kOnePerNode) count = std::min(count, size.nodes * 3 / 4);
    for (std::size_t i = 0; i < count; ++i) add(kind.name, RegularPod(kind, i, scale, size), true);
  }
  for (std::size_t i = 0; workload.pods.size() < pods; ++i) {  // the rest from rounding
    add("web", RegularPod(kKinds[0], 90000 + i, scale, size), true);
  }
  Random random(seed);
  for (std::size_t i = workload.pods.size(); i > 1; --i)
    std::swap(workload.pods[i - 1], workload.pods[random.Below(i)]);
  return workload;
}

}  // namespace berth::demo
