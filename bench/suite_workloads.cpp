#include <fmt/format.h>

#include "base/random.hpp"
#include "bench/object_text.hpp"
#include "bench/workloads.hpp"

namespace berth::bench {
namespace {

using NodeMaker = std::function<std::string(std::size_t)>;

constexpr std::string_view kDriver = "ebs.csi.aws.com";
constexpr std::string_view kTwoNamespaces = R"(,"namespaces":["sched-1","sched-0"])";
constexpr std::string_view kTeamNamespaces = R"(,"namespaceSelector":{"matchLabels":{"team":"devops"}})";

std::string SuiteNode(std::size_t i, const std::string& labels, const std::string& taints, const char* pods) {
  const std::string room = fmt::format(R"("cpu":"4","memory":"32Gi","pods":"{}")", pods);
  return Fill(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"$name","labels":{"$host":"$name"$labels}},)"
      R"("spec":{"taints":[$taints]},"status":{"capacity":{$room},"allocatable":{$room}}})",
      {{"name", NodeName(i)}, {"host", kHostname}, {"labels", labels}, {"taints", taints}, {"room", room}});
}

std::string DefaultNode(std::size_t i) { return SuiteNode(i, "", "", "110"); }
// Nodes in that many zones; zone-1 is the first.
NodeMaker ZonedNode(std::size_t zones) {
  return [zones](std::size_t i) {
    return SuiteNode(i, fmt::format(R"(,"{}":"zone-{}")", kZone, 1 + i % zones), "", "110");
  };
}

// Additions to a default pod: namespace, labels, members of spec.
struct Kind {
  std::string ns = "default";
  std::string labels = {};
  std::string spec = {};
};

PodText DefaultPod(const std::string& name, const Kind& kind) {
  PodText pod;
  pod.name = name;
  pod.ns = kind.ns;
  pod.labels = kind.labels;
  pod.image = "registry.example.org/pause:3.10";
  pod.requests = R"("cpu":"100m","memory":"500Mi")";
  pod.spec = kind.spec;
  return pod;
}

std::function<std::string(std::size_t)> Pods(const Kind& kind) {
  return [kind](std::size_t i) { return DefaultPod(fmt::format("pod-{}", i), kind).text(); };
}

// Pods that are bound before the first decision, round-robin over the nodes.
void EmitBoundPods(const Listener& listener, const Size& size, const std::string& prefix, std::size_t count,
                   const Kind& kind) {
  for (std::size_t i = 0; i < count; ++i) {
    PodText pod = DefaultPod(fmt::format("{}-{}", prefix, i), kind);
    pod.node = NodeName(i % size.nodes);
    listener({Event::Type::kAdded, "Pod", pod.text()});
  }
}

// `share` bound pods per node.
std::function<void(const Listener&, const Size&)> Bound(double share, const Kind& kind) {
  return [share, kind](const Listener& listener, const Size& size) {
    EmitBoundPods(listener, size, "init", static_cast<std::size_t>(share * static_cast<double>(size.nodes)),
                  kind);
  };
}

Kind Affine(const std::string& ns) {
  return {ns, R"("color":"blue")",
          RequiredTerm("podAffinity", AffinityTerm(R"("color":"blue")", kZone, kTwoNamespaces))};
}
Kind AntiAffine(const std::string& ns) {
  return {ns, R"("color":"green")",
          RequiredTerm("podAntiAffinity", AffinityTerm(R"("color":"green")", kHostname, kTwoNamespaces))};
}
Kind Preferring(const std::string& ns) {
  return {ns, R"("color":"red")",
          PreferredTerm("podAffinity", 1, AffinityTerm(R"("color":"red")", kHostname, kTwoNamespaces))};
}
Kind Avoiding(const std::string& ns) {
  return {
      ns, R"("color":"yellow")",
      PreferredTerm("podAntiAffinity", 1, AffinityTerm(R"("color":"yellow")", kHostname, kTwoNamespaces))};
}

std::vector<Workload> AffinityWorkloads() {
  const Kind zone_one{
      "default", "",
      Fill(
          R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
          R"([{"matchExpressions":[{"key":"$zone","operator":"In","values":["zone-1","zone-2"]}]}]}}})",
          {{"zone", kZone}})};
  const auto everything = [](const Listener& listener, const Size& size) {
    const std::size_t each = size.nodes * 2 / 5;
    EmitBoundPods(listener, size, "plain", each, {"sched-0"});
    EmitBoundPods(listener, size, "affine", each, Affine("sched-0"));
    EmitBoundPods(listener, size, "anti", each, AntiAffine("sched-0"));
    EmitBoundPods(listener, size, "preferring", each, Preferring("sched-0"));
    EmitBoundPods(listener, size, "avoiding", each, Avoiding("sched-0"));
  };
  return {
      {"suite/node-affinity", "one of two requested zones", ZonedNode(1), Pods(zone_one), Bound(1, zone_one)},
      {"suite/pod-affinity", "required, by zone, to all of its kind", ZonedNode(1), Pods(Affine("sched-1")),
       Bound(1, Affine("sched-0"))},
      {"suite/pod-anti-affinity", "required, by host, to all of its kind", DefaultNode,
       Pods(AntiAffine("sched-1")), Bound(0.2, AntiAffine("sched-0"))},
      {"suite/matching-anti-affinity", "pods with anti-affinity terms of other pods against them",
       DefaultNode, Pods({"sched-1", R"("color":"green")"}), Bound(0.2, AntiAffine("sched-0"))},
      {"suite/preferred-pod-affinity", "by host, to all of its kind", DefaultNode,
       Pods(Preferring("sched-1")), Bound(1, Preferring("sched-0"))},
      {"suite/preferred-pod-anti-affinity", "by host, to all of its kind", DefaultNode,
       Pods(Avoiding("sched-1")), Bound(1, Avoiding("sched-0"))},
      {"suite/mixed-pods", "plain pods mixed with five other kinds", ZonedNode(1), Pods({}), everything},
  };
}

// A hundred namespaces of one team with pods in each; the measured pods are in another namespace of that
// team.
std::vector<Workload> NamespaceWorkloads() {
  const auto of_team = [](double share, const std::string& labels, const std::string& spec) {
    return [=](const Listener& listener, const Size& size) {
      for (std::size_t i = 0; i <= 100; ++i) {
        const std::string ns = i == 100 ? "measured" : fmt::format("team-{}", i);
        listener(
            {Event::Type::kAdded, "Namespace",
             Fill(
                 R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"$ns","labels":{"team":"devops"}}})",
                 {{"ns", ns}})});
      }
      const auto pods = static_cast<std::size_t>(share * static_cast<double>(size.nodes));
      for (std::size_t i = 0; i < pods; ++i) {
        PodText pod = DefaultPod(fmt::format("init-{}", i), {fmt::format("team-{}", i % 100), labels, spec});
        pod.node = NodeName(i % size.nodes);
        listener({Event::Type::kAdded, "Pod", pod.text()});
      }
    };
  };
  const auto workload = [&](const char* name, const char* about, double share, const NodeMaker& node,
                            const std::string& labels, const std::string& spec) {
    return Workload{name, about, node, Pods({"measured", labels, spec}), of_team(share, labels, spec)};
  };
  const std::string green = R"("color":"green")", red = R"("color":"red")";
  const std::string blue = R"("color":"blue")", yellow = R"("color":"yellow")";
  return {
      workload("suite/ns-selector/anti-affinity", "required, by host, over a hundred namespaces", 0.5,
               DefaultNode, green,
               RequiredTerm("podAntiAffinity", AffinityTerm(green, kHostname, kTeamNamespaces))),
      workload("suite/ns-selector/preferred-anti-affinity", "by host, over a hundred namespaces", 0.8,
               DefaultNode, yellow,
               PreferredTerm("podAntiAffinity", 1, AffinityTerm(yellow, kHostname, kTeamNamespaces))),
      workload("suite/ns-selector/affinity", "required, by zone, over a hundred namespaces", 1, ZonedNode(1),
               blue, RequiredTerm("podAffinity", AffinityTerm(blue, kZone, kTeamNamespaces))),
      workload("suite/ns-selector/preferred-affinity", "by host, over a hundred namespaces", 1, DefaultNode,
               red, PreferredTerm("podAffinity", 1, AffinityTerm(red, kHostname, kTeamNamespaces))),
  };
}

std::vector<Workload> SpreadWorkloads() {
  const std::string blue = R"("color":"blue")";
  const Kind served{"default", R"("app":"scheduler-perf")"};
  const auto service = [](const Listener& listener, const Size& size) {
    listener({Event::Type::kAdded, "Service",
              R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"service","namespace":"default"},)"
              R"("spec":{"selector":{"app":"scheduler-perf"}}})"});
    EmitBoundPods(listener, size, "init", size.nodes, {"others"});
  };
  const auto a_fifth_tainted = [](std::size_t i) {
    return SuiteNode(i, "", i % 5 == 4 ? R"({"key":"foo","effect":"NoSchedule"})" : "", "110");
  };
  const std::string inclusion =
      R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname",)"
      R"("whenUnsatisfiable":"DoNotSchedule","nodeAffinityPolicy":"Honor","nodeTaintsPolicy":"Honor",)"
      R"("labelSelector":{"matchLabels":{"foo":"bar"}}}])";
  return {
      {"suite/spreading", "hard, over three zones", ZonedNode(3),
       Pods({"default", blue, Spread(kZone, 5, "DoNotSchedule", blue)}), Bound(1, {})},
      {"suite/preferred-spreading", "soft, over three zones", ZonedNode(3),
       Pods({"default", blue, Spread(kZone, 5, "ScheduleAnyway", blue)}), Bound(1, {})},
      {"suite/default-spreading", "the default spread of one service", ZonedNode(3), Pods(served), service},
      {"suite/node-inclusion-policy", "hard, over hosts of which a fifth is tainted", a_fifth_tainted,
       Pods({"default", R"("foo":"bar")", inclusion})},
  };
}

// A claim for each pod, bound to its own volume; a node can attach up to 39 volumes.
void EmitClaim(const Listener& listener, const std::string& name, bool in_tree) {
  const std::string source = in_tree
                                 ? Fill(R"("awsElasticBlockStore":{"volumeID":"$name"})", {{"name", name}})
                                 : Fill(R"("csi":{"driver":"$driver","volumeHandle":"$name"})",
                                        {{"driver", kDriver}, {"name", name}});
  listener(
      {Event::Type::kAdded, "PersistentVolume",
       Fill(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"$name"},"spec":{)"
            R"("capacity":{"storage":"1Gi"},"accessModes":["ReadOnlyMany"],$source,"claimRef":{)"
            R"("kind":"PersistentVolumeClaim","namespace":"default","name":"$name","uid":"claim-$name"}},)"
            R"("status":{"phase":"Bound"}})",
            {{"name", name}, {"source", source}})});
  listener({Event::Type::kAdded, "PersistentVolumeClaim",
            Fill(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"$name",)"
                 R"("namespace":"default","uid":"claim-$name",)"
                 R"("annotations":{"pv.kubernetes.io/bind-completed":"true"}},"spec":{"volumeName":"$name",)"
                 R"("accessModes":["ReadOnlyMany"],"storageClassName":"",)"
                 R"("resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound"}})",
                 {{"name", name}})});
}

Workload VolumeWorkload(const char* name, const char* about, bool in_tree) {
  const auto around = [in_tree](const Listener& listener, const Size& size) {
    for (std::size_t i = 0; i < size.nodes; ++i) {
      const char* migrated =
          in_tree
              ? R"(,"annotations":{"storage.alpha.kubernetes.io/migrated-plugins":"kubernetes.io/aws-ebs"})"
              : "";
      listener(
          {Event::Type::kAdded, "CSINode",
           Fill(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"$name"$migrated},)"
                R"("spec":{"drivers":[{"name":"$driver","nodeID":"$name","allocatable":{"count":39}}]}})",
                {{"name", NodeName(i)}, {"migrated", migrated}, {"driver", kDriver}})});
      const std::string claim = fmt::format("init-{}", i);
      EmitClaim(listener, claim, in_tree);
      PodText pod = DefaultPod(claim, {"default", "", ClaimVolume(claim)});
      pod.node = NodeName(i);
      listener({Event::Type::kAdded, "Pod", pod.text()});
    }
    for (std::size_t i = 0; i < size.pods; ++i) EmitClaim(listener, fmt::format("pod-{}", i), in_tree);
  };
  const auto pod = [](std::size_t i) {
    const std::string pod_name = fmt::format("pod-{}", i);
    return DefaultPod(pod_name, {"default", "", ClaimVolume(pod_name)}).text();
  };
  return {name, about, DefaultNode, pod, around};
}

// Every node is full with four low-priority pods.
void EmitLowPriorityPods(const Listener& listener, const Size& size) {
  Random random(1);
  for (std::size_t i = 0; i < 4 * size.nodes; ++i) {
    PodText pod = DefaultPod(fmt::format("low-{}", i), {});
    pod.requests = R"("cpu":"900m","memory":"500Mi")";
    pod.spec = fmt::format(R"(,"priority":{})", random.Below(5));
    const auto started = random.Below(24 * 3600);
    pod.status = fmt::format(R"("startTime":"2026-01-01T{:02}:{:02}:{:02}Z")", started / 3600,
                             started / 60 % 60, started % 60);
    pod.node = NodeName(i % size.nodes);
    listener({Event::Type::kAdded, "Pod", pod.text()});
  }
}

// Requests more than any node has free; the amount varies by pod.
std::string PreemptingPod(std::size_t i, const char* policy) {
  PodText pod = DefaultPod(fmt::format("high-{}", i), {});
  pod.requests = fmt::format(R"("cpu":"{}m","memory":"500Mi")", 1000 + Random(i + 1).Below(2500));
  pod.spec = fmt::format(R"(,"priority":100,"preemptionPolicy":"{}")", policy);
  return pod.text();
}

// Every hundred decisions one of these is created again: a node that accepts no pods, a bound pod, a service.
void Churn(const Listener& listener, std::size_t i, const Size& size) {
  if (i % 100 != 0) return;
  const std::size_t round = i / 300;
  const auto recreate = [&](std::string_view kind, const std::string& object) {
    if (round > 0) listener({Event::Type::kDeleted, kind, object});
    listener({Event::Type::kAdded, kind, object});
  };
  if (i / 100 % 3 == 0) {
    recreate("Node", SuiteNode(size.nodes, "", "", "0"));
  } else if (i / 100 % 3 == 1) {
    PodText pod = DefaultPod("churn", {});
    pod.node = NodeName(0);
    recreate("Pod", pod.text());
  } else {
    recreate("Service",
             R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"churn","namespace":"default"},)"
             R"("spec":{"selector":{"app":"foo"}}})");
  }
}

std::vector<Workload> OtherWorkloads() {
  const Kind secret{"default", "", R"(,"volumes":[{"name":"secret","secret":{"secretName":"secret"}}])"};
  const auto every_other_too_large = [](std::size_t i) {
    PodText pod = DefaultPod(fmt::format("pod-{}", i), {});
    if (i % 2 == 1) {
      pod.requests = R"("cpu":"9","memory":"500Mi")";
      pod.spec = R"(,"priority":10)";
    }
    return pod.text();
  };
  const auto for_one_node = [](std::size_t i) {
    PodText pod = DefaultPod(fmt::format("pod-{}", i), {});
    pod.requests.clear();
    pod.spec = Fill(
        R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
        R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["$node"]}]}]}}})",
        {{"node", NodeName(i % 100)}});
    return pod.text();
  };
  const auto filling = [](std::size_t i) {
    PodText pod = DefaultPod(fmt::format("pod-{}", i), {});
    pod.requests = R"("cpu":"3","memory":"500Mi")";
    return pod.text();
  };
  const auto roomy = [](std::size_t i) { return SuiteNode(i, "", "", "10000"); };
  return {
      {"suite/basic", "identical pods", DefaultNode, Pods({}), Bound(0.2, {})},
      {"suite/filling", "identical pods, one of which fills a node", DefaultNode, filling},
      {"suite/daemon-set", "pods restricted to one node each by metadata.name; a hundred nodes are used",
       roomy, for_one_node},
      {"suite/secrets", "pods that mount a secret", DefaultNode, Pods(secret), Bound(0.2, secret)},
      {"suite/churn",
       "identical pods, while a node, a pod and a service are created and deleted",
       DefaultNode,
       Pods({}),
       {},
       Churn},
      {"suite/unschedulable", "every other pod fits no node", DefaultNode, every_other_too_large,
       Bound(0.02, {})},
      VolumeWorkload("suite/csi-volumes", "a bound CSI volume per pod, with attach limits", false),
      VolumeWorkload("suite/migrated-volumes", "the same with a migrated in-tree volume source", true),
      {"preemption", "every pod preempts pods of lower priority", DefaultNode,
       [](std::size_t i) { return PreemptingPod(i, "PreemptLowerPriority"); }, EmitLowPriorityPods},
      {"preemption-never", "the same pods with preemptionPolicy Never", DefaultNode,
       [](std::size_t i) { return PreemptingPod(i, "Never"); }, EmitLowPriorityPods},
  };
}

}  // namespace

std::vector<Workload> SuiteWorkloads() {
  std::vector<Workload> all;
  for (const auto& group : {OtherWorkloads(), AffinityWorkloads(), NamespaceWorkloads(), SpreadWorkloads()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace berth::bench
