// Prometheus servers and files for tests: each host returns scripted responses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http/client.hpp"
#include "http/fake_loop.hpp"
#include "scheduler/load_metrics/query_client.hpp"

namespace berth::load_metrics {

class FakeEnvironment {
 public:
  using Answer = std::function<Expected<http::ClientResponse>(const http::ClientRequest&)>;

  explicit FakeEnvironment(http::FakeLoop& loop) : loop_(loop) {}

  SourceParts parts() {
    return {.read_file = [this](const std::string& path) -> Expected<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return Fail(ErrorCode::kNotFound, path + ": no such file");
              return found->second;
            },
            .connect = [this](const http::Origin& origin,
                              const http::TlsOptions& tls) -> Expected<std::unique_ptr<http::Transport>> {
              last_tls = tls;
              return std::make_unique<Server>(*this, origin);
            }};
  }
  static http::ClientResponse Json(std::string body, int status = 200) {
    return {status, {{"Content-Type", "application/json"}}, std::move(body)};
  }
  // An instant vector of one series per pair of label instance and value.
  static http::ClientResponse Vector(const std::vector<std::pair<std::string, std::string>>& series) {
    std::string items;
    for (const auto& [instance, value] : series) {
      items += (items.empty() ? "" : ",") +
               (R"({"metric":{"instance":")" + instance + R"("},"value":[1.5,")") + value + R"("]})";
    }
    return Json(R"({"status":"success","data":{"resultType":"vector","result":[)" + items + "]}}");
  }

  std::map<std::string, Answer> hosts;
  // The time until a request is answered; empty: answered at once.
  std::function<Duration(const http::ClientRequest&)> delay;
  std::map<std::string, std::string> files;
  http::TlsOptions last_tls;
  int tls_changes = 0;
  std::vector<std::pair<std::string, http::ClientRequest>> requests;  // host and request

 private:
  class Server final : public http::Transport {
   public:
    Server(FakeEnvironment& environment, http::Origin origin)
        : environment_(environment), origin_(std::move(origin)) {}
    ~Server() override { *alive_ = false; }
    CallId Send(http::ClientRequest request, http::ClientDone done) override {
      environment_.requests.emplace_back(origin_.host, request);
      auto answer = environment_.hosts.at(origin_.host)(request);
      const Duration delay = environment_.delay ? environment_.delay(request) : Duration{};
      auto respond = [alive = alive_, done = std::move(done), answer = std::move(answer)]() mutable {
        if (*alive) done(std::move(answer));
      };
      if (delay > Duration{}) {
        environment_.loop_.After(delay, std::move(respond));
      } else {
        environment_.loop_.Post(std::move(respond));
      }
      return environment_.requests.size();
    }
    CallId Stream(http::ClientRequest, http::StreamOptions, http::ClientDone) override { return 0; }
    void Cancel(CallId) override {}
    Expected<void> SetTls(const http::TlsOptions& tls) override {
      environment_.last_tls = tls;
      ++environment_.tls_changes;
      return {};
    }

   private:
    FakeEnvironment& environment_;
    const http::Origin origin_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  };

  http::FakeLoop& loop_;
};

}  // namespace berth::load_metrics
