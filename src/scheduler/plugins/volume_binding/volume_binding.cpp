#include "scheduler/plugins/volume_binding/volume_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <ranges>

namespace berth::plugins {

using framework::Attempt;
using framework::Status;

framework::PluginOrError VolumeBinding::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const VolumeBindingArgs args, ParseVolumeBindingArgs(raw, handle.gates));
  return std::make_unique<VolumeBinding>(args, handle);
}

VolumeBinding::Failures::Failures(metrics::Registry* registry) {
  if (registry == nullptr) return;
  const auto counter = [&](const char* operation) {
    return &registry->Counter("scheduler_volume_scheduling_stage_error_total",
                              "[ALPHA] Volume scheduling stage error count", {{"operation", operation}});
  };
  predicate = counter("predicate");
  assume = counter("assume");
  bind = counter("bind");
}

VolumeBinding::VolumeBinding(const VolumeBindingArgs& args, framework::Handle& handle)
    : handle_(handle),
      index_(std::make_unique<StorageIndex>(handle)),
      failures_(handle.metrics),
      bind_timeout_(args.bind_timeout()),
      scores_(handle.gates.Enabled("StorageCapacityScoring")),
      uses_attributes_(handle.gates.Enabled("VolumeAttributesClass")),
      shape_(args.shape),
      key_(handle.NewKey<ClaimsPtr>()),
      affinity_conflict_(handle.reasons.Intern("node(s) didn't match PersistentVolume's node affinity")),
      no_volume_(handle.reasons.Intern("node(s) didn't find available persistent volumes to bind")),
      no_space_(handle.reasons.Intern("node(s) did not have enough free storage")),
      lost_(handle.reasons.Intern(
          "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")) {
  constexpr std::int64_t kScale = framework::kMaxScore / 10;
  for (ShapePoint& point : shape_) point.score *= kScale;
}

// --- PreFilter ---

std::string VolumeBinding::CheckClaim(const api::Pod& pod, const api::Volume& volume) const {
  const std::string name = *cluster::ClaimNameOf(pod, volume);
  const bool ephemeral = volume.source == api::Volume::Source::kEphemeral;
  const auto claim = handle_.objects.Of<api::PersistentVolumeClaim>().Find(pod.metadata.ns, name);
  if (claim == nullptr) {
    return ephemeral
               ? fmt::format(
                     "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"",
                     name)
               : fmt::format("persistentvolumeclaim \"{}\" not found", name);
  }
  if (claim->phase == "Lost") {
    return fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"", name,
                       claim->volume_name);
  }
  if (claim->metadata.deleting()) return fmt::format("persistentvolumeclaim \"{}\" is being deleted", name);
  return ephemeral && !cluster::IsOwnedByPod(pod, *claim) ? cluster::NotOwnedMessage(pod, *claim) : "";
}

Expected<VolumeBinding::BindingState> VolumeBinding::BindingStateOf(
    const api::PersistentVolumeClaim& claim) const {
  if (!claim.volume_name.empty() && claim.metadata.Annotation("pv.kubernetes.io/bind-completed") != nullptr)
    return BindingState::kBound;
  const std::string class_name = api::StorageClassOf(claim);
  if (class_name.empty()) return BindingState::kImmediate;
  const auto storage_class = handle_.objects.Of<api::StorageClass>().Find(class_name);
  if (storage_class == nullptr) return BindingState::kImmediate;
  const std::string& mode = storage_class->volume_binding_mode;
  if (mode.empty())
    return Invalid(fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", class_name));
  // A claim with a volume name is reserved for a volume that has not been bound yet; no other volume may be
  // selected.
  return mode == "WaitForFirstConsumer" && claim.volume_name.empty() ? BindingState::kDelayed
                                                                     : BindingState::kImmediate;
}

DelayedClaim VolumeBinding::MakeDelayedClaim(ClaimPtr claim) const {
  DelayedClaim delayed;
  delayed.class_name = api::StorageClassOf(*claim);
  if (const std::string* node = claim->metadata.Annotation("volume.kubernetes.io/selected-node")) {
    delayed.node_selected = true;
    delayed.selected_node = handle_.symbols.node_names.Find(*node);
  }
  delayed.claim = std::move(claim);
  return delayed;
}

framework::PreFilterResult VolumeBinding::PreFilter(const Attempt& attempt) const {
  const api::Pod& pod = *attempt.pod().pod;
  if (pod.spec.volumes.empty()) return {Status::Skip(), std::nullopt};
  std::vector<std::string> names;
  for (const api::Volume& volume : pod.spec.volumes) {
    auto name = cluster::ClaimNameOf(pod, volume);
    if (!name) continue;
    if (std::string wrong = CheckClaim(pod, volume); !wrong.empty())
      return {Status::Unresolvable(std::move(wrong)), std::nullopt};
    names.push_back(std::move(*name));
  }
  if (names.empty()) return {Status::Skip(), std::nullopt};

  auto claims = std::make_shared<PodClaims>();
  boost::unordered_flat_set<const api::PersistentVolumeClaim*> known;
  bool waits = false;
  for (const std::string& name : names) {
    ClaimPtr claim = handle_.objects.Of<api::PersistentVolumeClaim>().FindAssumed(pod.metadata.ns, name);
    const auto fate = BindingStateOf(*claim);
    if (!fate) return {Status::Error(fate.error().message), std::nullopt};
    waits |= *fate == BindingState::kImmediate;
    // Further entries of a bound claim reject no other nodes.
    if (*fate == BindingState::kBound && known.insert(claim.get()).second)
      claims->bound.push_back(std::move(claim));
    if (*fate == BindingState::kDelayed) claims->delayed.push_back(MakeDelayedClaim(std::move(claim)));
  }
  if (waits) return {Status::Unresolvable("pod has unbound immediate PersistentVolumeClaims"), std::nullopt};
  std::ranges::stable_sort(claims->delayed, [](const DelayedClaim& a, const DelayedClaim& b) {
    if (a.node_selected || b.node_selected) return a.node_selected && !b.node_selected;
    return a.claim->storage.value_or(api::Quantity{}).Compare(b.claim->storage.value_or(api::Quantity{})) < 0;
  });
  for (DelayedClaim& delayed : claims->delayed | std::views::reverse)
    delayed.listed_again = !known.insert(delayed.claim.get()).second;
  attempt.state().Write(key_, std::move(claims));
  return {};
}

}  // namespace berth::plugins
