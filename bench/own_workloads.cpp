#include <fmt/format.h>

#include "base/random.hpp"
#include "bench/object_text.hpp"
#include "bench/workloads.hpp"

namespace berth::bench {
namespace {

// Pods with varying requests and tolerations.
PodText PlainPod(std::size_t i) {
  Random random(i + 1);
  PodText pod;
  pod.name = fmt::format("pod-{}", i);
  pod.uid = fmt::format("uid-{}", i);
  pod.labels = fmt::format(R"("app":"app-{}")", i);
  pod.image = fmt::format("registry.example.org/app-{}:v1", i % 100);
  const auto milli_cpu = 10 + random.Below(490);
  const auto memory = ((16 + random.Below(1000)) << 20) + i;
  pod.requests = fmt::format(R"("cpu":"{}m","memory":"{}")", milli_cpu, memory);
  pod.tolerations =
      fmt::format(R"({{"key":"tenant","operator":"Equal","value":"tenant-{}","effect":"NoSchedule"}})", i);
  if (i % 3 == 0) pod.tolerations += R"(,{"key":"dedicated","operator":"Exists"})";
  return pod;
}

// Pods with varying requests, labels, tolerations and (one in four) affinity.
PodText DistinctPod(std::size_t i) {
  Random random(i + 1);
  PodText pod = PlainPod(i);
  if (i % 4 == 0) {
    const auto weight = 1 + random.Below(100);
    pod.spec = Fill(
        R"(,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":$weight,)"
        R"("preference":{"matchExpressions":[{"key":"$key","operator":"In","values":["$zone"]}]}}]}})",
        {{"weight", std::to_string(weight)}, {"key", kZone}, {"zone", ZoneName(random.Below(3))}});
  }
  return pod;
}

// Pods of a few Deployments in mixed order, identical except for their names.
std::string ClassPod(std::size_t i, std::size_t classes) {
  const std::size_t of = Random(i + 1).Below(classes);
  PodText pod = DistinctPod(of);
  pod.name = fmt::format("app-{}-{:08x}", of, i);
  pod.uid = fmt::format("uid-{}", i);
  return pod.text();
}

// The i-th pod belongs to an application of `size` pods.
PodText AppPod(std::size_t i, std::size_t size) {
  PodText pod = PlainPod(i);
  pod.labels = fmt::format(R"("app":"app-{}","pod":"pod-{}")", i / size, i);
  return pod;
}
std::string OwnApp(std::size_t i, std::size_t size) { return fmt::format(R"("app":"app-{}")", i / size); }

std::string AntiAffinePod(std::size_t i) {
  PodText pod = AppPod(i, 4000);
  pod.spec = RequiredTerm("podAntiAffinity", AffinityTerm(OwnApp(i, 4000), kHostname));
  return pod.text();
}
std::string ZoneAffinePod(std::size_t i) {
  PodText pod = AppPod(i, 1000);
  pod.spec = RequiredTerm("podAffinity", AffinityTerm(OwnApp(i, 1000), kZone));
  return pod.text();
}
std::string PreferringPod(std::size_t i) {
  PodText pod = AppPod(i, 1000);
  pod.spec = Fill(
      R"(,"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":)"
      R"([{"weight":100,"podAffinityTerm":$host}]},)"
      R"("podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":)"
      R"([{"weight":10,"podAffinityTerm":$zone}]}})",
      {{"host", AffinityTerm(OwnApp(i, 1000), kHostname)}, {"zone", AffinityTerm(OwnApp(i, 1000), kZone)}});
  return pod.text();
}
std::string HardSpreadPod(std::size_t i) {
  PodText pod = AppPod(i, 1000);
  pod.spec = Spread(kZone, 5, "DoNotSchedule", OwnApp(i, 1000));
  return pod.text();
}

// Ten bound pods per node, of 500 services; each new pod belongs to one of the services.
constexpr std::size_t kServices = 500;
PodText ServicePod(std::size_t i) {
  PodText pod = PlainPod(i);
  pod.labels = fmt::format(R"("app":"app-{}","pod":"pod-{}")", i % kServices, i);
  return pod;
}
void EmitServices(const Listener& listener, const Size& size) {
  for (std::size_t i = 0; i < kServices; ++i) {
    listener(
        {Event::Type::kAdded, "Service",
         Fill(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"service-$i","namespace":"default"},)"
              R"("spec":{"selector":{"app":"app-$i"}}})",
              {{"i", std::to_string(i)}})});
  }
  for (std::size_t i = 0; i < 10 * size.nodes; ++i) {
    PodText pod = ServicePod(i);
    pod.name = pod.uid = fmt::format("old-{}", i);
    pod.node = NodeName(i * 7 % size.nodes);
    pod.requests.clear();
    listener({Event::Type::kAdded, "Pod", pod.text()});
  }
}

// Every pod has its own claim, bound to a volume that a third of the nodes can access.
constexpr std::string_view kVolume =
    R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-$i"},)"
    R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],)"
    R"("csi":{"driver":"csi.example.org","volumeHandle":"pv-$i"},)"
    R"("claimRef":{"kind":"PersistentVolumeClaim","namespace":"default","name":"claim-$i","uid":"claim-$i"},)"
    R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":)"
    R"([{"key":"topology.kubernetes.io/zone","operator":"In","values":["$zone"]}]}]}}},)"
    R"("status":{"phase":"Bound"}})";
constexpr std::string_view kClaim =
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"claim-$i","namespace":"default",)"
    R"("uid":"claim-$i","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},)"
    R"("spec":{"volumeName":"pv-$i","accessModes":["ReadWriteOnce"],"storageClassName":"",)"
    R"("resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound"}})";
std::string VolumePod(std::size_t i) {
  PodText pod = PlainPod(i);
  pod.spec = ClaimVolume(fmt::format("claim-{}", i));
  return pod.text();
}
void EmitVolumes(const Listener& listener, const Size& size) {
  for (std::size_t i = 0; i < size.nodes; ++i) {
    listener(
        {Event::Type::kAdded, "CSINode",
         Fill(
             R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"$name"},)"
             R"("spec":{"drivers":[{"name":"csi.example.org","nodeID":"$name","allocatable":{"count":39}}]}})",
             {{"name", NodeName(i)}})});
  }
  for (std::size_t i = 0; i < size.pods; ++i) {
    const std::string number = std::to_string(i);
    listener(
        {Event::Type::kAdded, "PersistentVolume", Fill(kVolume, {{"i", number}, {"zone", ZoneName(i)}})});
    listener({Event::Type::kAdded, "PersistentVolumeClaim", Fill(kClaim, {{"i", number}})});
  }
}

}  // namespace

std::string MixedNode(std::size_t i) {
  std::string taints;
  if (i % 10 == 0) taints = R"({"key":"dedicated","value":"batch","effect":"NoSchedule"})";
  if (i % 5 == 1) taints = R"({"key":"flaky","effect":"PreferNoSchedule"})";
  const std::size_t cores = std::size_t{16} << (i % 3);
  const std::string room =
      fmt::format(R"("cpu":"{}","memory":"{}Gi","ephemeral-storage":"200Gi","pods":"110")", cores, cores * 4);
  return Fill(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"$name","labels":{"$host":"$name",)"
              R"("$zonekey":"$zone","node.kubernetes.io/instance-type":"type-$type"}},)"
              R"("spec":{"taints":[$taints]},"status":{"capacity":{$room},"allocatable":{$room}}})",
              {{"name", NodeName(i)},
               {"host", kHostname},
               {"zonekey", kZone},
               {"zone", ZoneName(i)},
               {"type", std::to_string(i % 7)},
               {"taints", taints},
               {"room", room}});
}

std::vector<Workload> OwnWorkloads() {
  const auto classes = [](std::size_t count) {
    return Workload{fmt::format("classes-{}", count),
                    fmt::format("pods of {} {}, no constraints on other pods", count,
                                count == 1 ? "application" : "applications in mixed order"),
                    MixedNode, [count](std::size_t i) { return ClassPod(i, count); }};
  };
  return {
      {"distinct", "all pods different, no constraints on other pods", MixedNode,
       [](std::size_t i) { return DistinctPod(i).text(); }},
      classes(1),
      classes(5),
      classes(50),
      {"anti-affinity", "required anti-affinity to 4,000 pods of the same application, by host", MixedNode,
       AntiAffinePod},
      {"zone-affinity", "required affinity to 1,000 pods of the same application, by zone", MixedNode,
       ZoneAffinePod},
      {"preferred-affinity", "preferences for and against pods of the same application", MixedNode,
       PreferringPod},
      {"spread", "a hard spread of 1,000 pods over zones", MixedNode, HardSpreadPod},
      {"default-spread", "the default spread of services, with ten bound pods per node", MixedNode,
       [](std::size_t i) { return ServicePod(i).text(); }, EmitServices},
      {"csi-volumes", "a bound CSI volume per pod, in one zone, with attach limits", MixedNode, VolumePod,
       EmitVolumes},
  };
}

}  // namespace berth::bench
