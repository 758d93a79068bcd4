// Requests to the running scheduler, one after the other, on a thread of their own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "kubernetes/client/api.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"

namespace berth::ui {

// Where the local server gets its responses from. Any thread.
class Requests {
 public:
  virtual ~Requests() = default;
  // Sends a GET request. `done` is called once, on any thread; it is dropped if the object is destroyed
  // before. Returns false, without a call, if too many requests wait.
  virtual bool Get(std::string path, std::move_only_function<void(client::Reply)> done) = 0;
};

// Connects again before a request if the connection was lost before: the leader may have changed, and
// kubectl's forwarded port ends with its pod.
class SchedulerRequests final : public Requests {
 public:
  static constexpr std::size_t kMostWaiting = 16;

  // Returns when the first connection is open. `around` must outlive the object.
  static Expected<std::unique_ptr<SchedulerRequests>> Start(scheduler_access::AccessOptions access,
                                                            const scheduler_access::Surroundings& around);
  // Waits for the request that is being sent.
  ~SchedulerRequests() override;
  SchedulerRequests(const SchedulerRequests&) = delete;
  SchedulerRequests& operator=(const SchedulerRequests&) = delete;

  bool Get(std::string path, std::move_only_function<void(client::Reply)> done) override;

  // The scheduler of the first connection.
  const std::string& where() const { return where_; }

 private:
  struct Request {
    std::string path;
    std::move_only_function<void(client::Reply)> done;
  };

  SchedulerRequests(scheduler_access::AccessOptions access, const scheduler_access::Surroundings& around)
      : access_(std::move(access)), around_(around) {}
  void Run(const std::stop_token& stop, const std::function<void(Expected<>)>& connected);
  client::Reply Send(const std::string& path);

  const scheduler_access::AccessOptions access_;
  const scheduler_access::Surroundings around_;
  std::string where_;
  // Only on the thread: kubectl ends with the thread that has started it.
  std::optional<scheduler_access::SchedulerConnection> connection_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Request> waiting_;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace berth::ui
