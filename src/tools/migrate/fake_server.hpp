// A fake API server for tests. Returns prepared responses immediately.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kubernetes/client/fake_api.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

class FakeServer final : public Server {
 public:
  using Answer = std::function<client::Reply(const client::ApiRequest&)>;

  // By path without its query. Any other path returns 404.
  void Put(const std::string& path, std::string body) {
    answers_[path] = [body = std::move(body)](const client::ApiRequest&) { return body; };
  }
  void Put(const std::string& path, Answer answer) { answers_[path] = std::move(answer); }
  void Forbid(const std::string& path) {
    answers_[path] = [](const client::ApiRequest&) {
      client::Reply refusal = client::Refused(403, "Forbidden");
      refusal.error().message = "user cannot do this";
      return refusal;
    };
  }
  // The objects of a list, as one page.
  void List(const std::string& path, const std::vector<std::string>& items) { Put(path, ListOf(items)); }
  static std::string ListOf(const std::vector<std::string>& items, const std::string& next = "") {
    std::string body = R"({"metadata":{"resourceVersion":"7","continue":")" + next + R"("},"items":[)";
    for (std::size_t i = 0; i < items.size(); ++i) body += (i == 0 ? "" : ",") + items[i];
    return body + "]}";
  }
  // Discovery of one group version.
  void Serve(const std::string& path, const std::vector<std::string>& plurals) {
    std::string body = R"({"kind":"APIResourceList","resources":[)";
    for (std::size_t i = 0; i < plurals.size(); ++i)
      body += std::string(i == 0 ? "" : ",") + R"({"name":")" + plurals[i] + R"("})";
    Put(path, body + "]}");
  }

  client::Reply Send(client::ApiRequest request) override {
    requests.push_back(request.method + " " + request.path);
    const auto found = answers_.find(request.path.substr(0, request.path.find('?')));
    return found == answers_.end() ? client::Refused(404, "NotFound") : found->second(request);
  }

  std::vector<std::string> requests;  // "METHOD path", in order

 private:
  std::map<std::string, Answer> answers_;
};

}  // namespace berth::migrate
