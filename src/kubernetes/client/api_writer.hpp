// Writes bindings, pod status and volume changes to the API server.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth {
class LeaseFence;
}
namespace berth::http {
class Loop;
}

namespace berth::client {

class Api;

struct ApiWriterOptions {
  // Objects written concurrently, of all namespaces and of one; others wait (FairQueue). An admission webhook
  // may make the writes of a namespace slow.
  std::size_t max_in_flight = 130;
  std::size_t max_of_namespace = 100;
  std::uint64_t seed = 1;  // for the jitter of delays
};

// Writes as kube-scheduler v1.37 does, with two differences: a binding fails only after the pod was read, if
// an attempt may have taken effect (lost response, status of 500 or more); and there is no client-side rate
// limit.
//
// Writes to one pod are sent one after the other in call order, so that a status patch cannot overtake the
// binding that follows it. A waiting status patch is dropped when another write to the same pod arrives,
// because it is out of date; it ends with kCancelled. A patch of a different condition is kept. A nomination
// or condition that the later patch does not contain is merged into it.
//
// Retries: four attempts in all, the first delay 10 ms, growing by a factor of five (jitter 0.1), after
// InternalError, ServiceUnavailable, or if nothing was sent; bindings after every status of 500 or more.
// Status patches and deletions are idempotent and are also retried after a lost response, status patches also
// after Conflict. A claim is created again only if nothing was sent, or after 429 with Retry-After.
//
// Resource claims are written in version v1 until SetClaimVersion is called.
//
// Thread-safe; `done` is called on the loop's thread, never from within a call. The destructor ends
// outstanding writes with kCancelled. Constructor arguments must outlive the writer.
class ApiWriter final : public ports::ApiWriter {
 public:
  // A write fails with kCancelled and "not the leader any more" if the fence is closed immediately before its
  // first byte is sent.
  ApiWriter(http::Loop& loop, Api& api, const Clock& clock, const LeaseFence& fence,
            ApiWriterOptions options = {});
  ~ApiWriter() override;
  ApiWriter(const ApiWriter&) = delete;
  ApiWriter& operator=(const ApiWriter&) = delete;

  void Bind(ports::Binding binding, ports::WriteDone done) override;
  void PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) override;
  void DeletePod(ports::PodDeletion deletion, ports::WriteDone done) override;
  void ClaimVolume(ports::VolumeClaimed write, ports::VersionDone done) override;
  void SelectNode(ports::NodeSelected write, ports::VersionDone done) override;
  void ChangeClaim(ports::ClaimChange change, ports::VersionDone done) override;
  void CreateClaim(ports::NewClaim claim, ports::ClaimDone done) override;
  void DeleteClaim(ports::ClaimDeletion deletion, ports::WriteDone done) override;
  void PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) override;
  // The version of resource.k8s.io that the API server has, one of resources.hpp. Affects later calls.
  void SetClaimVersion(std::string_view version);
  // The number of writes that wait for a free slot; on the loop's thread.
  std::size_t Backlog() const;
  // Calls `idle` once, on the loop's thread, as soon as no write is waiting or in flight. From any thread.
  void WhenIdle(std::move_only_function<void()> idle);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
