// An API server that accepts every request immediately.
#pragma once

#include "kubernetes/ports/ports.hpp"

namespace berth::bench {

class NoWrites : public ports::ApiWriter {
 public:
  void Bind(ports::Binding, ports::WriteDone done) override { done({}); }
  void PatchPodStatus(ports::PodStatusPatch, ports::WriteDone done) override { done({}); }
  void PatchPodGroupStatus(ports::PodGroupStatusPatch, ports::WriteDone done) override { done({}); }
  void DeletePod(ports::PodDeletion, ports::WriteDone done) override { done({}); }
  void ClaimVolume(ports::VolumeClaimed, ports::VersionDone done) override { done(""); }
  void SelectNode(ports::NodeSelected, ports::VersionDone done) override { done(""); }
  void ChangeClaim(ports::ClaimChange, ports::VersionDone done) override { done(""); }
  void CreateClaim(ports::NewClaim, ports::ClaimDone done) override { done(ports::CreatedClaim{}); }
  void DeleteClaim(ports::ClaimDeletion, ports::WriteDone done) override { done({}); }
};

}  // namespace berth::bench
