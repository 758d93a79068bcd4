// A transport without sockets, for tests.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/extenders/transport.hpp"

namespace berth::extenders {

// State shared by all fake extenders of a test.
struct FakeExtenders {
  // Responses by URL. Without an entry no response arrives.
  std::map<std::string, Expected<Reply>> answers;
  std::function<void(const TransportRequest&)> on_ask;  // may be empty
  std::vector<TransportRequest> requests;
  std::vector<Transport::Done> unanswered;
  std::size_t cancelled = 0;

  void Answer(const std::string& url, std::string body, int status = 200) {
    answers.insert_or_assign(url, Reply{status, std::move(body)});
  }
  std::vector<std::string> Urls() const {
    std::vector<std::string> urls;
    for (const TransportRequest& request : requests) urls.push_back(request.url);
    return urls;
  }
  TransportMaker Maker();
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(FakeExtenders& fake) : fake_(fake) {}
  CallId Send(TransportRequest request, Done done) override {
    fake_.requests.push_back(request);
    if (fake_.on_ask) fake_.on_ask(request);
    if (const auto found = fake_.answers.find(request.url); found != fake_.answers.end()) {
      done(found->second);
    } else {
      fake_.unanswered.push_back(std::move(done));
    }
    return fake_.requests.size();
  }
  void Cancel(CallId) override { ++fake_.cancelled; }

 private:
  FakeExtenders& fake_;
};

inline TransportMaker FakeExtenders::Maker() {
  return [this](const config::ExtenderConfig&) -> Expected<std::unique_ptr<Transport>> {
    return std::make_unique<FakeTransport>(*this);
  };
}

}  // namespace berth::extenders
