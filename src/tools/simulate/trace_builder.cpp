#include "tools/simulate/trace_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::simulate {
namespace {

api::ResourceList AmountsOf(const TraceShape& shape) {
  api::ResourceList amounts;
  amounts.insert_or_assign("cpu", api::Quantity::FromMilli(shape.milli_cpu));
  amounts.insert_or_assign("memory", api::Quantity::FromInteger(shape.memory));
  for (const auto& [name, amount] : shape.extended)
    amounts.insert_or_assign(name, api::Quantity::FromInteger(amount));
  return amounts;
}

// "12c-16g-1gpu"
std::string NameOf(const TraceShape& shape) {
  std::string name = fmt::format("{:.4g}c-{:.4g}g", static_cast<double>(shape.milli_cpu) / 1000,
                                 static_cast<double>(shape.memory) / (1 << 30));
  for (const auto& [resource, amount] : shape.extended)
    name += fmt::format("-{}{}", amount, resource.substr(resource.rfind('/') + 1));
  if (!shape.value.empty()) name += "-" + shape.value;
  for (const std::string& value : shape.required) name += "-" + value;
  if (shape.priority != 0) name += fmt::format("-p{}", shape.priority);
  return name;
}

}  // namespace

Expected<void> TraceBuilder::AddNode(const TraceShape& shape, std::string name) {
  const auto [place, is_new] = groups_.try_emplace(shape, workload_.groups.size());
  if (is_new) {
    NodeGroup group;
    group.name = NameOf(shape);
    api::Node& node = group.model;
    node.allocatable = AmountsOf(shape);
    node.allocatable.insert_or_assign("pods", api::Quantity::FromInteger(110));
    node.allocatable_given = true;
    node.capacity = node.allocatable;
    if (!shape.value.empty()) node.metadata.labels.Set(shape.label, shape.value);
    workload_.groups.push_back(std::move(group));
  }
  NodeGroup& group = workload_.groups[place->second];
  group.names.push_back(std::move(name));
  group.count = group.names.size();
  return {};
}

std::uint32_t TraceBuilder::KindOf(const TraceShape& shape) {
  const auto [place, is_new] = kinds_.try_emplace(shape, static_cast<std::uint32_t>(workload_.kinds.size()));
  if (!is_new) return place->second;
  PodKind kind;
  kind.name = NameOf(shape);
  kind.recreate = source_.recreate;
  api::Pod& pod = kind.model;
  pod.metadata.labels.Set("kind", kind.name);
  api::Container container;
  container.name = "main";
  container.image = "example.com/task";
  container.resources.requests = AmountsOf(shape);
  for (const auto& [name, amount] : shape.extended)
    container.resources.limits.insert_or_assign(name, api::Quantity::FromInteger(amount));
  pod.spec.containers.push_back(std::move(container));
  pod.spec.priority = shape.priority;
  if (!shape.required.empty()) {
    api::NodeAffinity affinity;
    api::NodeSelectorTerm term;
    term.match_expressions.push_back({shape.label, "In", shape.required});
    affinity.required.emplace().terms.push_back(std::move(term));
    pod.spec.node_affinity = std::move(affinity);
  }
  api::ApplyDefaults(pod);
  workload_.kinds.push_back(std::move(kind));
  return place->second;
}

Expected<void> TraceBuilder::AddPod(const TraceShape& shape, Duration arrival,
                                    std::optional<Duration> lifetime) {
  if (workload_.trace.size() >= Workload::kMostPods)
    return Invalid(fmt::format("at most {} pods; use a part of the trace", Workload::kMostPods));
  const auto scaled = [&](Duration time) {
    return Duration(static_cast<std::int64_t>(static_cast<double>(time.count()) / source_.speed));
  };
  TracedPod pod{.arrival = scaled(arrival), .kind = KindOf(shape)};
  if (lifetime) pod.lifetime = std::max<Duration>(scaled(*lifetime), std::chrono::milliseconds(1));
  workload_.trace.push_back(pod);
  return {};
}

void TraceBuilder::Finish() {
  std::vector<TracedPod>& pods = workload_.trace;
  if (source_.order == "shuffled") {
    Random random(source_.seed);
    for (std::size_t i = pods.size(); i > 1; --i) std::swap(pods[i - 1], pods[random.Below(i)]);
    Duration arrival{};
    for (TracedPod& pod : pods) {
      pod.arrival = arrival;
      pod.lifetime.reset();
      arrival += source_.interval;
    }
  } else {
    std::ranges::stable_sort(pods, {}, &TracedPod::arrival);
  }
  if (workload_.duration != Duration::zero()) return;
  workload_.duration = std::chrono::seconds(1);
  for (const TracedPod& pod : pods)
    workload_.duration =
        std::max(workload_.duration, pod.arrival + pod.lifetime.value_or(std::chrono::seconds(1)));
}

}  // namespace berth::simulate
