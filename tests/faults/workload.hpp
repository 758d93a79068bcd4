// The nodes and pods of the simulated cluster, as JSON for the API server and as facts for the checks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::faults {

// Amounts of CPU are millicores, amounts of memory MiB.
struct NodeShape {
  std::int64_t cpu = 0, memory = 0, pods = 0;
  bool ssd = false;
  int devices = 0;
};

struct PodTemplate {
  std::string_view name;  // also the value of the pods' label `app`
  std::int64_t cpu = 0, memory = 0;
  bool needs_ssd = false;        // nodeSelector disk=ssd
  bool spreads = false;          // over zones, maxSkew 1, DoNotSchedule
  bool avoids_own_node = false;  // required anti-affinity to pods of the template, by host
  bool avoids_own_zone = false;  // by zone
  bool follows_small = false;    // required affinity to pods of the template "small", by zone
  bool host_port = false;        // 8080
  bool tolerates = false;        // the taint of kTaintNode
  int priority = 0;
  bool needs_device = false;  // a claim from a template, one device
  bool needs_volume = false;  // a claim with the name of the pod, of the class "standard"
  int runs_for_seconds = 0;   // 0: without end
};

inline constexpr std::array<PodTemplate, 13> kTemplates = {{
    {.name = "small", .cpu = 250, .memory = 256},
    {.name = "medium", .cpu = 1000, .memory = 1024},
    {.name = "large", .cpu = 2000, .memory = 2048},
    {.name = "ssd", .cpu = 500, .memory = 256, .needs_ssd = true},
    {.name = "spread", .cpu = 250, .memory = 128, .spreads = true},
    {.name = "lonely", .cpu = 250, .memory = 128, .avoids_own_node = true},
    {.name = "zonal", .cpu = 250, .memory = 128, .avoids_own_zone = true},
    {.name = "follower", .cpu = 100, .memory = 128, .follows_small = true},
    {.name = "port", .cpu = 100, .memory = 128, .host_port = true, .tolerates = true},
    {.name = "important", .cpu = 1000, .memory = 512, .priority = 1000},
    {.name = "short", .cpu = 500, .memory = 512, .runs_for_seconds = 8},
    {.name = "device", .cpu = 100, .memory = 128, .needs_device = true},
    {.name = "volume", .cpu = 100, .memory = 128, .needs_volume = true},
}};

// The first templates can be members of pod groups.
inline constexpr std::size_t kGroupTemplates = 5;

inline constexpr std::size_t kZones = 3;
inline constexpr std::string_view kTaint = "faults";

NodeShape ShapeOf(std::size_t node);
std::string NodeName(std::size_t node);
std::string NodeJson(std::size_t node);
std::string PodJson(std::size_t pod_template, const std::string& name);
// The claim of a pod that needs a volume.
std::string VolumeClaimJson(const std::string& pod);
// A pod group with gang policy, and its member number `number`. All members are needed. Labels of the member:
// group, members.
std::string GroupJson(const std::string& name, std::int64_t members);
std::string MemberJson(std::size_t pod_template, const std::string& group, std::int64_t members,
                       std::int64_t number);
std::string ReplicaSetJson(std::size_t pod_template, const std::string& name, std::int64_t replicas);

}  // namespace berth::faults
