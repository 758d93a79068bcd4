// Implementations of the output ports without side effects, for programs that evaluate a cluster and must not
// change it.
#pragma once

#include <string>
#include <utility>

#include "kubernetes/ports/ports.hpp"

namespace berth::ports {

// Rejects every write immediately with the error text `why`. Thread-safe.
class RejectingApiWriter final : public ApiWriter {
 public:
  explicit RejectingApiWriter(std::string why) : why_(std::move(why)) {}
  void Bind(Binding, WriteDone done) override { done(Refusal()); }
  void PatchPodStatus(PodStatusPatch, WriteDone done) override { done(Refusal()); }
  void PatchPodGroupStatus(PodGroupStatusPatch, WriteDone done) override { done(Refusal()); }
  void DeletePod(PodDeletion, WriteDone done) override { done(Refusal()); }
  void ClaimVolume(VolumeClaimed, VersionDone done) override { done(Refusal()); }
  void SelectNode(NodeSelected, VersionDone done) override { done(Refusal()); }
  void ChangeClaim(ClaimChange, VersionDone done) override { done(Refusal()); }
  void CreateClaim(NewClaim, ClaimDone done) override { done(Refusal()); }
  void DeleteClaim(ClaimDeletion, WriteDone done) override { done(Refusal()); }

 private:
  std::unexpected<Error> Refusal() const { return Fail(ErrorCode::kInternal, why_); }

  const std::string why_;
};

// Discards all events. Thread-safe.
class DiscardingEventSink final : public EventSink {
 public:
  void Emit(Event) override {}
};

}  // namespace berth::ports
