#include <fmt/format.h>

#include "base/random.hpp"
#include "bench/object_text.hpp"
#include "bench/workloads.hpp"

namespace berth::bench {
namespace {

constexpr std::string_view kGpuDriver = "gpu.example.com";
constexpr std::string_view kGpuClass = R"("deviceClassName":"gpu")";

std::string NodeWithRoom(std::size_t i) {
  constexpr std::string_view kRoom = R"("cpu":"4","memory":"32Gi","pods":"110")";
  return Fill(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"$name","labels":{"$host":"$name"}},)"
              R"("spec":{},"status":{"capacity":{$room},"allocatable":{$room}}})",
              {{"name", NodeName(i)}, {"host", kHostname}, {"room", kRoom}});
}

// --- devices ---

// `devices`: JSON of the list; `more`: additional members of spec, each with a leading comma.
void EmitSlice(const Listener& listener, std::size_t node, std::string_view suffix, std::size_t slices,
               const std::string& devices, const std::string& more = "") {
  listener(
      {Event::Type::kAdded, "ResourceSlice",
       Fill(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"$node$suffix"},)"
            R"("spec":{"driver":"$driver","nodeName":"$node",)"
            R"("pool":{"name":"$node","generation":1,"resourceSliceCount":$slices}$devices$more}})",
            {{"node", NodeName(node)},
             {"suffix", suffix},
             {"driver", kGpuDriver},
             {"slices", std::to_string(slices)},
             {"devices", devices.empty() ? "" : Fill(R"(,"devices":[$list])", {{"list", devices}})},
             {"more", more}})});
}

// A device with as many attributes as a real GPU; bus roots alternate.
std::string Gpu(std::size_t i, std::size_t roots) {
  return Fill(
      R"({"name":"gpu-$i","attributes":{"driverVersion":{"version":"1.2.3"},"family":{"string":"Series B"},)"
      R"("health":{"string":"Healthy"},"model":{"string":"B60"},"pciAddress":{"string":"0000:0$i:00.0"},)"
      R"("pciId":{"string":"0xe211"},"resource.kubernetes.io/pciBusID":{"string":"0000:0$i:00.0"},)"
      R"("resource.kubernetes.io/pciRoot":{"string":"pci0000:0$root"},"sriov":{"bool":true},)"
      R"("type":{"string":"gpu"}},"capacity":{"memory":{"value":"24480Mi"},"millicores":{"value":"1k"}}})",
      {{"i", std::to_string(i)}, {"root", std::to_string(i % roots)}});
}

std::string Gpus(std::size_t count, std::size_t roots = 2) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + Gpu(i, roots);
  return list;
}

void EmitClass(const Listener& listener, std::string_view name, std::string_view driver,
               std::string_view more = "") {
  listener({Event::Type::kAdded, "DeviceClass",
            Fill(R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"$name"},)"
                 R"("spec":{"selectors":[{"cel":{"expression":"device.driver == \"$driver\"$more"}}]}})",
                 {{"name", name}, {"driver", driver}, {"more", more}})});
}

// --- claims ---

// One request named r; `request`: its members.
std::string Exactly(std::string_view request) {
  return Fill(R"("requests":[{"name":"r","exactly":{$request}}])", {{"request", request}});
}

// `devices`: members of spec.devices.
void EmitClaim(const Listener& listener, const std::string& name, std::string_view devices,
               std::string_view status = "") {
  listener({Event::Type::kAdded, "ResourceClaim",
            Fill(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"$name",)"
                 R"("namespace":"default","uid":"$name"},"spec":{"devices":{$devices}},"status":{$status}})",
                 {{"name", name}, {"devices", devices}, {"status", status}})});
}

std::string Result(std::size_t node, std::string_view device, std::string_view more = "") {
  return Fill(R"({"request":"r","driver":"$driver","pool":"$pool","device":"$device"$more})",
              {{"driver", kGpuDriver}, {"pool", NodeName(node)}, {"device", device}, {"more", more}});
}

// A claim with devices of a node.
void EmitAllocatedClaim(const Listener& listener, const std::string& name, std::size_t node,
                        std::string_view devices, std::string_view results) {
  EmitClaim(listener, name, devices,
            Fill(R"("allocation":{"devices":{"results":[$results]},"nodeSelector":{"nodeSelectorTerms":)"
                 R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["$node"]}]}]}})",
                 {{"results", results}, {"node", NodeName(node)}}));
}

// The devices of a node in turn, over all nodes: claim i has one device.
void EmitUsedGpus(const Listener& listener, const Size& size, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t node = i % size.nodes;
    EmitAllocatedClaim(listener, fmt::format("used-{}", i), node, Exactly(kGpuClass),
                       Result(node, fmt::format("gpu-{}", i / size.nodes)));
  }
}

std::string PodWithClaim(std::size_t i, std::string_view claim) {
  PodText pod;
  pod.name = fmt::format("pod-{}", i);
  pod.requests = R"("cpu":"1m")";
  pod.spec =
      Fill(R"(,"resourceClaims":[{"name":"devices","resourceClaimName":"$claim"}])", {{"claim", claim}});
  return pod.text();
}

// Each pod has its own claim; `devices`: members of spec.devices of the i-th claim.
using ClaimOf = std::function<std::string(std::size_t i)>;
using Around = std::function<void(const Listener&, const Size&)>;
Workload WithClaims(const char* name, const char* about, const ClaimOf& devices, const Around& around) {
  return {name, about, NodeWithRoom,
          [](std::size_t i) { return PodWithClaim(i, fmt::format("claim-{}", i)); },
          [=](const Listener& listener, const Size& size) {
            EmitClass(listener, "gpu", kGpuDriver);
            around(listener, size);
            for (std::size_t i = 0; i < size.pods; ++i)
              EmitClaim(listener, fmt::format("claim-{}", i), devices(i));
          }};
}
ClaimOf Each(std::string devices) {
  return [devices = std::move(devices)](std::size_t) { return devices; };
}

// Ten devices per node, of which used(size) are in use.
Around TenGpus(std::function<std::size_t(const Size&)> used, std::size_t roots = 2) {
  return [used = std::move(used), roots](const Listener& listener, const Size& size) {
    for (std::size_t i = 0; i < size.nodes; ++i) EmitSlice(listener, i, "", 1, Gpus(10, roots));
    EmitUsedGpus(listener, size, used(size));
  };
}
std::size_t NoneUsed(const Size&) { return 0; }
std::size_t HalfUsed(const Size& size) { return 5 * size.nodes; }
std::size_t AlmostAllUsed(const Size& size) { return 10 * size.nodes - std::min(size.pods, 10 * size.nodes); }

// --- the suite's workloads ---

std::string FiveWith(std::string_view constraint) {
  std::string requests;
  for (int i = 0; i < 5; ++i)
    requests += fmt::format(R"({}{{"name":"r-{}","exactly":{{{}}}}})", i == 0 ? "" : ",", i, kGpuClass);
  return Fill(R"("requests":[$requests],"constraints":[{"$kind":"resource.kubernetes.io/pciRoot"}])",
              {{"requests", requests}, {"kind", constraint}});
}

// Five pods share a claim, which is allocated already; two devices per node.
Workload SharedClaims() {
  return {"suite/dra/shared-claims", "five pods share an allocated claim", NodeWithRoom,
          [](std::size_t i) { return PodWithClaim(i, fmt::format("used-{}", i / 5)); },
          [](const Listener& listener, const Size& size) {
            EmitClass(listener, "gpu", kGpuDriver);
            for (std::size_t i = 0; i < size.nodes; ++i) EmitSlice(listener, i, "", 1, Gpus(2));
            EmitUsedGpus(listener, size, std::min((size.pods + 4) / 5, 2 * size.nodes));
          }};
}

std::string Consumption(std::string_view set, std::string_view counters) {
  return Fill(R"({"counterSet":"$set","counters":{$counters}})", {{"set", set}, {"counters", counters}});
}
std::string CounterSet(std::string_view set, std::string_view counters) {
  return Fill(R"({"name":"$set","counters":{$counters}})", {{"set", set}, {"counters", counters}});
}
std::string Counter(std::string_view name, std::string_view value) {
  return Fill(R"("$name":{"value":"$value"})", {{"name", name}, {"value", value}});
}
std::string Partition(std::size_t i, std::string_view consumed) {
  return fmt::format(R"({{"name":"partition-{}","consumesCounters":[{}]}})", i, consumed);
}

// Two partitions that consume two counters each; every second node is in use.
void EmitPartitions(const Listener& listener, const Size& size) {
  std::string counters, devices;
  for (int i = 0; i < 4; ++i) counters += (i == 0 ? "" : ",") + Counter(fmt::format("slot-{}", i), "1");
  for (std::size_t i = 0; i < 2; ++i) {
    devices += (i == 0 ? "" : ",") +
               Partition(i, Consumption("slots", Counter(fmt::format("slot-{}", 2 * i), "1") + "," +
                                                     Counter(fmt::format("slot-{}", 2 * i + 1), "1")));
  }
  for (std::size_t i = 0; i < size.nodes; ++i) {
    EmitSlice(listener, i, "-counters", 2, "",
              Fill(R"(,"sharedCounters":[$set])", {{"set", CounterSet("slots", counters)}}));
    EmitSlice(listener, i, "-devices", 2, devices);
    if (i % 2 == 0) continue;
    EmitAllocatedClaim(listener, fmt::format("used-{}", i), i, Exactly(kGpuClass),
                       Result(i, "partition-0") + "," + Result(i, "partition-1"));
  }
}

// Eight partitions, of which seven fit only without the first: the search has to go back.
void EmitUnevenPartitions(const Listener& listener, const Size& size) {
  std::string cores, devices;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string core = Counter(fmt::format("core-{}", i), "1");
    cores += (i == 0 ? "" : ",") + core;
    devices += (i == 0 ? "" : ",") +
               Partition(i, Consumption("cores", core) + "," +
                                Consumption("memory", Counter("memory", i == 0 ? "20Gi" : "10Gi")));
  }
  const std::string sets = CounterSet("cores", cores) + "," + CounterSet("memory", Counter("memory", "70Gi"));
  for (std::size_t i = 0; i < size.nodes; ++i) {
    EmitSlice(listener, i, "-counters", 2, "", Fill(R"(,"sharedCounters":[$sets])", {{"sets", sets}}));
    EmitSlice(listener, i, "-devices", 2, devices);
  }
}

// Four devices with a bandwidth that claims share; half of it is in use on every second node.
void EmitSharedBandwidth(const Listener& listener, const Size& size) {
  std::string devices;
  for (int i = 0; i < 4; ++i) {
    devices += Fill(R"($comma{"name":"port-$i","allowMultipleAllocations":true,)"
                    R"("attributes":{"example.com/index":{"int":$i}},"capacity":{"bandwidth":{"value":"10G",)"
                    R"("requestPolicy":{"default":"1M","validRange":{"min":"1M","step":"8"}}}}})",
                    {{"comma", i == 0 ? "" : ","}, {"i", std::to_string(i)}});
  }
  for (std::size_t i = 0; i < size.nodes; ++i) {
    EmitSlice(listener, i, "", 1, devices);
    if (i % 2 == 0) continue;
    for (int share = 0; share < 4; ++share) {
      const auto part = [&](int port) {
        return Result(i, fmt::format("port-{}", port),
                      fmt::format(R"(,"shareID":"{}-{}-{}","consumedCapacity":{{"bandwidth":"2500M"}})",
                                  NodeName(i), share, port));
      };
      const int first = share / 2 * 2;
      EmitAllocatedClaim(listener, fmt::format("used-{}-{}", i, share), i, Exactly(kGpuClass),
                         part(first) + "," + part(first + 1));
    }
  }
}

void EmitTaintedGpus(const Listener& listener, const Size& size) {
  listener({Event::Type::kAdded, "DeviceTaintRule",
            R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"all"},)"
            R"("spec":{"deviceSelector":{},"taint":{"key":"example.com/taint","value":"tainted",)"
            R"("effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}}})"});
  TenGpus(NoneUsed)(listener, size);
}

}  // namespace

std::vector<Workload> DeviceWorkloads() {
  const auto with_another_class = [](const Listener& listener, const Size& size) {
    EmitClass(listener, "none", "other.example.com");
    TenGpus(HalfUsed)(listener, size);
  };
  const std::string selector =
      R"x("selectors":[{"cel":{"expression":"device.attributes[\"gpu.example.com\"].driverVersion.major() >= 1)x"
      R"x( && device.capacity[\"gpu.example.com\"].memory.isGreaterThan(quantity(\"1Mi\"))"}}])x";
  const std::string alternatives =
      R"("requests":[{"name":"r","firstAvailable":[{"name":"a","deviceClassName":"none"},)"
      R"({"name":"b","deviceClassName":"gpu"}]}])";
  const std::string shares =
      Fill(R"($exactly,"constraints":[{"requests":["r"],"distinctAttribute":"example.com/index"}])",
           {{"exactly",
             Exactly(R"("deviceClassName":"gpu","count":2,"capacity":{"requests":{"bandwidth":"2500M"}})")}});
  const std::string class_and_count = R"("deviceClassName":"gpu","count":)";
  return {
      // Eight devices per node, of which up to three are in use; claims for one, two, four or eight of them.
      WithClaims(
          "gpu-claims", "claims for 1, 2, 4 or 8 GPUs, on nodes with 8 of which up to 3 are in use",
          [=](std::size_t i) {
            return Exactly(class_and_count + std::to_string(std::size_t{1} << Random(i + 1).Below(4)));
          },
          [](const Listener& listener, const Size& size) {
            for (std::size_t i = 0; i < size.nodes; ++i) {
              EmitSlice(listener, i, "", 1, Gpus(8));
              const std::size_t used = Random(i + 1).Below(4);
              for (std::size_t gpu = 0; gpu < used; ++gpu) {
                EmitAllocatedClaim(listener, fmt::format("used-{}-{}", i, gpu), i, Exactly(kGpuClass),
                                   Result(i, fmt::format("gpu-{}", gpu)));
              }
            }
          }),
      WithClaims("suite/dra/empty", "a device per pod, ten per node", Each(Exactly(kGpuClass)),
                 TenGpus(NoneUsed)),
      WithClaims("suite/dra/half", "the same, half of the devices are in use", Each(Exactly(kGpuClass)),
                 TenGpus(HalfUsed)),
      WithClaims("suite/dra/full", "the same, all devices but those that the pods get are in use",
                 Each(Exactly(kGpuClass)), TenGpus(AlmostAllUsed)),
      WithClaims("suite/dra/selector", "a device per pod with a CEL selector of its version and memory",
                 Each(Exactly(std::string(kGpuClass) + "," + selector)), TenGpus(NoneUsed)),
      WithClaims("suite/dra/match", "five devices of one bus root per pod", Each(FiveWith("matchAttribute")),
                 TenGpus(NoneUsed)),
      WithClaims("suite/dra/distinct", "five devices of different bus roots per pod",
                 Each(FiveWith("distinctAttribute")), TenGpus(NoneUsed, 5)),
      SharedClaims(),
      WithClaims("suite/dra/first-available", "two alternatives, of which only the second has devices",
                 Each(alternatives), with_another_class),
      WithClaims("suite/dra/taints", "all devices are tainted by a rule, the claims tolerate it",
                 Each(Exactly(std::string(kGpuClass) +
                              R"(,"tolerations":[{"key":"example.com/taint","operator":"Exists"}])")),
                 EmitTaintedGpus),
      WithClaims("suite/dra/partitionable", "two partitions per pod, half of the nodes are in use",
                 Each(Exactly(class_and_count + "2")), EmitPartitions),
      WithClaims("suite/dra/partitionable-backtracking", "seven of eight partitions, not the first",
                 Each(Exactly(class_and_count + "7")), EmitUnevenPartitions),
      WithClaims("suite/dra/consumable", "shares of two devices per pod, with distinct attributes",
                 Each(shares), EmitSharedBandwidth),
  };
}

}  // namespace berth::bench
