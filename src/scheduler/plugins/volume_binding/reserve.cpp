// Reserve, Unreserve and PreBind of VolumeBinding: assumes objects and binds volumes.
#include <fmt/format.h>

#include <boost/unordered/unordered_flat_map.hpp>

#include "scheduler/plugins/volume_binding/binding_run.hpp"
#include "scheduler/plugins/volume_binding/volume_binding.hpp"

namespace berth::plugins {
namespace {

using framework::Placement;
using framework::Status;

bool IsBoundTo(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const auto& ref = volume.claim_ref;
  return ref && ref->name == claim.metadata.name && ref->ns == claim.metadata.ns &&
         (ref->uid.empty() || ref->uid == claim.metadata.uid);
}

template <class T>
std::shared_ptr<T> WithAnnotation(const T& object, std::string key, std::string value) {
  auto copy = std::make_shared<T>(object);
  if (!copy->metadata.annotations) copy->metadata.annotations.emplace();
  copy->metadata.annotations->Set(std::move(key), std::move(value));
  return copy;
}

BindingPlan::Binding Bind(const VolumePtr& volume, const ClaimPtr& claim) {
  constexpr const char* kByController = "pv.kubernetes.io/bound-by-controller";
  const bool annotate = !IsBoundTo(*volume, *claim) && volume->metadata.Annotation(kByController) == nullptr;
  const api::PersistentVolume::ClaimRef ref{claim->metadata.ns, claim->metadata.name, claim->metadata.uid};
  if (!annotate && volume->claim_ref && *volume->claim_ref == ref) return {volume, claim, false};
  auto bound = annotate ? WithAnnotation(*volume, kByController, "yes")
                        : std::make_shared<api::PersistentVolume>(*volume);
  bound->claim_ref = ref;
  return {std::move(bound), claim, true};
}

template <class T>
Status AssumeIn(cluster::ObjectTable<T>& table, const std::shared_ptr<const T>& object) {
  if (table.Assume(object)) return {};
  const api::ObjectMeta& meta = object->metadata;
  const auto stored = table.Find(meta.ns, meta.name);
  return Status::Error(stored == nullptr
                           ? fmt::format("{} \"{}\" not found", T::kKind, meta.Key())
                           : fmt::format("\"{}\" is out of sync (stored: {}, assume: {})", meta.Key(),
                                         stored->metadata.resource_version, meta.resource_version));
}

}  // namespace

Status VolumeBinding::Reserve(const Placement& placement) {
  const ClaimsPtr* known = placement.state.Read(key_);
  if (known == nullptr) return {};
  PodClaims& claims = **known;
  claims.all_bound = !claims.filtered || claims.delayed.empty();
  if (claims.all_bound) return {};
  claims.plan = {};  // of an earlier reservation: the cycle of a group reserves its members tentatively
  const cluster::Row row = handle_.nodes.Find(placement.node);
  Status status = Assume(claims, row, placement.node);
  if (!status.ok()) {
    Failures::Count(failures_.assume);
    Revert(std::exchange(claims.plan, {}));
  }
  return status;
}

Status VolumeBinding::Assume(PodClaims& claims, cluster::Row row, const std::string& node) {
  for (const DelayedClaim& wanted : claims.delayed) {
    if (!wanted.matched.Has(row)) continue;
    BindingPlan::Binding binding = Bind(wanted.volumes[row]->object, wanted.claim);
    if (binding.changed) {
      if (Status status = AssumeIn(handle_.objects.Of<api::PersistentVolume>(), binding.volume); !status.ok())
        return status;
    }
    claims.plan.bindings.push_back(std::move(binding));
  }
  // A pod may list one claim thousands of times, and annotations may be long.
  boost::unordered_flat_map<const api::PersistentVolumeClaim*, ClaimPtr> annotated;
  for (const DelayedClaim& wanted : claims.delayed) {
    if (wanted.matched.Has(row)) continue;
    ClaimPtr& claim = annotated[wanted.claim.get()];
    if (claim == nullptr) claim = WithAnnotation(*wanted.claim, "volume.kubernetes.io/selected-node", node);
    if (Status status = AssumeIn(handle_.objects.Of<api::PersistentVolumeClaim>(), claim); !status.ok())
      return status;
    claims.plan.provisions.push_back(claim);
  }
  return {};
}

void VolumeBinding::Unreserve(const Placement& placement) {
  const ClaimsPtr* known = placement.state.Read(key_);
  if (known != nullptr) Revert((*known)->plan);
}

void VolumeBinding::Revert(const BindingPlan& plan) {
  for (const BindingPlan::Binding& binding : plan.bindings) DropAssumption(handle_.objects, *binding.volume);
  for (const ClaimPtr& claim : plan.provisions) DropAssumption(handle_.objects, *claim);
}

VolumeBinding::PreFlight VolumeBinding::PreBindPreFlight(const Placement& placement) {
  const ClaimsPtr* known = placement.state.Read(key_);
  const bool nothing = known == nullptr || (*known)->all_bound;
  return {nothing ? Status::Skip() : Status{}, true};
}

// bindTimeoutSeconds has its own error text; the time beyond it is for the last write.
Duration VolumeBinding::LongestPreBind() const {
  return std::max(PreBindPlugin::LongestPreBind(), bind_timeout_ + std::chrono::minutes(1));
}

void VolumeBinding::PreBind(const Placement& placement, std::stop_token stop,
                            framework::StatusCallback answer) {
  const ClaimsPtr* known = placement.state.Read(key_);
  if (known == nullptr || (*known)->all_bound) return answer({});
  auto counted = [failed = failures_.bind, answer = std::move(answer)](Status status) mutable {
    if (!status.ok()) Failures::Count(failed);
    answer(std::move(status));
  };
  BindingRun::Start(handle_, placement, *known, bind_timeout_, std::move(stop), std::move(counted));
}

}  // namespace berth::plugins
