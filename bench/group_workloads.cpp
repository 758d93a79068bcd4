#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/object_text.hpp"
#include "bench/workloads.hpp"

namespace berth::bench {
namespace {

constexpr std::string_view kRack = "example.com/rack";
constexpr std::size_t kNodesPerRack = 50;

std::string RackNode(std::size_t i) {
  constexpr std::string_view kRoom = R"("cpu":"32","memory":"256Gi","pods":"110","nvidia.com/gpu":"8")";
  return Fill(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"$name",)"
              R"("labels":{"$host":"$name","$rack":"rack-$number","$zone":"$in"}},)"
              R"("spec":{},"status":{"capacity":{$room},"allocatable":{$room}}})",
              {{"name", NodeName(i)},
               {"host", kHostname},
               {"rack", kRack},
               {"number", std::to_string(i / kNodesPerRack)},
               {"zone", kZone},
               {"in", ZoneName(i)},
               {"room", kRoom}});
}

std::string GroupName(std::size_t i, std::size_t members) { return fmt::format("group-{}", i / members); }

// Groups that need all their members. `more`: additional members of spec, each with a leading comma.
Workload Gangs(std::string name, std::string about, std::size_t members, const std::string& more,
               const std::string& requests) {
  Workload workload;
  workload.name = std::move(name);
  workload.about = std::move(about);
  workload.node = RackNode;
  workload.pod = [members, requests](std::size_t i) {
    PodText pod;
    pod.name = fmt::format("member-{}", i);
    pod.labels = fmt::format(R"("job":"{}")", GroupName(i, members));
    pod.requests = requests;
    pod.spec = Fill(R"(,"schedulingGroup":{"podGroupName":"$group"})", {{"group", GroupName(i, members)}});
    return pod.text();
  };
  workload.around = [members, more](const Listener& listener, const Size& size) {
    for (std::size_t first = 0; first < size.pods; first += members) {
      const std::size_t count = std::min(members, size.pods - first);
      listener(
          {Event::Type::kAdded, "PodGroup",
           Fill(R"({"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",)"
                R"("metadata":{"name":"$name","namespace":"default","uid":"$name"},)"
                R"("spec":{"schedulingPolicy":{"gang":{"minCount":$count}}$more}})",
                {{"name", GroupName(first, members)}, {"count", std::to_string(count)}, {"more", more}})});
    }
  };
  return workload;
}

}  // namespace

std::vector<Workload> GroupWorkloads() {
  const std::string in_rack =
      Fill(R"(,"schedulingConstraints":{"topology":[{"key":"$key"}]})", {{"key", kRack}});
  const std::string small = R"("cpu":"2","memory":"4Gi")";
  const std::string gpus = R"("cpu":"4","memory":"16Gi","nvidia.com/gpu":"4")";
  return {Gangs("gang-1000", "groups of 1,000 equal pods", 1000, "", small),
          Gangs("gangs-64", "groups of 64 equal pods with 4 GPUs each", 64, "", gpus),
          Gangs("gangs-64-in-rack",
                "groups of 64 equal pods with 4 GPUs each, every group in one rack of 50 nodes", 64, in_rack,
                gpus)};
}

}  // namespace berth::bench
