// Ports behind which nobody acts: for those who judge a cluster and must not change it.
#pragma once

#include <string>
#include <utility>

#include "kubernetes/ports/ports.hpp"

namespace berth::ports {

// Refuses every write at once, with the reason. Any thread.
class RejectingApiWriter final : public ApiWriter {
 public:
  explicit RejectingApiWriter(std::string why) : why_(std::move(why)) {}
  void Bind(Binding, WriteDone done) override { done(Refusal()); }
  void PatchPodStatus(PodStatusPatch, WriteDone done) override { done(Refusal()); }
  void DeletePod(PodDeletion, WriteDone done) override { done(Refusal()); }
  void ClaimVolume(VolumeClaimed, VersionDone done) override { done(Refusal()); }
  void SelectNode(NodeSelected, VersionDone done) override { done(Refusal()); }

 private:
  std::unexpected<Error> Refusal() const { return Fail(ErrorCode::kInternal, why_); }

  const std::string why_;
};

// Events that nobody should be told of. Any thread.
class DiscardingEventSink final : public EventSink {
 public:
  void Emit(Event) override {}
};

}  // namespace berth::ports
