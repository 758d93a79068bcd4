#include "sandbox/nodes/node_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {
namespace {

constexpr std::int64_t kGi = 1 << 30;
constexpr std::string_view kGpu = "nvidia.com/gpu";

struct Image {
  std::string_view name;
  std::int64_t bytes;
};
// Present on some nodes, so that image locality has something to say.
constexpr Image kImages[] = {
    {"registry.k8s.io/pause:3.10", 320'000},          {"docker.io/library/nginx:1.27", 72'900'000},
    {"docker.io/library/redis:7.4", 45'100'000},      {"docker.io/library/python:3.13", 377'000'000},
    {"docker.io/apache/flink:1.20", 480'000'000},     {"docker.io/apache/spark:3.5", 620'000'000},
    {"docker.io/pytorch/pytorch:2.5", 3'400'000'000},
};

std::string Quantity(std::int64_t gib) { return fmt::format("{}Ki", gib * kGi / 1024); }

json::object Resources(const MachineShape& shape, bool allocatable) {
  // What the system keeps for itself.
  const std::int64_t reserved_milli_cpu = allocatable ? 100 : 0;
  const std::int64_t reserved_ki = allocatable ? 1 << 20 : 0;
  json::object list{{"cpu", allocatable ? fmt::format("{}m", shape.cpus * 1000 - reserved_milli_cpu)
                                        : fmt::to_string(shape.cpus)},
                    {"ephemeral-storage", Quantity(shape.ephemeral_gib)},
                    {"hugepages-1Gi", "0"},
                    {"hugepages-2Mi", "0"},
                    {"memory", fmt::format("{}Ki", shape.memory_gib * (kGi / 1024) - reserved_ki)},
                    {"pods", fmt::to_string(shape.pods)}};
  if (shape.gpus > 0) list[kGpu] = fmt::to_string(shape.gpus);
  return list;
}

json::array ImagesOf(Random& random) {
  json::array images;
  for (const auto& image : kImages) {
    if (random.Below(2) == 0) continue;
    images.push_back(
        json::object{{"names", json::array{json::value(image.name)}}, {"sizeBytes", image.bytes}});
  }
  return images;
}

json::object NodeInfo() {
  return {{"architecture", "amd64"},
          {"operatingSystem", "linux"},
          {"kernelVersion", "6.1.0-sandbox"},
          {"osImage", "Berth sandbox (simulated)"},
          {"containerRuntimeVersion", "simulated://1.0"},
          {"kubeletVersion", "v1.37.1"},
          {"kubeProxyVersion", ""},
          {"machineID", ""},
          {"systemUUID", ""},
          {"bootID", ""}};
}

struct Machine {
  std::string name;
  std::size_t number = 0;  // over the whole pool, from 0
  const MachineShape& shape;
  std::string zone;
};

json::object NodeDocument(const Machine& machine, const NodePoolOptions& options, WallTime now,
                          Random& random) {
  const std::string ip = fmt::format("172.{}.{}.{}", 16 + machine.number / 62500, machine.number / 250 % 250,
                                     machine.number % 250 + 1);
  json::object labels{{"beta.kubernetes.io/arch", "amd64"},
                      {"beta.kubernetes.io/os", "linux"},
                      {"kubernetes.io/arch", "amd64"},
                      {"kubernetes.io/hostname", machine.name},
                      {"kubernetes.io/os", "linux"},
                      {"node.kubernetes.io/instance-type", machine.shape.name},
                      {"topology.kubernetes.io/region", options.region},
                      {"topology.kubernetes.io/zone", machine.zone}};
  json::object spec{
      {"podCIDR", fmt::format("10.{}.{}.0/24", machine.number / 256 % 256, machine.number % 256)},
      {"providerID", fmt::format("sandbox://{}/{}", machine.zone, machine.name)}};
  if (machine.shape.gpus > 0) {
    labels["accelerator"] = "nvidia";
    const json::object taint{{"key", kGpu}, {"value", "present"}, {"effect", "NoSchedule"}};
    spec["taints"] = json::array{taint};
  }
  const json::object internal{{"type", "InternalIP"}, {"address", ip}};
  const json::object hostname{{"type", "Hostname"}, {"address", machine.name}};
  return {{"metadata", json::object{{"name", machine.name}, {"labels", std::move(labels)}}},
          {"spec", std::move(spec)},
          {"status", json::object{{"capacity", Resources(machine.shape, false)},
                                  {"allocatable", Resources(machine.shape, true)},
                                  {"conditions", HealthyConditions(now)},
                                  {"addresses", json::array{internal, hostname}},
                                  {"nodeInfo", NodeInfo()},
                                  {"images", ImagesOf(random)}}}};
}

ApiResult<> CreateNode(Verbs& verbs, Random& random, const Machine& machine, const NodePoolOptions& options) {
  const WallTime now = verbs.clock().WallNow();
  Document node;
  node.root() = NodeDocument(machine, options, now, random);
  BERTH_TRY(const ObjectPtr created, verbs.Create(Known().nodes, "", std::move(node)));
  Document lease;
  lease.root() = NodeLease(created->name, created->uid, now);
  BERTH_CHECKED(verbs.Create(Known().leases, "kube-node-lease", std::move(lease)));
  return {};
}

}  // namespace

ApiResult<> CreateNodes(Verbs& verbs, Random& random, const NodePoolOptions& options) {
  std::size_t number = 0;
  const auto zone = [&](std::size_t i) {
    const std::size_t zones = std::max<std::size_t>(options.zones, 1);
    return fmt::format("{}{}", options.region, static_cast<char>('a' + i % std::min<std::size_t>(zones, 26)));
  };
  for (std::size_t i = 0; i < options.nodes; ++i) {
    // Zone and shape turn at different speeds, or each zone would have machines of one shape only.
    const std::size_t zones = std::max<std::size_t>(options.zones, 1);
    const auto& shape = options.shapes[(i / zones) % options.shapes.size()];
    BERTH_CHECKED(
        CreateNode(verbs, random, {fmt::format("node-{:04}", i + 1), number++, shape, zone(i)}, options));
  }
  for (std::size_t i = 0; i < options.gpu_nodes; ++i) {
    BERTH_CHECKED(CreateNode(
        verbs, random, {fmt::format("gpu-{:04}", i + 1), number++, options.gpu_shape, zone(i)}, options));
  }
  return {};
}

json::object NodeLease(std::string_view node, std::string_view node_uid, WallTime now) {
  const json::object owner{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node_uid}};
  return {{"metadata",
           json::object{
               {"name", node}, {"namespace", "kube-node-lease"}, {"ownerReferences", json::array{owner}}}},
          {"spec",
           json::object{
               {"holderIdentity", node}, {"leaseDurationSeconds", 40}, {"renewTime", FormatMicroTime(now)}}}};
}

json::array HealthyConditions(WallTime now) {
  const std::string time = FormatTime(now);
  const auto condition = [&](std::string_view type, std::string_view status, std::string_view reason,
                             std::string_view message) {
    return json::object{
        {"type", type},     {"status", status},  {"lastHeartbeatTime", time}, {"lastTransitionTime", time},
        {"reason", reason}, {"message", message}};
  };
  return {
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available"),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")};
}

}  // namespace berth::sandbox
