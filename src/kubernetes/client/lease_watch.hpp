// Watches one Lease.
#pragma once

#include <functional>
#include <string>

#include "http/loop.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/lease_record.hpp"

namespace berth {
class Random;
}

namespace berth::client {

struct LeaseWatchHandlers {
  std::function<void(Lease)> on_lease;  // the current object or a recent version of it
  std::function<void()> on_gone;        // it was deleted
};

// Reopened whenever it ends, after one to two seconds. Given up when it is rejected (403, 404, 405): roles
// that allow getting and updating a lease need not allow watching it. On the loop; handlers may call Stop.
class LeaseWatch {
 public:
  LeaseWatch(http::Loop& loop, Api& api, Random& random, std::string collection, std::string name,
             LeaseWatchHandlers handlers);

  void Start();
  void Stop();

 private:
  void Open();
  bool OnLine(std::string_view line);
  void OnEnd(Reply reply);

  http::Loop& loop_;
  Api& api_;
  Random& random_;
  const std::string path_, name_;
  const LeaseWatchHandlers handlers_;
  Api::CallId call_ = 0;
  http::Loop::TimerId timer_ = http::Loop::TimerId::kNone;
};

}  // namespace berth::client
