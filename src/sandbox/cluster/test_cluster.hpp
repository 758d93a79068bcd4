// For tests: an API server without sockets, on a clock that the test advances.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/api_server.hpp"
#include "sandbox/controllers/housekeeping.hpp"
#include "sandbox/controllers/node_taints.hpp"
#include "sandbox/kubelet/kubelet.hpp"

namespace berth::sandbox {

// Records a response or the lines of a stream.
struct RecordedResponse {
  int status = 0;
  std::string content_type;
  std::string text;     // body, or the streamed lines so far
  bool closed = false;  // the server has ended the stream
  bool answered = false;

  json::value Json() const { return json::parse(text); }
  // Returns the received lines of a watch and removes them.
  std::vector<json::value> TakeEvents() {
    std::vector<json::value> events;
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = text.find('\n', begin);
      events.push_back(json::parse(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    text.clear();
    return events;
  }
  // "ADDED a, MODIFIED a": types and names of the received events.
  std::string TakeSummary() {
    std::string summary;
    for (const auto& event : TakeEvents()) {
      const auto& object = event.at("object").as_object();
      summary +=
          fmt::format("{}{}", summary.empty() ? "" : ", ", std::string_view(event.at("type").as_string()));
      const auto name = FindString(object, "metadata.name");
      if (!name.empty()) summary += fmt::format(" {}", name);
    }
    return summary;
  }
};

class FakeStream final : public http::Stream {
 public:
  explicit FakeStream(std::shared_ptr<RecordedResponse> response) : recorded_(std::move(response)) {}
  bool Write(http::Piece piece) override {
    recorded_->text.append(piece.before).append(piece.text ? *piece.text : "").append(piece.after);
    return true;
  }
  void Close() override { recorded_->closed = true; }
  void OnGone(std::function<void()>) override {}

 private:
  std::shared_ptr<RecordedResponse> recorded_;
};

class FakeExchange final : public http::Exchange {
 public:
  explicit FakeExchange(std::shared_ptr<RecordedResponse> response) : recorded_(std::move(response)) {}
  void Respond(http::Response response) override {
    recorded_->answered = true;
    recorded_->status = response.status;
    recorded_->content_type = response.content_type;
    recorded_->text = response.body ? *response.body : "";
  }
  std::shared_ptr<http::Stream> StartStream(http::Response head, std::size_t) override {
    recorded_->answered = true;
    recorded_->status = head.status;
    return std::make_shared<FakeStream>(recorded_);
  }

 private:
  std::shared_ptr<RecordedResponse> recorded_;
};

class TestCluster {
 public:
  explicit TestCluster(std::size_t window = 1000) : store(window), verbs(store, clock, random) {
    for (const std::string_view name : {"default", "kube-system", "kube-node-lease"}) {
      Create("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
    }
  }

  std::shared_ptr<RecordedResponse> Open(std::string method, std::string target, std::string body = {},
                                         std::string content_type = "application/json",
                                         std::string accept = "application/json") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers.Add("Accept", std::move(accept));
    if (!body.empty()) request.headers.Add("Content-Type", std::move(content_type));
    request.body = std::move(body);
    auto response = std::make_shared<RecordedResponse>();
    api.Handle(std::move(request), std::make_shared<FakeExchange>(response));
    return response;
  }
  RecordedResponse Do(std::string method, std::string target, std::string body = {},
                      std::string content_type = "application/json") {
    return *Open(std::move(method), std::move(target), std::move(body), std::move(content_type));
  }
  RecordedResponse Get(std::string target) { return Do("GET", std::move(target)); }
  RecordedResponse Create(std::string target, std::string body) {
    return Do("POST", std::move(target), std::move(body));
  }
  RecordedResponse Patch(std::string target, std::string body, std::string kind = "strategic-merge") {
    return Do("PATCH", std::move(target), std::move(body), "application/" + kind + "-patch+json");
  }
  // Creates a pod with one container; `spec` is added to its spec: "\"nodeName\":\"n1\"".
  RecordedResponse CreatePod(std::string_view name, std::string_view spec = {},
                             std::string_view metadata = {}) {
    return Create(
        "/api/v1/namespaces/default/pods",
        fmt::format(
            R"({{"metadata":{{"name":"{}"{}{}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]{}{}}}}})",
            name, metadata.empty() ? "" : ",", metadata, spec.empty() ? "" : ",", spec));
  }
  RecordedResponse CreateNode(std::string_view name, std::string_view labels = "{}") {
    return Create(
        "/api/v1/nodes",
        fmt::format(
            R"({{"metadata":{{"name":"{}","labels":{}}},"status":{{"capacity":{{"cpu":4,"pods":"110"}}}}}})",
            name, labels));
  }
  RecordedResponse Bind(std::string_view pod, std::string_view node) {
    return Create(
        fmt::format("/api/v1/namespaces/default/pods/{}/binding", pod),
        fmt::format(R"({{"metadata":{{"name":"{}"}},"target":{{"kind":"Node","name":"{}"}}}})", pod, node));
  }
  json::value Pod(std::string_view name) {
    return Get(fmt::format("/api/v1/namespaces/default/pods/{}", name)).Json();
  }

  // Advances the clock and runs everything that becomes due.
  void Pass(Duration time) {
    const MonoTime end = clock.Now() + time;
    for (auto next = timers.Next(); next && *next <= end; next = timers.Next()) {
      clock.Advance(std::max(*next - clock.Now(), Duration::zero()));
      timers.RunDue();
    }
    clock.Advance(end - clock.Now());
  }

  ManualClock clock;
  Random random{7};
  Store store;
  TimerQueue timers{clock};
  Verbs verbs;
  ApiServer api{verbs, timers, random};
};

// The value at a dotted path, as JSON text; "" if there is none.
inline std::string At(const json::object& from, std::string_view path) {
  const json::value* value = FindPath(from, path);
  if (value == nullptr) return {};
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}
inline std::string At(const json::value& from, std::string_view path) {
  return from.is_object() ? At(from.get_object(), path) : std::string();
}

}  // namespace berth::sandbox
