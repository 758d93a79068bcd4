// Evicts pods through the API server.
#pragma once

#include "tools/rebalance/executor.hpp"

namespace berth {
class LeaseFence;
}
namespace berth::client {
class Api;
}
namespace berth::http {
class Loop;
}

namespace berth::rebalance {

// POST pods/<name>/eviction with the pod's UID as precondition, while the fence is open. Thread-safe; `done`
// is called on the loop. The arguments must outlive it, and the API must be destroyed before it.
class ApiEvictor final : public Evictor {
 public:
  ApiEvictor(http::Loop& loop, client::Api& api, const LeaseFence& fence)
      : loop_(loop), api_(api), fence_(fence) {}
  void Evict(const api::PodPtr& pod, std::move_only_function<void(EvictionOutcome)> done) override;

 private:
  http::Loop& loop_;
  client::Api& api_;
  const LeaseFence& fence_;
};

}  // namespace berth::rebalance
