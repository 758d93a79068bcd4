#include "scheduler/cluster/volumes_in_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "kubernetes/api/csi_migration.hpp"

namespace berth::cluster {
namespace {

using Source = api::Volume::Source;

// A handle that no volume can have: the volume has not been provisioned yet.
std::string FutureId(std::string_view driver, const api::PersistentVolumeClaim& claim) {
  return fmt::format("{}/\x01{}", driver, claim.metadata.Key());
}

}  // namespace

std::optional<std::string> ClaimNameOf(const api::Pod& pod, const api::Volume& volume) {
  if (volume.source == Source::kPersistentVolumeClaim) return volume.id;
  if (volume.source == Source::kEphemeral) return pod.metadata.name + "-" + volume.name;
  return std::nullopt;
}

bool ReferencesClaim(const api::Pod& pod, const api::PersistentVolumeClaim& claim) {
  return claim.metadata.ns == pod.metadata.ns &&
         std::ranges::any_of(pod.spec.volumes, [&](const api::Volume& volume) {
           return ClaimNameOf(pod, volume) == claim.metadata.name;
         });
}

bool IsOwnedByPod(const api::Pod& pod, const api::PersistentVolumeClaim& claim) {
  const auto& controller = claim.metadata.controller;
  return claim.metadata.ns == pod.metadata.ns && controller && controller->uid == pod.metadata.uid;
}

std::string NotOwnedMessage(const api::Pod& pod, const api::PersistentVolumeClaim& claim) {
  return fmt::format("PVC {} was not created for pod {} (pod is not owner)", claim.metadata.Key(),
                     pod.metadata.Key());
}

VolumesInUse::VolumesInUse(NodeTable& nodes, ClusterObjects& objects) : nodes_(nodes), objects_(objects) {
  nodes.ObserveWithOverlays(*this);
  objects.Of<api::PersistentVolumeClaim>().Listen(
      [this](const ports::Change<api::PersistentVolumeClaim>& change) {
        const auto& claim = change.after != nullptr ? *change.after : *change.before;
        if (const auto found = claims_.find(claim.metadata.Key()); found != claims_.end())
          Update(found->second);
      });
  objects.Of<api::PersistentVolume>().Listen([this](const ports::Change<api::PersistentVolume>& change) {
    PvChanged((change.after != nullptr ? *change.after : *change.before).metadata.name);
  });
  // Storage classes rarely change, so no index is needed.
  objects.Of<api::StorageClass>().Listen([this](const ports::Change<api::StorageClass>&) {
    for (auto& [key, claim] : claims_) Update(claim);
  });
  objects.Of<api::VolumeAttachment>().Listen(
      [this](const ports::Change<api::VolumeAttachment>& change) { AttachmentChanged(change); });
  objects.Of<api::CSINode>().Listen(
      [this](const ports::Change<api::CSINode>& change) { CsiNodeChanged(change); });
}

VolumesInUse::~VolumesInUse() { nodes_.Forget(*this); }

// --- resolving volumes ---

CsiVolume VolumesInUse::ResolveByClass(const api::PersistentVolumeClaim& claim) const {
  const auto storage_class = objects_.Of<api::StorageClass>().Find(api::StorageClassOf(claim));
  if (storage_class == nullptr) return {};
  const std::string& provisioner = storage_class->provisioner;
  if (const api::CsiMigration* migration = api::MigrationOfPlugin(provisioner)) {
    if (!migration->complete) return {};
    return {std::string(migration->driver), FutureId(migration->driver, claim), true};
  }
  if (provisioner.empty()) return {};
  return {provisioner, FutureId(provisioner, claim), false};
}

CsiVolume VolumesInUse::Resolve(const api::PersistentVolumeClaim& claim) const {
  if (claim.volume_name.empty()) return ResolveByClass(claim);
  const auto volume = objects_.Of<api::PersistentVolume>().Find(claim.volume_name);
  if (volume == nullptr) return ResolveByClass(claim);
  if (volume->source == api::PersistentVolume::Source::kCsi) {
    if (volume->driver.empty() || volume->volume_handle.empty()) return {};
    return {volume->driver, volume->driver + "/" + volume->volume_handle, false};
  }
  const api::CsiMigration* migration = api::MigrationOf(volume->source);
  if (migration == nullptr || !migration->complete) return {};
  const auto handle = api::CsiHandleOf(*volume);
  if (!handle || handle->empty()) return {};
  return {std::string(migration->driver), fmt::format("{}/{}", migration->driver, *handle), true};
}

LookedUp VolumesInUse::LookUp(const api::Pod& pod, const api::Volume& volume) const {
  const auto name = ClaimNameOf(pod, volume);
  if (!name) {
    const api::CsiMigration* migration = api::MigrationOf(volume.source);
    if (migration == nullptr || !migration->complete) return {};
    const auto handle = api::CsiHandleOf(volume);
    if (!handle) {
      return {
          {"", "", true},
          fmt::format("converting volume({}) from inline to csi: {}", volume.name, handle.error().message)};
    }
    return {{std::string(migration->driver), fmt::format("{}/{}", migration->driver, *handle), true}, ""};
  }
  if (name->empty()) return {{}, "PersistentVolumeClaim had no name"};
  const auto claim = objects_.Of<api::PersistentVolumeClaim>().Find(pod.metadata.ns, *name);
  if (claim == nullptr) {
    return {{},
            fmt::format("looking up PVC {}/{}: persistentvolumeclaim \"{}\" not found", pod.metadata.ns,
                        *name, *name),
            true};
  }
  if (volume.source == Source::kEphemeral && !IsOwnedByPod(pod, *claim))
    return {{}, NotOwnedMessage(pod, *claim)};
  return {Resolve(*claim), ""};
}

// --- queries ---

bool VolumesInUse::ClaimIsUsed(std::string_view ns, std::string_view claim) const {
  const auto found = claims_.find(fmt::format("{}/{}", ns, claim));
  return found != claims_.end() && found->second.direct_uses > 0;
}

const VolumesInUse::Driver* VolumesInUse::FindDriver(const std::string& name) const {
  const auto found = drivers_.find(name);
  return found == drivers_.end() ? nullptr : &found->second;
}

bool VolumesInUse::IsUsed(const std::string& volume_id, Row row) const {
  const auto found = volumes_.find(volume_id);
  return found != volumes_.end() && found->second.used.At(row) > 0;
}

const RowSet* VolumesInUse::MigratedFrom(std::string_view plugin) const {
  const auto found = migrated_from_.find(plugin);
  return found == migrated_from_.end() ? nullptr : &found->second;
}

std::string VolumesInUse::UncountableReason(Row row) const {
  for (const PlacedPod* placed : nodes_.pods(row)) {
    for (const api::Volume& volume : placed->pod->spec.volumes) {
      LookedUp found = LookUp(*placed->pod, volume);
      if (!found.error.empty() && !found.claim_missing) return std::move(found.error);
    }
  }
  return {};
}

// --- pods ---

void VolumesInUse::Count(Row row, const PlacedPod& pod, int amount) {
  for (const api::Volume& volume : pod.pod->spec.volumes) {
    if (ClaimNameOf(*pod.pod, volume)) {
      CountClaim(row, pod.pod, volume, amount);
      continue;
    }
    amount > 0 ? disks_.Add(row, volume) : disks_.Remove(row, volume);
    const LookedUp found = LookUp(*pod.pod, volume);
    if (!found.error.empty()) CountUncountable(row, amount);
    Use(found.volume, row, amount);
  }
}

void VolumesInUse::CountClaim(Row row, const api::PodPtr& pod, const api::Volume& volume, int amount) {
  const std::string name = *ClaimNameOf(*pod, volume);
  if (name.empty()) return CountUncountable(row, amount);
  const auto [entry, added] = claims_.try_emplace(pod->metadata.ns + "/" + name);
  Claim& claim = entry->second;
  if (added) {
    claim.ns = pod->metadata.ns;
    claim.name = name;
    Update(claim);
  }
  claim.uses.Add(row, amount);
  Use(claim.volume, row, amount);
  if (volume.source != Source::kEphemeral) {
    claim.direct_uses += amount;
  } else {
    if (amount > 0) {
      claim.ephemeral.emplace_back(row, pod);
    } else {
      const auto found = std::ranges::find_if(claim.ephemeral, [&](const auto& use) {
        return use.first == row && use.second->metadata.uid == pod->metadata.uid;
      });
      BERTH_CHECK(found != claim.ephemeral.end(), row, claim.name, pod->metadata.uid);
      claim.ephemeral.erase(found);
    }
    CheckOwners(claim);
  }
  if (!claim.uses.empty()) return;
  SetPv(claim, "");
  claims_.erase(entry);
}

void VolumesInUse::CountUncountable(Row row, int amount) {
  uncountable_uses_.Add(row, amount);
  BERTH_CHECK(uncountable_uses_.At(row) >= 0, row, amount, uncountable_uses_.At(row));
  if (uncountable_uses_.At(row) > 0) {
    uncountable_.Add(row);
  } else {
    uncountable_.Remove(row);
  }
}

void VolumesInUse::CheckOwners(Claim& claim) {
  const RowCounts before = std::exchange(claim.wrong, {});
  before.ForEach([&](Row row, RowCounts::Count count) { CountUncountable(row, -count); });
  const auto object = objects_.Of<api::PersistentVolumeClaim>().Find(claim.ns, claim.name);
  if (object == nullptr) return;
  for (const auto& [row, pod] : claim.ephemeral) {
    if (!IsOwnedByPod(*pod, *object)) claim.wrong.Add(row, 1);
  }
  claim.wrong.ForEach([&](Row row, RowCounts::Count count) { CountUncountable(row, count); });
}

// The claim or its volume may have changed.
void VolumesInUse::Update(Claim& claim) {
  const auto object = objects_.Of<api::PersistentVolumeClaim>().Find(claim.ns, claim.name);
  CsiVolume volume = object != nullptr ? Resolve(*object) : CsiVolume{};
  SetPv(claim, object != nullptr ? object->volume_name : "");
  if (volume.id != claim.volume.id) {
    CountUses(claim, -1);
    claim.volume = std::move(volume);
    CountUses(claim, 1);
  }
  if (!claim.ephemeral.empty()) CheckOwners(claim);
}

void VolumesInUse::CountUses(const Claim& claim, int sign) {
  claim.uses.ForEach([&](Row row, RowCounts::Count count) { Use(claim.volume, row, sign * count); });
}

void VolumesInUse::SetPv(Claim& claim, std::string pv) {
  if (pv == claim.pv) return;
  if (!claim.pv.empty()) {
    const auto known = claims_of_pv_.find(claim.pv);
    BERTH_CHECK(known != claims_of_pv_.end(), claim.name, claim.pv);
    std::erase(known->second, &claim);
    if (known->second.empty()) claims_of_pv_.erase(known);
  }
  claim.pv = std::move(pv);
  if (!claim.pv.empty()) claims_of_pv_[claim.pv].push_back(&claim);
}

void VolumesInUse::PvChanged(const std::string& name) {
  if (const auto found = claims_of_pv_.find(name); found != claims_of_pv_.end()) {
    for (Claim* claim : found->second) Update(*claim);
  }
  if (const auto found = attachments_of_pv_.find(name); found != attachments_of_pv_.end()) {
    for (Attachment* attachment : found->second) Update(*attachment);
  }
}

// --- attachments ---

void VolumesInUse::AttachmentChanged(const ports::Change<api::VolumeAttachment>& change) {
  if (change.before != nullptr) Forget(change.before->metadata.name);
  if (change.after == nullptr || change.after->attacher.empty() || !change.after->persistent_volume_name)
    return;
  const api::VolumeAttachment& object = *change.after;
  Attachment& attachment = attachments_[object.metadata.name];
  attachment = {object.node_name, *object.persistent_volume_name, object.attacher, {}};
  node_facts_[attachment.node].attachments.push_back(&attachment);
  attachments_of_pv_[attachment.pv].push_back(&attachment);
  Update(attachment);
}

void VolumesInUse::Forget(const std::string& name) {
  const auto entry = attachments_.find(name);
  if (entry == attachments_.end()) return;
  Attachment& attachment = entry->second;
  if (const Row row = RowOf(attachment.node); row != kNoRow) Attach(attachment.volume, row, -1);
  const auto leave = [&](auto& index, const std::string& key, auto&& list_of) {
    const auto known = index.find(key);
    std::erase(list_of(known->second), &attachment);
    return known;
  };
  const auto facts =
      leave(node_facts_, attachment.node, [](NodeFacts& of) -> auto& { return of.attachments; });
  if (facts->second.idle()) node_facts_.erase(facts);
  const auto pv = leave(attachments_of_pv_, attachment.pv, [](auto& list) -> auto& { return list; });
  if (pv->second.empty()) attachments_of_pv_.erase(pv);
  attachments_.erase(entry);
}

// The attached volume may have become known or have changed.
void VolumesInUse::Update(Attachment& attachment) {
  const auto pv = objects_.Of<api::PersistentVolume>().Find(attachment.pv);
  CsiVolume volume;
  if (pv != nullptr && pv->source == api::PersistentVolume::Source::kCsi)
    volume = {attachment.attacher, attachment.attacher + "/" + pv->volume_handle, false};
  if (volume.id == attachment.volume.id) return;
  const Row row = RowOf(attachment.node);
  if (row != kNoRow) Attach(attachment.volume, row, -1);
  attachment.volume = std::move(volume);
  if (row != kNoRow) Attach(attachment.volume, row, 1);
}

// --- counters ---

void VolumesInUse::Use(const CsiVolume& volume, Row row, int amount) {
  if (!volume.id.empty()) Count(volume, row, amount, &Volume::used, &Volume::attached);
}
void VolumesInUse::Attach(const CsiVolume& volume, Row row, int amount) {
  if (!volume.id.empty()) Count(volume, row, amount, &Volume::attached, &Volume::used);
}

// A volume counts once per row, regardless of the number of pods that use it and of its attachment.
void VolumesInUse::Count(const CsiVolume& volume, Row row, int amount, RowCounts Volume::* what,
                         RowCounts Volume::* other) {
  const auto [entry, added] = volumes_.try_emplace(volume.id, drivers_[volume.driver]);
  Volume& known = entry->second;
  Driver& driver = known.driver;
  if (added) ++driver.volumes;
  const bool before = (known.*what).At(row) > 0;
  (known.*what).Add(row, amount);
  const bool after = (known.*what).At(row) > 0;
  if (before != after && (known.*other).At(row) == 0) AddInUse(driver, row, after ? 1 : -1);
  if (!known.used.empty() || !known.attached.empty()) return;
  volumes_.erase(entry);
  --driver.volumes;
  FreeUnused(volume.driver);
}

std::int32_t VolumesInUse::Driver::LimitOf(Row row) const {
  if (!limit_column.empty()) return limit_column[row];
  const auto found = std::ranges::lower_bound(few_limits, row, {}, &std::pair<Row, std::int32_t>::first);
  return found == few_limits.end() || found->first != row ? kNoLimit : found->second;
}

std::int32_t VolumesInUse::Driver::InUseOn(Row row) const {
  return in_use_column.empty() ? in_use_counts.At(row) : in_use_column[row];
}

void VolumesInUse::AddInUse(Driver& driver, Row row, std::int32_t amount) {
  if (driver.in_use_column.empty()) {
    driver.in_use_counts.Add(row, amount);
  } else {
    driver.in_use_column[row] += amount;
  }
}

void VolumesInUse::SetLimit(Driver& driver, Row row, std::int32_t limit) {
  if (driver.LimitOf(row) != kNoLimit) --driver.limits;
  if (limit != kNoLimit) ++driver.limits;
  if (!driver.limit_column.empty()) {
    driver.limit_column[row] = limit;
    return;
  }
  std::vector<std::pair<Row, std::int32_t>>& list = driver.few_limits;
  const auto place = std::ranges::lower_bound(list, row, {}, &std::pair<Row, std::int32_t>::first);
  const bool known = place != list.end() && place->first == row;
  if (limit == kNoLimit) {
    if (known) list.erase(place);
  } else if (known) {
    place->second = limit;
  } else {
    list.emplace(place, row, limit);
    if (list.size() > MostFewLimits()) BuildColumns(driver);
  }
}

void VolumesInUse::BuildColumns(Driver& driver) {
  driver.in_use_column.assign(nodes_.rows(), 0);
  std::exchange(driver.in_use_counts, {}).ForEach([&](Row row, RowCounts::Count count) {
    driver.in_use_column[row] = count;
  });
  driver.limit_column.assign(nodes_.rows(), kNoLimit);
  for (const auto& [row, limit] : std::exchange(driver.few_limits, {})) driver.limit_column[row] = limit;
}

void VolumesInUse::DropColumns(Driver& driver) {
  const std::vector<std::int32_t> limits = std::exchange(driver.limit_column, {});
  const std::vector<std::int32_t> in_use = std::exchange(driver.in_use_column, {});
  for (Row row = 0; row < limits.size(); ++row) {
    if (limits[row] != kNoLimit) driver.few_limits.emplace_back(row, limits[row]);
    if (in_use[row] != 0) driver.in_use_counts.Add(row, in_use[row]);
  }
}

// Frees what the driver does not need any more.
void VolumesInUse::FreeUnused(const std::string& name) {
  const auto found = drivers_.find(name);
  if (found == drivers_.end()) return;
  Driver& driver = found->second;
  // Half as many as when they were built, so that this is rare.
  if (!driver.limit_column.empty() && driver.limits <= MostFewLimits() / 2) DropColumns(driver);
  if (driver.limits == 0 && driver.volumes == 0 && driver.installed.Empty()) drivers_.erase(found);
}

// --- nodes ---

void VolumesInUse::OnNodeAdded(Row row) {
  for (auto& [name, driver] : drivers_) {
    if (driver.limit_column.empty()) continue;
    driver.in_use_column.resize(nodes_.rows());
    driver.limit_column.resize(nodes_.rows(), kNoLimit);
  }
  const auto facts = node_facts_.find(nodes_.name(row));
  if (facts == node_facts_.end()) return;
  SetDrivers(row, nullptr, facts->second.csi_node.get());
  for (const Attachment* attachment : facts->second.attachments) Attach(attachment->volume, row, 1);
}

void VolumesInUse::OnNodeRemoved(Row row) {
  const auto facts = node_facts_.find(nodes_.name(row));
  if (facts == node_facts_.end()) return;
  SetDrivers(row, facts->second.csi_node.get(), nullptr);
  for (const Attachment* attachment : facts->second.attachments) Attach(attachment->volume, row, -1);
}

void VolumesInUse::CsiNodeChanged(const ports::Change<api::CSINode>& change) {
  const std::string& name = (change.after != nullptr ? *change.after : *change.before).metadata.name;
  const auto facts = node_facts_.try_emplace(name).first;
  if (const Row row = RowOf(name); row != kNoRow)
    SetDrivers(row, facts->second.csi_node.get(), change.after.get());
  facts->second.csi_node = change.after;
  if (facts->second.idle()) node_facts_.erase(facts);
}

// The annotation lists plugins by name, with commas in between.
void VolumesInUse::SetMigrated(Row row, const api::CSINode& node, bool there) {
  const std::string* list = node.metadata.Annotation("storage.alpha.kubernetes.io/migrated-plugins");
  if (list == nullptr) return;
  std::string_view rest = *list;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view plugin = rest.substr(0, comma);
    if (const auto* migration = api::MigrationOfPlugin(plugin); migration != nullptr && migration->complete) {
      RowSet& rows = migrated_from_[std::string(plugin)];
      there ? rows.Add(row) : rows.Remove(row);
    }
    if (comma == rest.npos) return;
    rest.remove_prefix(comma + 1);
  }
}

void VolumesInUse::SetDrivers(Row row, const api::CSINode* before, const api::CSINode* after) {
  if (before != nullptr) {
    SetMigrated(row, *before, false);
    for (const api::CSINode::Driver& driver : before->drivers) {
      Driver& known = drivers_[driver.name];
      known.installed.Remove(row);
      SetLimit(known, row, kNoLimit);
    }
  }
  with_csi_node_.Remove(row);
  with_limits_.Remove(row);
  if (after != nullptr) {
    with_csi_node_.Add(row);
    SetMigrated(row, *after, true);
    for (const api::CSINode::Driver& driver : after->drivers) {
      Driver& known = drivers_[driver.name];
      known.installed.Add(row);
      if (!driver.count) continue;
      SetLimit(known, row, *driver.count);
      with_limits_.Add(row);
    }
  }
  // At the end: most drivers stay on the node.
  if (before == nullptr) return;
  for (const api::CSINode::Driver& driver : before->drivers) FreeUnused(driver.name);
}

}  // namespace berth::cluster
