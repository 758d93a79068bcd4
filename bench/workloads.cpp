#include "bench/workloads.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"

namespace berth::bench {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr const char* kDriver = "csi.example.org";

std::shared_ptr<api::Pod> PlainPod(std::size_t i) {
  Random random(i + 1);
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = fmt::format("pod-{}", i);
  pod->metadata.ns = "default";
  pod->metadata.uid = fmt::format("uid-{}", i);
  pod->metadata.labels = {{"app", fmt::format("app-{}", i)}};
  pod->spec.scheduler_name = "default-scheduler";
  api::Container& container = pod->spec.containers.emplace_back();
  container.name = "main";
  container.image = fmt::format("registry.example.org/app-{}:v1", i % 100);
  container.resources.requests = {
      {"cpu", api::Quantity::FromMilli(static_cast<std::int64_t>(10 + random.Below(490)))},
      {"memory", api::Quantity::FromInteger(static_cast<std::int64_t>((16 + random.Below(1000)) << 20) +
                                            static_cast<std::int64_t>(i))}};
  pod->spec.tolerations.push_back({"tenant", "Equal", fmt::format("tenant-{}", i), "NoSchedule"});
  if (i % 3 == 0) pod->spec.tolerations.push_back({"dedicated", "Exists", "", ""});
  return pod;
}

// Requests, labels, tolerations and (one in four) affinity of its own.
api::PodPtr DistinctPod(std::size_t i) {
  Random random(i + 1);
  auto pod = PlainPod(i);
  if (i % 4 == 0) {
    pod->spec.node_affinity.emplace();
    pod->spec.node_affinity->preferred.push_back(
        {static_cast<std::int32_t>(1 + random.Below(100)),
         {{{kZone, "In", {fmt::format("zone-{}", random.Below(3))}}}, {}}});
  }
  return pod;
}

// The i-th pod belongs to an application of `size` pods.
std::shared_ptr<api::Pod> AppPod(std::size_t i, std::size_t size) {
  auto pod = PlainPod(i);
  pod->metadata.labels = {{"app", fmt::format("app-{}", i / size)}, {"pod", fmt::format("pod-{}", i)}};
  return pod;
}

api::PodAffinityTerm OwnApp(const api::Pod& pod, const char* topology_key) {
  api::PodAffinityTerm term;
  term.label_selector.emplace().match_labels = {{"app", *pod.metadata.labels.Find("app")}};
  term.topology_key = topology_key;
  return term;
}

api::PodPtr AntiAffinePod(std::size_t i) {
  auto pod = AppPod(i, 4000);
  pod->spec.pod_anti_affinity.emplace().required.push_back(OwnApp(*pod, kHostname));
  return pod;
}
api::PodPtr ZoneAffinePod(std::size_t i) {
  auto pod = AppPod(i, 1000);
  pod->spec.pod_affinity.emplace().required.push_back(OwnApp(*pod, kZone));
  return pod;
}
api::PodPtr PreferringPod(std::size_t i) {
  auto pod = AppPod(i, 1000);
  pod->spec.pod_affinity.emplace().preferred.push_back({100, OwnApp(*pod, kHostname)});
  pod->spec.pod_anti_affinity.emplace().preferred.push_back({10, OwnApp(*pod, kZone)});
  return pod;
}
api::PodPtr HardSpreadPod(std::size_t i) {
  auto pod = AppPod(i, 1000);
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = kZone;
  constraint.max_skew = 5;
  constraint.when_unsatisfiable = "DoNotSchedule";
  constraint.label_selector.emplace().match_labels = {{"app", *pod->metadata.labels.Find("app")}};
  pod->spec.topology_spread_constraints = {constraint};
  return pod;
}

// 50,000 pods of 500 services are there already; each new pod belongs to one of them.
constexpr std::size_t kServices = 500;
api::PodPtr ServicePod(std::size_t i) {
  auto pod = PlainPod(i);
  pod->metadata.labels = {{"app", fmt::format("app-{}", i % kServices)}, {"pod", fmt::format("pod-{}", i)}};
  return pod;
}
void AddServices(cache::ClusterCache& cache, std::size_t nodes, std::size_t) {
  for (std::size_t i = 0; i < kServices; ++i) {
    auto service = std::make_shared<api::Service>();
    service->metadata.name = fmt::format("service-{}", i);
    service->metadata.ns = "default";
    service->selector = {{"app", fmt::format("app-{}", i)}};
    cache.objects().Apply(framework::Change<api::Service>{nullptr, service});
  }
  for (std::size_t i = 0; i < 50'000; ++i) {
    auto pod = std::make_shared<api::Pod>(*ServicePod(i));
    pod->metadata.uid = fmt::format("old-{}", i);
    pod->spec.node_name = fmt::format("node-{:05}", i * 7 % nodes);
    pod->spec.containers.front().resources.requests.clear();
    cache.AddPod(std::move(pod));
  }
}

// Every pod has a claim of its own, bound to a volume that a third of the nodes can reach.
api::PodPtr VolumePod(std::size_t i) {
  auto pod = PlainPod(i);
  api::Volume volume;
  volume.name = "data";
  volume.source = api::Volume::Source::kPersistentVolumeClaim;
  volume.id = fmt::format("claim-{}", i);
  pod->spec.volumes = {volume};
  return pod;
}
void AddVolumes(cache::ClusterCache& cache, std::size_t nodes, std::size_t pods) {
  const auto apply = [&]<class T>(T object) {
    cache.objects().Apply(framework::Change<T>{nullptr, std::make_shared<const T>(std::move(object))});
  };
  for (std::size_t i = 0; i < nodes; ++i) {
    api::CSINode node;
    node.metadata.name = fmt::format("node-{:05}", i);
    node.drivers = {{kDriver, 39}};
    apply(std::move(node));
  }
  for (std::size_t i = 0; i < pods; ++i) {
    api::PersistentVolume volume;
    volume.metadata.name = fmt::format("pv-{}", i);
    volume.source = api::PersistentVolume::Source::kCsi;
    volume.driver = kDriver;
    volume.volume_handle = volume.metadata.name;
    volume.phase = "Bound";
    volume.access_modes = {"ReadWriteOnce"};
    volume.claim_ref = api::PersistentVolume::ClaimRef{"default", fmt::format("claim-{}", i), ""};
    volume.node_affinity = api::NodeSelector{{{{{kZone, "In", {fmt::format("zone-{}", i % 3)}}}, {}}}};
    apply(std::move(volume));
    api::PersistentVolumeClaim claim;
    claim.metadata.name = fmt::format("claim-{}", i);
    claim.metadata.ns = "default";
    claim.metadata.annotations.emplace().Set("pv.kubernetes.io/bind-completed", "yes");
    claim.volume_name = fmt::format("pv-{}", i);
    claim.access_modes = {"ReadWriteOnce"};
    claim.phase = "Bound";
    apply(std::move(claim));
  }
}

void Nothing(cache::ClusterCache&, std::size_t, std::size_t) {}

}  // namespace

api::NodePtr MakeNode(std::size_t i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = fmt::format("node-{:05}", i);
  node->metadata.labels = {{kHostname, node->metadata.name},
                           {kZone, fmt::format("zone-{}", i % 3)},
                           {"node.kubernetes.io/instance-type", fmt::format("type-{}", i % 7)}};
  const std::int64_t cores = 16 << (i % 3);
  node->allocatable = {{"cpu", api::Quantity::FromInteger(cores)},
                       {"memory", api::Quantity::FromInteger(cores * (4LL << 30))},
                       {"ephemeral-storage", api::Quantity::FromInteger(200LL << 30)},
                       {"pods", api::Quantity::FromInteger(110)}};
  if (i % 10 == 0) node->taints.push_back({"dedicated", "batch", "NoSchedule"});
  if (i % 5 == 1) node->taints.push_back({"flaky", "", "PreferNoSchedule"});
  return node;
}

const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> kAll = {
      {"distinct", "no two pods alike, no demands on other pods", Nothing, DistinctPod},
      {"anti-affinity", "required anti-affinity to 4,000 pods of the same application, by host", Nothing,
       AntiAffinePod},
      {"zone-affinity", "required affinity to 1,000 pods of the same application, by zone", Nothing,
       ZoneAffinePod},
      {"preferred-affinity", "preferences for and against pods of the same application", Nothing,
       PreferringPod},
      {"spread", "a hard spread of 1,000 pods over zones", Nothing, HardSpreadPod},
      {"default-spread", "the default spread of services over 50,000 pods that are there", AddServices,
       ServicePod},
      {"csi-volumes", "a bound CSI volume per pod, in one zone, with attach limits", AddVolumes, VolumePod},
  };
  return kAll;
}

const Workload* FindWorkload(std::string_view name) {
  const auto found = std::ranges::find(Workloads(), name, &Workload::name);
  return found == Workloads().end() ? nullptr : &*found;
}

}  // namespace berth::bench
