// The writer of those who write nothing.
#pragma once

#include <utility>

#include "framework/ports.hpp"

namespace berth::shadow {

// Nobody asks for a write while a shadow decides; if a plugin does all the same, it is refused.
class NoWrites final : public framework::ApiWriter {
 public:
  void Bind(framework::Binding, framework::WriteDone done) override { done(Refusal()); }
  void PatchPodStatus(framework::PodStatusPatch, framework::WriteDone done) override { done(Refusal()); }
  void DeletePod(framework::PodDeletion, framework::WriteDone done) override { done(Refusal()); }
  void ClaimVolume(framework::VolumeClaimed, framework::VersionDone done) override { done(Refusal()); }
  void SelectNode(framework::NodeSelected, framework::VersionDone done) override { done(Refusal()); }

 private:
  static std::unexpected<Error> Refusal() {
    return Fail(ErrorCode::kInternal, "a shadow writes nothing to the cluster");
  }
};

class NoEvents final : public framework::EventSink {
 public:
  void Emit(framework::Event) override {}
};

}  // namespace berth::shadow
