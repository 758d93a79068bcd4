#include "bench/workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/object_text.hpp"

namespace berth::bench {
namespace {

// Bound pods of twenty applications, so small that a hundred of them leave room on every node.
void EmitBoundApplications(const Listener& listener, const Size& size) {
  for (std::size_t i = 0; i < size.nodes * size.pods_per_node; ++i) {
    PodText pod;
    pod.name = fmt::format("there-{}", i);
    pod.labels = fmt::format(R"("app":"there-{}")", i * 7 % 20);
    pod.requests = R"("cpu":"10m","memory":"16Mi")";
    pod.node = NodeName(i % size.nodes);
    listener({Event::Type::kAdded, "Pod", pod.text()});
  }
}

}  // namespace

void EmitAll(const Workload& workload, const Size& size, const Listener& listener) {
  if (workload.recorded) return workload.recorded(listener);
  for (std::size_t i = 0; i < size.nodes; ++i) listener({Event::Type::kAdded, "Node", workload.node(i)});
  EmitBoundApplications(listener, size);
  if (workload.around) workload.around(listener, size);
  for (std::size_t i = 0; i < size.pods; ++i) {
    if (workload.churn) workload.churn(listener, i, size);
    listener({Event::Type::kAdded, "Pod", workload.pod(i)});
  }
}

void Dump(const Workload& workload, const Size& size) {
  constexpr std::array kTypes{"ADDED", "MODIFIED", "DELETED"};
  EmitAll(workload, size, [&](const Event& event) {
    fmt::print("{{\"type\":\"{}\",\"object\":{}}}\n", kTypes[static_cast<std::size_t>(event.type)],
               event.object);
  });
}

const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> all = [] {
    std::vector<Workload> workloads = OwnWorkloads();
    std::ranges::move(SuiteWorkloads(), std::back_inserter(workloads));
    std::ranges::move(DeviceWorkloads(), std::back_inserter(workloads));
    return workloads;
  }();
  return all;
}

const Workload* FindWorkload(std::string_view name) {
  const auto found = std::ranges::find(Workloads(), name, &Workload::name);
  return found == Workloads().end() ? nullptr : &*found;
}

}  // namespace berth::bench
