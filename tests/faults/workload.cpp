#include "tests/faults/workload.hpp"

#include <fmt/format.h>

namespace berth::faults {
namespace {

// `claim`: of the pod's volume.
std::string SpecJson(const PodTemplate& pod, const std::string& claim) {
  std::string spec = fmt::format(
      R"("terminationGracePeriodSeconds":1,"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}m","memory":"{}Mi"}}{}}}{}}}])",
      pod.cpu, pod.memory, pod.needs_device ? R"(,"claims":[{"name":"device"}])" : "",
      pod.host_port ? R"(,"ports":[{"containerPort":8080,"hostPort":8080}])" : "");
  if (pod.needs_ssd) spec += R"(,"nodeSelector":{"disk":"ssd"})";
  if (pod.priority != 0) spec += fmt::format(R"(,"priorityClassName":"important")");
  if (pod.tolerates) spec += fmt::format(R"(,"tolerations":[{{"key":"{}","operator":"Exists"}}])", kTaint);
  if (pod.runs_for_seconds > 0) spec += R"(,"restartPolicy":"Never")";
  if (pod.needs_device)
    spec += R"(,"resourceClaims":[{"name":"device","resourceClaimTemplateName":"device"}])";
  if (pod.needs_volume) {
    spec += fmt::format(R"(,"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"{}"}}}}])", claim);
  }
  const std::string own = fmt::format(R"("labelSelector":{{"matchLabels":{{"app":"{}"}}}})", pod.name);
  if (pod.spreads) {
    spec += fmt::format(
        R"(,"topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule",{}}}])",
        own);
  }
  if (pod.avoids_own_node || pod.avoids_own_zone) {
    spec += fmt::format(
        R"(,"affinity":{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"{}",{}}}]}}}})",
        pod.avoids_own_node ? "kubernetes.io/hostname" : "topology.kubernetes.io/zone", own);
  }
  if (pod.follows_small) {
    spec +=
        R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"app":"small"}}}]}})";
  }
  return spec;
}

std::string MetadataJson(const PodTemplate& pod, const std::string& name) {
  std::string metadata = fmt::format(R"("labels":{{"app":"{}"}})", pod.name);
  if (!name.empty()) metadata += fmt::format(R"(,"name":"{}")", name);
  if (pod.runs_for_seconds > 0)
    metadata += fmt::format(R"(,"annotations":{{"sandbox.berth.dev/run-for":"{}s"}})", pod.runs_for_seconds);
  return metadata;
}

}  // namespace

NodeShape ShapeOf(std::size_t node) {
  constexpr NodeShape kShapes[] = {{.cpu = 2000, .memory = 4096, .pods = 10},
                                   {.cpu = 4000, .memory = 4096, .pods = 8, .ssd = true, .devices = 1},
                                   {.cpu = 3000, .memory = 8192, .pods = 20, .devices = 2},
                                   {.cpu = 1500, .memory = 2048, .pods = 5, .ssd = true}};
  return kShapes[node % std::size(kShapes)];
}

std::string NodeName(std::size_t node) { return fmt::format("n{}", node); }

std::string NodeJson(std::size_t node) {
  const NodeShape shape = ShapeOf(node);
  const std::string amounts =
      fmt::format(R"({{"cpu":"{}m","memory":"{}Mi","pods":"{}"}})", shape.cpu, shape.memory, shape.pods);
  const std::string devices =
      shape.devices == 0
          ? ""
          : fmt::format(R"(,"annotations":{{"sandbox.berth.dev/devices":"[{{\"count\":{}}}]"}})",
                        shape.devices);
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}","topology.kubernetes.io/zone":"z{1}"{2}}}{3}}},"status":{{"capacity":{4},"allocatable":{4}}}}})",
      NodeName(node), node % kZones, shape.ssd ? R"(,"disk":"ssd")" : "", devices, amounts);
}

std::string PodJson(std::size_t index, const std::string& name) {
  const PodTemplate& pod = kTemplates[index];
  return fmt::format(R"({{"metadata":{{{}}},"spec":{{{}}}}})", MetadataJson(pod, name), SpecJson(pod, name));
}

std::string VolumeClaimJson(const std::string& pod) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
      pod);
}

std::string GroupJson(const std::string& name, std::int64_t members) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"schedulingPolicy":{{"gang":{{"minCount":{}}}}}}}}})", name,
      members);
}

std::string MemberJson(std::size_t index, const std::string& group, std::int64_t members,
                       std::int64_t number) {
  const PodTemplate& pod = kTemplates[index];
  return fmt::format(
      R"({{"metadata":{{"name":"{0}-{1}","labels":{{"app":"{2}","group":"{0}","members":"{3}"}}}},"spec":{{"schedulingGroup":{{"podGroupName":"{0}"}},{4}}}}})",
      group, number, pod.name, members, SpecJson(pod, ""));
}

std::string ReplicaSetJson(std::size_t index, const std::string& name, std::int64_t replicas) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"{}","set":"{}"}}}},"template":{{"metadata":{{"labels":{{"app":"{}","set":"{}"}}}},"spec":{{{}}}}}}}}})",
      name, replicas, kTemplates[index].name, name, kTemplates[index].name, name,
      SpecJson(kTemplates[index], ""));
}

}  // namespace berth::faults
