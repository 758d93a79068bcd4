// An API server that agrees to everything, at once.
#pragma once

#include "framework/ports.hpp"

namespace berth::bench {

class NoWrites : public framework::ApiWriter {
 public:
  void Bind(framework::Binding, framework::WriteDone done) override { done({}); }
  void PatchPodStatus(framework::PodStatusPatch, framework::WriteDone done) override { done({}); }
  void DeletePod(framework::PodDeletion, framework::WriteDone done) override { done({}); }
  void ClaimVolume(framework::VolumeClaimed, framework::VersionDone done) override { done(""); }
  void SelectNode(framework::NodeSelected, framework::VersionDone done) override { done(""); }
};

}  // namespace berth::bench
