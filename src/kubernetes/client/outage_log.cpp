#include "kubernetes/client/outage_log.hpp"

#include <utility>

#include "base/go_duration.hpp"
#include "http/loop.hpp"
#include "observability/log/log.hpp"

namespace berth::client {

Api::CallId OutageLog::Send(ApiRequest request, std::move_only_function<void(Reply)> done) {
  return api_.Send(std::move(request), [this, done = std::move(done)](Reply reply) mutable {
    OnReply(reply);
    done(std::move(reply));
  });
}

Api::CallId OutageLog::Watch(ApiRequest request, WatchHandlers handlers,
                             std::move_only_function<void(Reply)> done) {
  handlers.on_open = [this, on_open = std::move(handlers.on_open)] {
    OnReached();
    if (on_open) on_open();
  };
  return api_.Watch(std::move(request), std::move(handlers),
                    [this, done = std::move(done)](Reply reply) mutable {
                      OnReply(reply);
                      done(std::move(reply));
                    });
}

void OutageLog::OnReply(const Reply& reply) {
  if (reply || reply.error().answered()) return OnReached();
  if (!reply.error().not_sent() || std::exchange(unreachable_, true)) return;
  since_ = loop_.Now();
  log::Warning("The API server is unreachable; retrying until it answers", {{"err", reply.error().message}});
}

void OutageLog::OnReached() {
  if (!std::exchange(unreachable_, false)) return;
  const Duration lasted = std::chrono::floor<std::chrono::milliseconds>(loop_.Now() - since_);
  log::Info("The API server is reachable again", {{"after", FormatGoDuration(lasted)}});
}

}  // namespace berth::client
