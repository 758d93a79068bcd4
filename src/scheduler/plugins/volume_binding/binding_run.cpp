#include "scheduler/plugins/volume_binding/binding_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/csi_migration.hpp"
#include "kubernetes/api/resource_version.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/plugins/node_affinity/matching_rows.hpp"

namespace berth::plugins {
namespace {

using framework::Status;

constexpr Duration kBetweenChecks = std::chrono::seconds(1);

template <class T>
void TakeBackFrom(cluster::ObjectTable<T>& table, const api::ObjectMeta& meta) {
  const auto latest = table.FindAssumed(meta.ns, meta.name);
  if (latest != nullptr && latest->metadata.resource_version == meta.resource_version)
    table.Restore(meta.ns, meta.name);
}

bool IsBound(const api::PersistentVolumeClaim& claim) {
  return !claim.volume_name.empty() &&
         claim.metadata.Annotation("pv.kubernetes.io/bind-completed") != nullptr;
}

// The mismatch between the node's labels and the affinity, with kube-scheduler's text; empty: they match.
std::string Mismatch(const api::CowPtr<api::NodeSelector>& affinity, const api::Node& node,
                     cluster::SymbolTable& words) {
  if (!affinity) return {};
  cluster::SymbolScope scope(words);
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < affinity->terms.size(); ++i) {
    cluster::CompiledTerm term =
        cluster::CompileTerm(affinity->terms[i], fmt::format("[{}]", i), &errors, scope);
    term.fields.clear();
    if (Matches(term, node, words)) return {};
  }
  return errors.empty() ? "no matching NodeSelectorTerms" : api::JoinErrors(errors);
}

bool IsMigratedOn(const api::PersistentVolume& volume, framework::Handle& handle, const std::string& node) {
  const api::CsiMigration* migration = api::MigrationOf(volume.source);
  if (migration == nullptr) return false;
  const RowSet* rows = handle.volumes.MigratedFrom(migration->plugin);
  const cluster::Row row = handle.nodes.Find(node);
  return rows != nullptr && row != cluster::kNoRow && rows->Has(row);
}

}  // namespace

void DropAssumption(cluster::ClusterObjects& objects, const api::PersistentVolume& volume) {
  TakeBackFrom(objects.Of<api::PersistentVolume>(), volume.metadata);
}
void DropAssumption(cluster::ClusterObjects& objects, const api::PersistentVolumeClaim& claim) {
  TakeBackFrom(objects.Of<api::PersistentVolumeClaim>(), claim.metadata);
}

BindingRun::BindingRun(framework::Handle& handle, const framework::Placement& placement,
                       std::shared_ptr<PodClaims> claims, Duration timeout, std::stop_token stop,
                       framework::StatusCallback answer)
    : handle_(handle),
      placement_(placement),
      claims_(std::move(claims)),
      timeout_(timeout),
      stop_(std::move(stop)),
      answer_(std::move(answer)) {}

void BindingRun::Start(framework::Handle& handle, const framework::Placement& placement,
                       std::shared_ptr<PodClaims> claims, Duration timeout, std::stop_token stop,
                       framework::StatusCallback answer) {
  std::make_shared<BindingRun>(handle, placement, std::move(claims), timeout, std::move(stop),
                               std::move(answer))
      ->WriteNext();
}

void BindingRun::Finish(Status status) {
  on_stop_.reset();
  std::exchange(answer_, nullptr)(std::move(status));
}

// --- writing ---

void BindingRun::WriteNext() {
  const BindingPlan& plan = claims_->plan;
  const std::size_t next = versions_.size();
  const auto done = [self = shared_from_this(), post = handle_.loop.poster()](Expected<std::string> version) {
    post([self, version = std::move(version)]() mutable { self->Written(std::move(version)); });
  };
  if (next < plan.bindings.size()) {
    const auto& [volume, claim, changed] = plan.bindings[next];
    ports::VolumeClaimed write{volume->metadata.name, volume->metadata.resource_version, std::nullopt, false};
    if (changed) {
      write.claim = ports::VolumeClaimed::Claim{claim->metadata.ns, claim->metadata.name, claim->metadata.uid,
                                                claim->metadata.resource_version};
      write.bound_by_controller =
          volume->metadata.Annotation("pv.kubernetes.io/bound-by-controller") != nullptr;
    }
    return handle_.api.ClaimVolume(std::move(write), done);
  }
  if (next - plan.bindings.size() < plan.provisions.size()) {
    const api::ObjectMeta& meta = plan.provisions[next - plan.bindings.size()]->metadata;
    return handle_.api.SelectNode({meta.ns, meta.name, meta.resource_version, placement_.node}, done);
  }
  // The stop request arrives on this thread, possibly during another operation.
  on_stop_.emplace(stop_, [weak = weak_from_this(), post = handle_.loop.poster()] {
    post([weak] {
      if (const auto self = weak.lock()) self->StopWaiting();
    });
  });
  Wait(Duration{});
}

void BindingRun::StopWaiting() {
  if (answer_) Finish(Status::Error("binding volumes: context canceled"));
}

void BindingRun::Written(Expected<std::string> version) {
  BindingPlan& plan = claims_->plan;
  if (version && !stop_.stop_requested()) {
    versions_.push_back(*std::move(version));
    // The assumed object is based on an outdated version; it is dropped when the new version is received.
    if (versions_.size() <= plan.bindings.size()) {
      auto written = std::make_shared<api::PersistentVolume>(*plan.bindings[versions_.size() - 1].volume);
      written->metadata.resource_version = versions_.back();
      plan.bindings[versions_.size() - 1].volume = std::move(written);
    }
    return WriteNext();
  }
  for (std::size_t i = versions_.size(); i < plan.bindings.size(); ++i)
    DropAssumption(handle_.objects, *plan.bindings[i].volume);
  for (std::size_t i = std::max(versions_.size(), plan.bindings.size()) - plan.bindings.size();
       i < plan.provisions.size(); ++i) {
    DropAssumption(handle_.objects, *plan.provisions[i]);
  }
  Finish(Status::Error(version ? "context canceled" : version.error().message));
}

// --- waiting ---

void BindingRun::Wait(Duration passed) {
  const Duration step = std::min(kBetweenChecks, timeout_ - passed);
  const auto look = [self = shared_from_this(), passed = passed + step] {
    if (!self->answer_) return;  // stopped in the meantime
    if (passed >= self->timeout_)
      return self->Finish(Status::Error("binding volumes: context deadline exceeded"));
    const Expected<bool> bound = self->Check();
    if (!bound) return self->Finish(Status::Error("binding volumes: " + bound.error().message));
    *bound ? self->Finish({}) : self->Wait(passed);
  };
  handle_.loop.PostAfter(step, look);
}

Expected<bool> BindingRun::Check() const {
  const cluster::Row row = handle_.nodes.Find(placement_.node);
  if (row == cluster::kNoRow)
    return Invalid(fmt::format("failed to get node \"{0}\": node \"{0}\" not found", placement_.node));
  const api::Pod& pod = *placement_.pod.pod;
  if (handle_.scheduler.FindPod(pod.metadata) == nullptr) {
    return Invalid(fmt::format("pod does not exist any more: pod \"{}\" not found", pod.metadata.name));
  }
  const api::Node& node = handle_.nodes.node(row);
  const BindingPlan& plan = claims_->plan;
  for (std::size_t i = 0; i < plan.bindings.size(); ++i) {
    BERTH_TRY(const bool bound, CheckBinding(plan.bindings[i], versions_[i], node));
    if (!bound) return false;
  }
  for (std::size_t i = 0; i < plan.provisions.size(); ++i) {
    BERTH_TRY(const bool bound,
              CheckProvision(*plan.provisions[i], versions_[plan.bindings.size() + i], node));
    if (!bound) return false;
  }
  return true;
}

Expected<bool> BindingRun::CheckBinding(const BindingPlan::Binding& binding, const std::string& written,
                                        const api::Node& node) const {
  const api::ObjectMeta& volume_meta = binding.volume->metadata;
  const api::ObjectMeta& claim_meta = binding.claim->metadata;
  const auto volume = handle_.objects.Of<api::PersistentVolume>().Find(volume_meta.name);
  if (volume == nullptr)
    return Invalid(
        fmt::format("failed to check binding: persistentvolumes \"{}\" not found", volume_meta.name));
  const auto claim = handle_.objects.Of<api::PersistentVolumeClaim>().Find(claim_meta.ns, claim_meta.name);
  if (claim == nullptr)
    return Invalid(
        fmt::format("failed to check binding: persistentvolumeclaims \"{}\" not found", claim_meta.Key()));
  // The update by this scheduler has not been received yet.
  if (api::VersionNumber(written) > api::VersionNumber(volume->metadata.resource_version)) return false;
  BERTH_RETURN_IF_ERROR(CheckPlace(*volume, node, "failed to translate pv to csi: "));
  if (!volume->claim_ref || volume->claim_ref->uid.empty())
    return Invalid(fmt::format("ClaimRef got reset for pv \"{}\"", volume_meta.name));
  return IsBound(*claim);
}

Expected<bool> BindingRun::CheckProvision(const api::PersistentVolumeClaim& wanted,
                                          const std::string& written, const api::Node& node) const {
  const api::ObjectMeta& meta = wanted.metadata;
  const auto claim = handle_.objects.Of<api::PersistentVolumeClaim>().Find(meta.ns, meta.name);
  if (claim == nullptr) {
    return Invalid(
        fmt::format("failed to check provisioning pvc: persistentvolumeclaims \"{}\" not found", meta.Key()));
  }
  if (api::VersionNumber(written) > api::VersionNumber(claim->metadata.resource_version)) return false;
  // A provisioner that fails removes the annotation.
  const std::string* selected = claim->metadata.Annotation("volume.kubernetes.io/selected-node");
  if (selected == nullptr || *selected != placement_.node)
    return Invalid(fmt::format("provisioning failed for PVC \"{}\"", meta.name));
  if (!claim->volume_name.empty()) {
    const auto volume = handle_.objects.Of<api::PersistentVolume>().Find(claim->volume_name);
    if (volume == nullptr) return false;
    BERTH_RETURN_IF_ERROR(CheckPlace(*volume, node, ""));
  }
  return IsBound(*claim);
}

Expected<void> BindingRun::CheckPlace(const api::PersistentVolume& volume, const api::Node& node,
                                      std::string_view context) const {
  std::string mismatch;
  if (!IsMigratedOn(volume, handle_, node.metadata.name)) {
    mismatch = Mismatch(volume.node_affinity, node, handle_.symbols);
  } else if (auto handle = api::CsiHandleOf(volume); !handle) {
    return Invalid(fmt::format("{}could not translate pv: {}", context, handle.error().message));
  } else {
    mismatch = Mismatch(api::CsiAffinityOf(volume), node, handle_.symbols);
  }
  if (mismatch.empty()) return {};
  return Invalid(fmt::format("pv \"{}\" node affinity doesn't match node \"{}\": {}", volume.metadata.name,
                             node.metadata.name, mismatch));
}

}  // namespace berth::plugins
