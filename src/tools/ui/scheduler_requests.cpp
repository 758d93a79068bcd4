#include "tools/ui/scheduler_requests.hpp"

#include <future>
#include <utility>

namespace berth::ui {

using scheduler_access::SchedulerConnection;

Expected<std::unique_ptr<SchedulerRequests>> SchedulerRequests::Start(
    scheduler_access::AccessOptions access, const scheduler_access::Surroundings& around) {
  std::unique_ptr<SchedulerRequests> requests(new SchedulerRequests(std::move(access), around));
  // Shared: the thread may still use the promise when its future is ready.
  const auto connected = std::make_shared<std::promise<Expected<>>>();
  auto first = connected->get_future();
  requests->thread_ = std::jthread([self = requests.get(), connected](const std::stop_token& stop) {
    self->Run(stop, [connected](Expected<> result) { connected->set_value(std::move(result)); });
  });
  BERTH_RETURN_IF_ERROR(first.get());
  return requests;
}

SchedulerRequests::~SchedulerRequests() = default;

void SchedulerRequests::Run(const std::stop_token& stop, const std::function<void(Expected<>)>& connected) {
  auto first = SchedulerConnection::Open(access_, around_);
  if (!first) return connected(std::unexpected(std::move(first).error()));
  where_ = first->where();
  connection_.emplace(std::move(*first));
  connected({});
  for (;;) {
    Request request;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
      // Also with requests that wait: nothing reads their replies any more.
      if (stop.stop_requested()) break;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    request.done(Send(request.path));
  }
  connection_.reset();
}

client::Reply SchedulerRequests::Send(const std::string& path) {
  if (!connection_) {
    auto again = SchedulerConnection::Open(access_, around_);
    if (!again)
      return std::unexpected(
          client::RequestError{.code = again.error().code, .message = again.error().message});
    connection_.emplace(std::move(*again));
  }
  client::Reply reply = connection_->Send(path);
  if (!reply && !reply.error().answered()) connection_.reset();
  return reply;
}

bool SchedulerRequests::Get(std::string path, std::move_only_function<void(client::Reply)> done) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back({std::move(path), std::move(done)});
  }
  changed_.notify_one();
  return true;
}

}  // namespace berth::ui
