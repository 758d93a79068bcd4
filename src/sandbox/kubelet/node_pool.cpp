#include "sandbox/kubelet/node_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "kubernetes/api/quantity.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/kubelet/devices/device_groups.hpp"

namespace berth::sandbox {
namespace {

constexpr std::int64_t kGi = 1 << 30;
constexpr std::string_view kGpu = "nvidia.com/gpu";

struct Image {
  std::string_view name;
  std::int64_t bytes;
};
// Present on some nodes only, so that image locality affects placement.
constexpr Image kImages[] = {
    {"registry.k8s.io/pause:3.10", 320'000},          {"docker.io/library/nginx:1.27", 72'900'000},
    {"docker.io/library/redis:7.4", 45'100'000},      {"docker.io/library/python:3.13", 377'000'000},
    {"docker.io/apache/flink:1.20", 480'000'000},     {"docker.io/apache/spark:3.5", 620'000'000},
    {"docker.io/pytorch/pytorch:2.5", 3'400'000'000},
};

std::string Quantity(std::int64_t gib) { return fmt::format("{}Ki", gib * kGi / 1024); }

json::object Resources(const MachineShape& shape, bool device_plugin, bool allocatable) {
  // Reserved for the system.
  const std::int64_t reserved_milli_cpu = allocatable ? 100 : 0;
  const std::int64_t reserved_ki = allocatable ? 1 << 20 : 0;
  json::object list{{"cpu", allocatable ? fmt::format("{}m", shape.cpus * 1000 - reserved_milli_cpu)
                                        : fmt::to_string(shape.cpus)},
                    {"ephemeral-storage", Quantity(shape.ephemeral_gib)},
                    {"hugepages-1Gi", "0"},
                    {"hugepages-2Mi", "0"},
                    {"memory", fmt::format("{}Ki", shape.memory_gib * (kGi / 1024) - reserved_ki)},
                    {"pods", fmt::to_string(shape.pods)}};
  if (shape.gpus > 0 && device_plugin) list[kGpu] = fmt::to_string(shape.gpus);
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

json::array AddressesOf(const std::string& name, std::size_t number) {
  const std::string ip =
      fmt::format("172.{}.{}.{}", 16 + number / 62500, number / 250 % 250, number % 250 + 1);
  const json::object internal{{"type", "InternalIP"}, {"address", ip}};
  const json::object hostname{{"type", "Hostname"}, {"address", name}};
  return {internal, hostname};
}

std::string PodCidrOf(std::size_t number) {
  return fmt::format("10.{}.{}.0/24", number / 256 % 256, number % 256);
}

json::object LabelsOf(const std::string& name, const std::string& region, const std::string& zone,
                      const std::string& instance_type) {
  json::object labels{{"beta.kubernetes.io/arch", "amd64"},
                      {"beta.kubernetes.io/os", "linux"},
                      {"kubernetes.io/arch", "amd64"},
                      {"kubernetes.io/hostname", name},
                      {"kubernetes.io/os", "linux"}};
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) labels[key] = value;
  };
  add("node.kubernetes.io/instance-type", instance_type);
  add("topology.kubernetes.io/region", region);
  add("topology.kubernetes.io/zone", zone);
  return labels;
}

json::object NodeDocument(const Machine& machine, const NodePoolOptions& options, WallTime now,
                          Random& random) {
  const bool device_plugin = !options.gpu_claims;
  json::object labels = LabelsOf(machine.name, options.region, machine.zone, machine.shape.name);
  json::object metadata{{"name", machine.name}};
  json::object spec{{"podCIDR", PodCidrOf(machine.number)},
                    {"providerID", fmt::format("sandbox://{}/{}", machine.zone, machine.name)}};
  if (machine.shape.gpus > 0) {
    labels["accelerator"] = "nvidia";
    const json::object taint{{"key", kGpu}, {"value", "present"}, {"effect", "NoSchedule"}};
    spec["taints"] = json::array{taint};
    if (!device_plugin) metadata["annotations"] = json::object{{kDevices, GpuDevices(machine.shape.gpus)}};
  }
  metadata["labels"] = std::move(labels);
  return {{"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", json::object{{"capacity", Resources(machine.shape, device_plugin, false)},
                                  {"allocatable", Resources(machine.shape, device_plugin, true)},
                                  {"conditions", HealthyConditions(now)},
                                  {"addresses", AddressesOf(machine.name, machine.number)},
                                  {"nodeInfo", NodeInfo()},
                                  {"images", ImagesOf(random)}}}};
}

// --- nodes from a file ---

// Capacity minus the system reservation: a tenth of a CPU and a GiB, or half of smaller amounts.
std::string Allocatable(const std::string& resource, const std::string& capacity) {
  const auto quantity = api::Quantity::Parse(capacity);
  if (resource == "cpu") {
    const std::int64_t milli = quantity->MilliValue();
    return fmt::format("{}m", milli - std::min<std::int64_t>(100, milli / 2));
  }
  if (resource != "memory") return capacity;
  const std::int64_t ki = quantity->Value() / 1024;
  return fmt::format("{}Ki", ki - std::min<std::int64_t>(1 << 20, ki / 2));
}

json::object StatusOf(const NodeGroup& group, const std::string& name, std::size_t number, WallTime now) {
  json::object capacity{{"cpu", group.cpu},       {"ephemeral-storage", group.ephemeral_storage},
                        {"hugepages-1Gi", "0"},   {"hugepages-2Mi", "0"},
                        {"memory", group.memory}, {"pods", fmt::to_string(group.pods)}};
  for (const auto& [resource, amount] : group.resources) capacity[resource] = amount;
  json::object allocatable;
  for (const auto& entry : capacity) {
    const std::string resource(entry.key());
    allocatable[resource] = Allocatable(resource, std::string(entry.value().get_string()));
  }
  for (const auto& [resource, amount] : group.allocatable) allocatable[resource] = amount;
  json::object status{{"capacity", std::move(capacity)},
                      {"allocatable", std::move(allocatable)},
                      {"conditions", HealthyConditions(now)},
                      {"addresses", AddressesOf(name, number)},
                      {"nodeInfo", NodeInfo()}};
  for (const auto& image : group.images) {
    ArrayAt(status, "images")
        .push_back(json::object{{"names", json::array{json::value(image.name)}}, {"sizeBytes", image.bytes}});
  }
  for (const auto& feature : group.features)
    ArrayAt(status, "declaredFeatures").push_back(json::value(feature));
  return status;
}

json::object GroupNode(const NodeGroup& group, std::int64_t in_group, std::size_t number, WallTime now) {
  const std::string name = NodeName(group, in_group);
  const std::string zone =
      group.zones.empty() ? "" : group.zones[static_cast<std::size_t>(in_group - 1) % group.zones.size()];
  json::object metadata{{"name", name}, {"labels", LabelsOf(name, group.region, zone, group.instance_type)}};
  for (const auto& [key, value] : group.labels) ObjectAt(metadata, "labels")[key] = value;
  for (const auto& [key, value] : group.annotations) ObjectAt(metadata, "annotations")[key] = value;
  if (!group.devices.empty()) ObjectAt(metadata, "annotations")[kDevices] = group.devices;
  json::object spec{{"podCIDR", PodCidrOf(number)},
                    {"providerID", fmt::format("sandbox://{}/{}", zone, name)}};
  for (const auto& taint : group.taints) {
    json::object written{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) written["value"] = taint.value;
    ArrayAt(spec, "taints").push_back(std::move(written));
  }
  if (group.unschedulable) spec["unschedulable"] = true;
  return {{"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", StatusOf(group, name, number, now)}};
}

ApiResult<ObjectPtr> CreateNode(Verbs& verbs, json::object document) {
  Document node;
  node.root() = std::move(document);
  BERTH_TRY(ObjectPtr created, verbs.Create(Known().nodes, "", std::move(node)));
  Document lease;
  lease.root() = NodeLease(created->name, created->uid, verbs.clock().WallNow());
  BERTH_RETURN_IF_ERROR(verbs.Create(Known().leases, "kube-node-lease", std::move(lease)));
  return created;
}

// --- device classes ---

ApiResult<> CreateDeviceClass(Verbs& verbs, const std::string& driver, std::string_view extended_resource) {
  const std::string expression = fmt::format("device.driver == \"{}\"", driver);
  Document document;
  document.root()["metadata"] = json::object{{"name", driver}};
  json::object& spec = ObjectAt(document.root(), "spec");
  spec["selectors"] = json::array{json::object{{"cel", json::object{{"expression", expression}}}}};
  if (!extended_resource.empty()) spec["extendedResourceName"] = extended_resource;
  BERTH_RETURN_IF_ERROR(verbs.Create(Kinds().device_classes, "", std::move(document)));
  return {};
}

ApiResult<> CreateDeviceClasses(Verbs& verbs, const NodePoolOptions& options) {
  std::map<std::string, std::string_view> extended_resources;  // by driver; empty: none
  if (options.gpu_claims && options.gpu_nodes > 0) extended_resources[std::string(kGpuDriver)] = kGpu;
  for (const auto& group : options.groups) {
    if (group.devices.empty()) continue;
    const auto devices = ParseDevices(group.devices);
    BERTH_CHECK(devices.has_value());  // validated with the group
    for (const auto& entry : *devices) extended_resources.try_emplace(entry.driver);
  }
  for (const auto& [driver, resource] : extended_resources) {
    if (verbs.store().Get(Kinds().device_classes, driver)) continue;
    BERTH_RETURN_IF_ERROR(CreateDeviceClass(verbs, driver, resource));
  }
  return {};
}

}  // namespace

ApiResult<> CreateNodes(Verbs& verbs, Random& random, const NodePoolOptions& options,
                        FailureSchedule* failures) {
  const WallTime now = verbs.clock().WallNow();
  const std::size_t zones = std::max<std::size_t>(options.zones, 1);
  std::size_t number = 0;
  const auto add = [&](json::object document, const FailurePlan& plan) -> ApiResult<> {
    BERTH_TRY(const ObjectPtr node, CreateNode(verbs, std::move(document)));
    if (failures != nullptr) failures->Add(node->name, node->uid, plan);
    return {};
  };
  const auto pool_node = [&](std::string name, const MachineShape& shape, std::size_t i) {
    const char letter = static_cast<char>('a' + i % std::min<std::size_t>(zones, 26));
    const Machine machine{std::move(name), number++, shape, fmt::format("{}{}", options.region, letter)};
    return add(NodeDocument(machine, options, now, random), options.failures);
  };
  for (std::size_t i = 0; i < options.nodes; ++i) {
    // Zone and shape cycle at different speeds; otherwise each zone would have nodes of one shape only.
    const auto& shape = options.shapes[(i / zones) % options.shapes.size()];
    BERTH_RETURN_IF_ERROR(pool_node(fmt::format("node-{:04}", i + 1), shape, i));
  }
  for (std::size_t i = 0; i < options.gpu_nodes; ++i) {
    BERTH_RETURN_IF_ERROR(pool_node(fmt::format("gpu-{:04}", i + 1), options.gpu_shape, i));
  }
  for (const auto& group : options.groups) {
    for (std::int64_t i = 1; i <= group.count; ++i) {
      BERTH_RETURN_IF_ERROR(add(GroupNode(group, i, number++, now), group.failures));
    }
  }
  return CreateDeviceClasses(verbs, options);
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
