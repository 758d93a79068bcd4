// One log line when the API server becomes unreachable, and one when it is reached again.
#pragma once

#include "kubernetes/client/api.hpp"

namespace berth::http {
class Loop;
}

namespace berth::client {

// Passes requests on to another Api. A request that cannot be sent begins an outage, a response ends it;
// everything else that fails is left to the callers, who should not log errors that are not_sent() as
// warnings. Lives on the loop; the arguments must outlive it, and calls must have ended or been cancelled
// before it ends.
class OutageLog final : public Api {
 public:
  OutageLog(http::Loop& loop, Api& api) : loop_(loop), api_(api) {}

  CallId Send(ApiRequest request, std::move_only_function<void(Reply)> done) override;
  CallId Watch(ApiRequest request, WatchHandlers handlers,
               std::move_only_function<void(Reply)> done) override;
  void Cancel(CallId call) override { api_.Cancel(call); }

 private:
  void OnReply(const Reply& reply);
  void OnReached();

  http::Loop& loop_;
  Api& api_;
  bool unreachable_ = false;
  MonoTime since_{};
};

}  // namespace berth::client
