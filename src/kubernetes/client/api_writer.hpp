// Bindings and pod status, written to the API server.
#pragma once

#include <cstdint>
#include <memory>

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
  std::size_t max_in_flight = 100;  // pods written to at one time; others wait in order
  std::uint64_t seed = 1;           // of the jitter in delays
  // Null: always. Else a write whose first byte the kernel would get while it is closed ends with kCancelled
  // and "not the leader any more".
  const LeaseFence* fence = nullptr;
};

// Writes as kube-scheduler v1.37 does, with two differences: an answer that was lost is settled by looking at
// the pod, and there is no client-side rate limit.
//
// Writes to one pod happen one after the other in the order of the calls, so that a status patch cannot
// overtake the binding that follows it. A status patch that still waits when another write to the same pod
// comes is dropped: what it had to say is out of date. It ends with kCancelled. A patch of another condition
// stays; a nomination or condition that the later patch does not mention is written with the later one.
//
// Tried again, four times in all, 10 ms apart and five times as much each time (jitter 0.1): InternalError,
// ServiceUnavailable, nothing sent; a status patch or a deletion also after a lost answer, which is harmless to it,
// and a status patch after Conflict.
//
// Calls are safe from any thread; `done` is called on the loop's thread, never from within a call. The
// destructor ends what is left with kCancelled. What is handed in outlives it.
class ApiWriter final : public ports::ApiWriter {
 public:
  ApiWriter(http::Loop& loop, Api& api, const Clock& clock, ApiWriterOptions options = {});
  ~ApiWriter() override;
  ApiWriter(const ApiWriter&) = delete;
  ApiWriter& operator=(const ApiWriter&) = delete;

  void Bind(ports::Binding binding, ports::WriteDone done) override;
  void PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) override;
  void DeletePod(ports::PodDeletion deletion, ports::WriteDone done) override;
  void ClaimVolume(ports::VolumeClaimed write, ports::VersionDone done) override;
  void SelectNode(ports::NodeSelected write, ports::VersionDone done) override;
  // Writes that wait for a free place; on the loop's thread.
  std::size_t Backlog() const;
  // Calls `idle` once, on the loop's thread, as soon as nothing waits or is under way. From any thread.
  void WhenIdle(std::move_only_function<void()> idle);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
