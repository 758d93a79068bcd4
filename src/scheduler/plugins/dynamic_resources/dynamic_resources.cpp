#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"

#include <fmt/format.h>

namespace berth::plugins {

using framework::Attempt;
using framework::Status;

namespace {

// Prefix of the implicit extended resource name of a DeviceClass.
constexpr std::string_view kImplicitPrefix = "deviceclass.resource.kubernetes.io/";

bool MatchesResource(const api::DeviceClass& device_class, std::string_view resource) {
  if (device_class.extended_resource_name == resource) return true;
  return resource.starts_with(kImplicitPrefix) &&
         resource.substr(kImplicitPrefix.size()) == device_class.metadata.name;
}

}  // namespace

framework::PluginOrError DynamicResources::Create(const framework::RawArgs& args, framework::Handle& handle) {
  BERTH_RETURN_IF_ERROR(CheckDynamicResourcesArgs(args, handle.gates));
  return std::make_unique<DynamicResources>(handle);
}

DynamicResources::DynamicResources(framework::Handle& handle)
    : objects_(handle.objects),
      symbols_(handle.symbols),
      extended_resources_(handle.gates.Enabled("DRAExtendedResource")),
      seen_key_(handle.NewKey<bool>()) {}

framework::PreFilterResult DynamicResources::PreFilter(const Attempt& attempt) const {
  attempt.state().Write(seen_key_, true);
  const cluster::PodInfo& pod = attempt.pod();
  if (!pod.pod->spec.resource_claims.empty()) {
    return {Status::Unresolvable("pod uses resource claims, which Berth does not allocate yet"),
            std::nullopt};
  }
  if (!extended_resources_ || objects_.Of<api::DeviceClass>().size() == 0)
    return {Status::Skip(), std::nullopt};
  for (const auto& [resource, amount] : pod.fit().scalars) {
    const api::DeviceClass* device_class = amount > 0 ? DeviceClassOf(resource) : nullptr;
    if (device_class == nullptr) continue;
    return {Status::Unresolvable(fmt::format(
                "pod requests {}, which device class {} provides: Berth does not allocate devices yet",
                symbols_.ResourceName(resource), device_class->metadata.name)),
            std::nullopt};
  }
  return {Status::Skip(), std::nullopt};
}

const api::DeviceClass* DynamicResources::DeviceClassOf(cluster::ResourceId resource) const {
  const std::string& name = symbols_.ResourceName(resource);
  const api::DeviceClass* found = nullptr;
  objects_.Of<api::DeviceClass>().ForEach([&](const auto& device_class) {
    if (found == nullptr && MatchesResource(*device_class, name)) found = device_class.get();
  });
  return found;
}

void DynamicResources::Filter(const Attempt& attempt, const RowSet& candidates,
                              framework::Rejections& out) const {
  if (attempt.state().Read(seen_key_) == nullptr) out.Fail(candidates, "not found");
}

framework::PostFilterResult DynamicResources::PostFilter(const Attempt& attempt,
                                                         const framework::FilterOutcome&,
                                                         framework::PostFilterServices&) {
  // An earlier plugin rejected the pod in PreFilter. kube-scheduler then finds no cycle state and returns
  // this error, which ends PostFilter.
  if (attempt.state().Read(seen_key_) == nullptr) return {Status::Error("not found"), std::nullopt};
  return {{framework::Code::kUnschedulable, {}, {}}, std::nullopt};
}

Status DynamicResources::Score(const Attempt& attempt, const RowSet&, framework::ScoreColumn& scores) const {
  if (attempt.state().Read(seen_key_) == nullptr) return Status::Error("not found");
  scores.SetAll(0);
  return {};
}

std::vector<framework::EventRegistration> DynamicResources::EventsToRegister() const {
  using namespace framework;
  // The pod waits for the removal of claims or device classes, or for its own update; changes of devices do
  // not help.
  return {{EventResource::kDeviceClass, kUpdate | kDelete}, {EventResource::kTargetPod, kUpdate}};
}

}  // namespace berth::plugins
