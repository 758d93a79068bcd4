#include "tools/simulate/trace_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/go_quote.hpp"
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
  if (shape.devices == 0) {
    for (const auto& [resource, amount] : shape.extended)
      name += fmt::format("-{}{}", amount, resource.substr(resource.rfind('/') + 1));
  } else if (shape.device_milli % 1000 != 0) {
    name += fmt::format("-{}x{}gpu-milli", shape.devices, shape.device_milli);
  } else {
    name += fmt::format("-{}gpu", shape.devices);
  }
  if (!shape.value.empty()) name += "-" + shape.value;
  for (const std::string& value : shape.required) name += "-" + value;
  if (shape.priority != 0) name += fmt::format("-p{}", shape.priority);
  return name;
}

// The name of the shape, with a number if another shape has the same: amounts are rounded.
std::string NewName(const TraceShape& shape, std::set<std::string>& names) {
  const std::string base = NameOf(shape);
  std::string name = base;
  for (std::size_t number = 2; !names.insert(name).second; ++number)
    name = fmt::format("{}-v{}", base, number);
  return name;
}

// The GPUs of a node: each can be shared in thousandths.
api::ResourceSlice DevicesOf(const TraceShape& shape) {
  api::ResourceSlice slice;
  slice.driver = kDeviceDriver;
  api::DeviceCapacity milli{.value = api::Quantity::FromInteger(1000), .request_policy = {}};
  api::CapacityRequestPolicy& policy = milli.request_policy.emplace();
  policy.default_request = milli.value;
  policy.valid_range.emplace().min = api::Quantity::FromInteger(1);
  for (std::int64_t i = 0; i < shape.devices; ++i) {
    api::Device& device = slice.devices.emplace_back();
    device.name = fmt::format("gpu-{}", i);
    device.attributes["model"].value = shape.value;
    device.capacity[kDeviceCapacity] = milli;
    device.allow_multiple_allocations = true;
  }
  return slice;
}

// Without a capacity the policy of the devices applies: the whole device.
api::ResourceClaim ClaimOf(const TraceShape& shape) {
  api::ResourceClaim claim;
  api::ResourceClaim::Request& request = claim.requests.emplace_back();
  request.name = "gpus";
  api::ExactDeviceRequest& wanted = request.exactly.emplace();
  wanted.device_class_name = kDeviceDriver;
  wanted.allocation_mode = "ExactCount";
  wanted.count = shape.devices;
  if (shape.device_milli < 1000) {
    wanted.capacity.emplace();
    wanted.capacity->emplace(kDeviceCapacity, api::Quantity::FromInteger(shape.device_milli));
  }
  if (!shape.required.empty()) {
    std::string models;
    for (const std::string& model : shape.required)
      models += fmt::format("{}{}", models.empty() ? "" : ", ", GoQuote(model));
    wanted.selectors.push_back(
        {fmt::format("device.attributes[\"{}\"].model in [{}]", kDeviceDriver, models)});
  }
  return claim;
}

api::DeviceClass DeviceClassOfTraces() {
  api::DeviceClass device_class;
  device_class.metadata.name = kDeviceDriver;
  device_class.metadata.uid = "class";
  device_class.selectors.push_back({fmt::format("device.driver == \"{}\"", kDeviceDriver)});
  return device_class;
}

}  // namespace

Expected<void> TraceBuilder::AddNode(const TraceShape& shape, std::string name, std::int64_t gpus) {
  if (!node_names_.insert(name).second)
    return Invalid(fmt::format("expected each node once, got {} again", GoQuote(name)));
  offered_gpus_ += gpus;
  const auto [place, is_new] = groups_.try_emplace(shape, workload_.groups.size());
  if (is_new) {
    NodeGroup group;
    group.name = NewName(shape, group_names_);
    api::Node& node = group.model;
    node.allocatable = AmountsOf(shape);
    node.allocatable.insert_or_assign("pods", api::Quantity::FromInteger(110));
    node.allocatable_given = true;
    node.capacity = node.allocatable;
    if (!shape.value.empty()) node.metadata.labels.Set(shape.label, shape.value);
    if (shape.devices > static_cast<std::int64_t>(Workload::kMostDevices)) {
      return Invalid(fmt::format("node {}: at most {} GPUs of a node, got {}", name, Workload::kMostDevices,
                                 shape.devices));
    }
    if (shape.devices > 0) group.devices = DevicesOf(shape);
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
  kind.name = NewName(shape, kind_names_);
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
  if (shape.devices > 0) {
    pod.spec.resource_claims.push_back({"gpus", std::nullopt, "gpus"});
    kind.claims.emplace("gpus", ClaimOf(shape));
  } else if (!shape.required.empty()) {
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
                                    std::optional<Duration> lifetime, std::int64_t gpus) {
  if (workload_.trace.size() >= Workload::kMostPods)
    return Invalid(fmt::format("at most {} pods; use a part of the trace", Workload::kMostPods));
  const auto scaled = [&](Duration time) {
    return Duration(static_cast<std::int64_t>(static_cast<double>(time.count()) / source_.speed));
  };
  TracedPod pod{.arrival = scaled(arrival), .kind = KindOf(shape)};
  if (lifetime) pod.lifetime = std::max<Duration>(scaled(*lifetime), std::chrono::milliseconds(1));
  workload_.trace.push_back(pod);
  gpus_.push_back(gpus);
  return {};
}

// Nodes of other groups have the name of the group and a number.
Expected<void> TraceBuilder::CheckNodeNames() const {
  std::set<std::string_view> groups;
  for (const NodeGroup& group : workload_.groups) {
    if (group.names.empty()) groups.insert(group.name);
  }
  for (const std::string_view name : node_names_) {
    const std::size_t dash = name.rfind('-');
    if (dash == std::string_view::npos ||
        name.find_first_not_of("0123456789", dash + 1) != std::string_view::npos)
      continue;
    if (groups.contains(name.substr(0, dash))) {
      return Invalid(fmt::format("node {} of the trace may also be one of the group {}: rename the group",
                                 GoQuote(name), GoQuote(name.substr(0, dash))));
    }
  }
  return {};
}

Expected<void> TraceBuilder::Finish() {
  BERTH_RETURN_IF_ERROR(CheckNodeNames());
  std::vector<TracedPod>& pods = workload_.trace;
  if (source_.order == "shuffled") {
    Random random(source_.seed);
    for (std::size_t i = pods.size(); i > 1; --i) {
      const std::size_t other = random.Below(i);
      std::swap(pods[i - 1], pods[other]);
      std::swap(gpus_[i - 1], gpus_[other]);
    }
    if (source_.demand > 0) {
      BERTH_RETURN_IF_ERROR(FillDemand(random));
    }
    Duration arrival{};
    for (TracedPod& pod : pods) {
      pod.arrival = arrival;
      pod.lifetime.reset();
      arrival += source_.interval;
    }
  } else {
    std::ranges::stable_sort(pods, {}, &TracedPod::arrival);
  }
  if (std::ranges::any_of(workload_.groups, [](const NodeGroup& group) { return group.devices.has_value(); }))
    workload_.objects.emplace_back(ports::Change<api::DeviceClass>{
        nullptr, std::make_shared<const api::DeviceClass>(DeviceClassOfTraces())});
  if (workload_.duration != Duration::zero()) return {};
  workload_.duration = std::chrono::seconds(1);
  for (const TracedPod& pod : pods)
    workload_.duration =
        std::max(workload_.duration, pod.arrival + pod.lifetime.value_or(std::chrono::seconds(1)));
  return {};
}

// Keeps the first pods, or adds further ones that are drawn from the trace, until the next one would exceed
// the demand.
Expected<void> TraceBuilder::FillDemand(Random& random) {
  std::vector<TracedPod>& pods = workload_.trace;
  const std::size_t recorded = pods.size();
  if (offered_gpus_ == 0 || std::ranges::all_of(gpus_, [](std::int64_t gpus) { return gpus == 0; }))
    return Invalid("demand needs nodes with GPUs and pods that request GPUs");
  const double most = source_.demand * static_cast<double>(offered_gpus_);
  double sum = 0;
  for (std::size_t i = 0;; ++i) {
    const std::size_t drawn = i < recorded ? i : random.Below(recorded);
    sum += static_cast<double>(gpus_[drawn]);
    if (sum > most) {
      pods.resize(i);
      return {};
    }
    if (i < recorded) continue;
    if (pods.size() >= Workload::kMostPods)
      return Invalid(fmt::format("at most {} pods; use a smaller demand", Workload::kMostPods));
    pods.push_back(pods[drawn]);
  }
}

}  // namespace berth::simulate
