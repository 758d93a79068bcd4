#include "scheduler/plugins/node_resource_topology_match/numa_request.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/saturated.hpp"
#include "kubernetes/api/requests.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::plugins {
namespace {

void CollectResources(const api::Pod& pod, const NumaResourceNames& names, const cluster::NodeTable& nodes,
                      NumaRequest& out);
void CollectContainers(const api::Pod& pod, NumaRequest& out);
void SumUp(const api::Pod& pod, NumaRequest& out);

bool IsNative(std::string_view resource) {
  return resource.find('/') == std::string_view::npos ||
         resource.find("kubernetes.io/") != std::string_view::npos;
}

// Devices count for pods of any class.
bool RequestsDevices(const api::Pod& pod) {
  const auto requests_devices = [](const api::Container& container) {
    return std::ranges::any_of(container.resources.requests,
                               [](const auto& entry) { return !IsNative(entry.first); });
  };
  return std::ranges::any_of(pod.spec.init_containers, requests_devices) ||
         std::ranges::any_of(pod.spec.containers, requests_devices);
}

constexpr std::array<std::string_view, 2> kQosResources = {"cpu", "memory"};

// Requests and limits of CPU and memory, summed over containers; zero amounts do not count.
struct QosSums {
  std::array<api::Quantity, 2> requests, limits;
  bool all_limited = true;  // each container limits both

  void Add(const api::ResourceRequirements& resources) {
    for (std::size_t i = 0; i < kQosResources.size(); ++i) {
      AddAmount(resources.requests, kQosResources[i], requests[i]);
      if (!AddAmount(resources.limits, kQosResources[i], limits[i])) all_limited = false;
    }
  }

 private:
  static bool AddAmount(const api::ResourceList& list, std::string_view name, api::Quantity& sum) {
    const auto found = list.find(name);
    if (found == list.end() || found->second.Compare({}) <= 0) return false;
    sum += found->second;
    return true;
  }
};

}  // namespace

QosClass QosClassOf(const api::Pod& pod) {
  QosSums sums;
  if (pod.spec.resources) {
    sums.Add(*pod.spec.resources);
  } else {
    for (const api::Container& container : pod.spec.containers) sums.Add(container.resources);
    for (const api::Container& container : pod.spec.init_containers) sums.Add(container.resources);
  }
  const auto is_zero = [](const api::Quantity& amount) { return amount.IsZero(); };
  if (std::ranges::all_of(sums.requests, is_zero) && std::ranges::all_of(sums.limits, is_zero))
    return QosClass::kBestEffort;
  const bool equal =
      sums.requests[0].Compare(sums.limits[0]) == 0 && sums.requests[1].Compare(sums.limits[1]) == 0;
  return sums.all_limited && equal ? QosClass::kGuaranteed : QosClass::kBurstable;
}

void ReadNumaRequest(const api::Pod& pod, const NumaResourceNames& names, const cluster::NodeTable& nodes,
                     NumaRequest& out) {
  out.resources.clear();
  out.containers.clear();
  out.pod.clear();
  out.qos = QosClassOf(pod);
  out.unaligned = out.qos == QosClass::kBestEffort && !RequestsDevices(pod);
  CollectResources(pod, names, nodes, out);
  CollectContainers(pod, out);
  SumUp(pod, out);
}

namespace {

NumaRequest::Resource Describe(const std::string& name, const NumaResourceNames& names,
                               const cluster::NodeTable& nodes) {
  const api::ResourceClass kind = api::ClassOf(name);
  const bool huge_pages = name.starts_with("hugepages-");
  const bool scalar = kind == api::ResourceClass::kScalar || kind == api::ResourceClass::kExtended;
  return {.name = &name,
          .id = names.Find(name),
          .allocatable = scalar ? nodes.allocatable(nodes.symbols().FindResource(name))
                                : std::span<const std::int64_t>(),
          .on_all_nodes = kind == api::ResourceClass::kCpu || kind == api::ResourceClass::kMemory ||
                          kind == api::ResourceClass::kEphemeralStorage || kind == api::ResourceClass::kPods,
          .host_level = name == "ephemeral-storage" || name == "storage" || !IsNative(name),
          .numa_affine = name == "cpu" || name == "memory" || huge_pages};
}

void CollectResources(const api::Pod& pod, const NumaResourceNames& names, const cluster::NodeTable& nodes,
                      NumaRequest& out) {
  std::vector<const std::string*> used;
  const auto add = [&](const api::ResourceList& list) {
    for (const auto& [name, amount] : list) used.push_back(&name);
  };
  for (const api::Container& container : pod.spec.init_containers) add(container.resources.requests);
  for (const api::Container& container : pod.spec.containers) add(container.resources.requests);
  add(pod.spec.overhead);
  std::ranges::sort(used, {}, [](const std::string* name) -> const std::string& { return *name; });
  for (const std::string* name : used) {
    if (out.resources.empty() || *out.resources.back().name != *name)
      out.resources.push_back(Describe(*name, names, nodes));
  }
}

std::vector<NumaAmount> AmountsOf(const api::ResourceList& list, const NumaRequest& request) {
  std::vector<NumaAmount> amounts;
  for (const auto& [name, quantity] : list) {
    const auto found = std::ranges::lower_bound(
        request.resources, name, {},
        [](const NumaRequest::Resource& resource) -> const std::string& { return *resource.name; });
    amounts.push_back({static_cast<std::uint32_t>(found - request.resources.begin()), MilliOf(quantity)});
  }
  return amounts;
}

void CollectContainers(const api::Pod& pod, NumaRequest& out) {
  using Kind = NumaRequest::Kind;
  const auto add = [&](const api::Container& container, Kind kind) {
    out.containers.push_back({kind, &container.name, AmountsOf(container.resources.requests, out)});
  };
  for (const api::Container& container : pod.spec.init_containers)
    add(container, container.restart_always ? Kind::kSidecar : Kind::kInit);
  for (const api::Container& container : pod.spec.containers) add(container, Kind::kApp);
}

// Sidecars count like other init containers: not for the time after them.
void SumUp(const api::Pod& pod, NumaRequest& out) {
  struct Sum {
    bool used = false;
    std::int64_t highest_init = 0, apps = 0;
  };
  std::vector<Sum> sums(out.resources.size());
  for (const NumaRequest::Container& container : out.containers) {
    for (const NumaAmount& amount : container.amounts) {
      Sum& sum = sums[amount.resource];
      sum.used = true;
      if (container.kind == NumaRequest::Kind::kApp) {
        sum.apps = SaturatedSum(sum.apps, amount.milli);
      } else {
        sum.highest_init = std::max(sum.highest_init, amount.milli);
      }
    }
  }
  std::vector<std::int64_t> overhead(out.resources.size());
  for (const NumaAmount& amount : AmountsOf(pod.spec.overhead, out)) {
    sums[amount.resource].used = true;
    overhead[amount.resource] = amount.milli;
  }
  for (std::uint32_t i = 0; i < sums.size(); ++i) {
    if (!sums[i].used) continue;
    out.pod.push_back({i, SaturatedSum(std::max(sums[i].highest_init, sums[i].apps), overhead[i])});
  }
}

}  // namespace
}  // namespace berth::plugins
