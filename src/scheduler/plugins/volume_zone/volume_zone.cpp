#include "scheduler/plugins/volume_zone/volume_zone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scheduler/cluster/volumes_in_use.hpp"

namespace berth::plugins {
namespace {

using framework::Attempt;
using framework::Status;

// In the order in which a volume's labels are evaluated; a node may have the current name instead of the
// deprecated one.
constexpr std::array<std::string_view, 4> kLabels = {
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region"};
constexpr std::size_t kFirstPresent = 2;

// "a__b" contains two names. nullopt if a name is empty: the label is then ignored.
std::optional<std::set<std::string>> Names(std::string_view label) {
  std::set<std::string> names;
  while (true) {
    const std::size_t end = label.find("__");
    std::string_view name = label.substr(0, end);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.empty()) return std::nullopt;
    names.emplace(name);
    if (end == label.npos) return names;
    label.remove_prefix(end + 2);
  }
}

using LabelledPlaces = std::vector<std::pair<std::size_t, std::set<std::string>>>;
LabelledPlaces PlacesOf(const api::PersistentVolume& volume) {
  LabelledPlaces places;
  for (std::size_t kind = 0; kind < kLabels.size(); ++kind) {
    const std::string* label = volume.metadata.labels.Find(kLabels[kind]);
    if (label == nullptr) continue;
    if (auto names = Names(*label)) places.emplace_back(kind, std::move(*names));
  }
  return places;
}

}  // namespace

VolumeZone::VolumeZone(framework::Handle& handle)
    : objects_(handle.objects),
      keys_{handle.symbols.InternKey(kLabels[0]), handle.symbols.InternKey(kLabels[1]),
            handle.symbols.InternKey(kLabels[2]), handle.symbols.InternKey(kLabels[3])},
      key_(handle.NewKey<std::vector<Place>>()),
      reason_(handle.reasons.Intern("node(s) had no available volume zone")) {}

framework::PreFilterResult VolumeZone::PreFilter(const Attempt& attempt) const {
  const api::Pod& pod = *attempt.pod().pod;
  std::vector<Place> places;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (!cluster::IsClaim(volume)) continue;
    if (Status status = CollectPlaces(pod, volume.id, places); !status.ok())
      return {std::move(status), std::nullopt};
  }
  if (places.empty()) return {Status::Skip(), std::nullopt};
  attempt.state().Write(key_, std::move(places));
  return {};
}

Status VolumeZone::CollectPlaces(const api::Pod& pod, const std::string& name,
                                 std::vector<Place>& places) const {
  if (name.empty()) return Status::Unresolvable("PersistentVolumeClaim had no name");
  const auto claim = objects_.Of<api::PersistentVolumeClaim>().Find(pod.metadata.ns, name);
  if (claim == nullptr)
    return Status::Unresolvable(fmt::format("persistentvolumeclaim \"{}\" not found", name));
  if (claim->volume_name.empty()) {
    const std::string class_name = api::StorageClassOf(*claim);
    if (class_name.empty()) {
      return Status::Unresolvable("PersistentVolumeClaim had no pv name and storageClass name");
    }
    const auto storage_class = objects_.Of<api::StorageClass>().Find(class_name);
    if (storage_class == nullptr)
      return Status::Unresolvable(fmt::format("storageclass.storage.k8s.io \"{}\" not found", class_name));
    const std::string& mode = storage_class->volume_binding_mode;
    if (mode.empty())
      return Status::Unresolvable(
          fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", class_name));
    return mode == "WaitForFirstConsumer" ? Status{} : Status::Unresolvable("PersistentVolume had no name");
  }
  const auto volume = objects_.Of<api::PersistentVolume>().Find(claim->volume_name);
  if (volume == nullptr)
    return Status::Unresolvable(fmt::format("persistentvolume \"{}\" not found", claim->volume_name));
  for (auto& [kind, names] : PlacesOf(*volume)) places.push_back({kind, {names.begin(), names.end()}});
  return {};
}

void VolumeZone::AddMatching(const Place& place, const Attempt& attempt, RowSet& rows) const {
  const cluster::NodeTable& nodes = attempt.nodes();
  const auto add = [&](std::size_t kind, RowSet& out) {
    for (const std::string& value : place.values) {
      if (const RowGroup* group = nodes.WithLabel(nodes.symbols().FindLabel(keys_[kind], value)))
        group->AddTo(out);
    }
  };
  if (place.kind < kFirstPresent) {
    add(place.kind + kFirstPresent, rows);
    if (const RowSet* old = nodes.WithKey(keys_[place.kind])) rows -= *old;
  }
  add(place.kind, rows);
}

void VolumeZone::Filter(const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) const {
  const std::vector<Place>* places = attempt.state().Read(key_);
  if (places == nullptr) return;
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  for (const Place& place : *places) {
    auto matching = attempt.Scratch();
    AddMatching(place, attempt, *matching);
    auto outside = attempt.Scratch();
    *outside |= candidates;
    *outside -= *matching;
    rejected |= *outside;
  }
  // A node without any of these labels accepts every volume, as in a cluster with one zone.
  auto labelled = attempt.Scratch();
  for (const cluster::LabelKeyId key : keys_) {
    if (const RowSet* rows = attempt.nodes().WithKey(key)) *labelled |= *rows;
  }
  rejected &= *labelled;
  out.unresolvable() |= rejected;
}

std::vector<framework::EventRegistration> VolumeZone::EventsToRegister() const {
  using namespace framework;
  using api::PersistentVolume;
  using api::PersistentVolumeClaim;
  return {When<api::StorageClass>(
              EventResource::kStorageClass, kAdd,
              [](const cluster::PodInfo&, const api::StorageClass*, const api::StorageClass* added) {
                return framework::QueueIf(added->volume_binding_mode == "WaitForFirstConsumer");
              }),
          {EventResource::kNode, kAdd | kUpdateNodeLabel},
          When<PersistentVolumeClaim>(
              EventResource::kPersistentVolumeClaim, kAdd | kUpdate,
              [](const cluster::PodInfo& waiting, const PersistentVolumeClaim*,
                 const PersistentVolumeClaim* claim) {
                return framework::QueueIf(
                    claim->metadata.ns == waiting.pod->metadata.ns &&
                    std::ranges::any_of(waiting.pod->spec.volumes, [&](const api::Volume& volume) {
                      return cluster::IsClaim(volume) && volume.id == claim->metadata.name;
                    }));
              }),
          When<PersistentVolume>(
              EventResource::kPersistentVolume, kAdd | kUpdate,
              [](const cluster::PodInfo&, const PersistentVolume* before, const PersistentVolume* after) {
                return framework::QueueIf(before == nullptr || PlacesOf(*before) != PlacesOf(*after));
              })};
}

}  // namespace berth::plugins
