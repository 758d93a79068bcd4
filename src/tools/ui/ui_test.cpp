// Requests to the local server: which are answered, and what the scheduler's responses become.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/clock.hpp"
#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "service/page/page.hpp"
#include "tools/ui/local_access.hpp"
#include "tools/ui/local_server.hpp"

namespace berth::ui {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr std::uint16_t kPort = 8080;
constexpr const char* kKey = "the-key";
constexpr const char* kStatus = "/apis/berth.dev/v1alpha1/status";

int StatusOf(const std::string& target, http::Headers headers, const std::string& method = "GET") {
  const http::Request request{method, target, std::move(headers), ""};
  const auto refusal = RefusalOf(request, *service::ParseTarget(target), kPort, kKey);
  return refusal ? refusal->status : 200;
}

TEST(LocalAccess, OnlyThePageItselfIsAnswered) {
  const http::Headers::Entry host{"Host", "127.0.0.1:8080"}, key{"Authorization", "Bearer the-key"};
  struct Case {
    const char* name;
    std::string target;
    http::Headers headers;
    int want;
    std::string method = "GET";
  };
  for (const Case& c : std::initializer_list<Case>{
           {"the page needs no key", "/ui/", {host}, 200},
           {"a file of the page", "/ui/page.js", {host, {"Sec-Fetch-Site", "same-origin"}}, 200},
           {"an address that the user has typed", "/ui/", {host, {"Sec-Fetch-Site", "none"}}, 200},
           {"the API with the key", kStatus, {host, key}, 200},
           {"the API by another name of this host", kStatus, {{"Host", "LOCALHOST:8080"}, key}, 200},
           {"the page's own request", kStatus, {host, key, {"Origin", "http://127.0.0.1:8080"}}, 200},
           {"the API without the key", kStatus, {host}, 401},
           {"a wrong key", kStatus, {host, {"Authorization", "Bearer the-kex"}}, 401},
           {"a beginning of the key", kStatus, {host, {"Authorization", "Bearer the-ke"}}, 401},
           {"another scheme", kStatus, {host, {"Authorization", "Basic the-key"}}, 401},
           {"the key in the address", std::string(kStatus) + "?key=the-key", {host}, 401},
           {"a name of another site that resolves to this host",
            "/ui/",
            {{"Host", "evil.example:8080"}},
            421},
           {"the same with the key", kStatus, {{"Host", "evil.example:8080"}, key}, 421},
           {"another port", "/ui/", {{"Host", "127.0.0.1:8081"}}, 421},
           {"no host", "/ui/", {}, 421},
           {"a request of another site", kStatus, {host, key, {"Origin", "https://evil.example"}}, 403},
           {"a request of another port", kStatus, {host, key, {"Origin", "http://127.0.0.1:9"}}, 403},
           {"a request of a sandboxed frame", kStatus, {host, key, {"Origin", "null"}}, 403},
           {"a link of another site", "/ui/", {host, {"Sec-Fetch-Site", "cross-site"}}, 403},
           {"another port of the same site", "/ui/", {host, {"Sec-Fetch-Site", "same-site"}}, 403},
           {"a write", kStatus, {host, key}, 405, "POST"},
           {"another path of the scheduler", "/metrics", {host, key}, 404},
           {"a path out of the API", "/apis/berth.dev/v1alpha1/../../../metrics", {host, key}, 404},
           {"the same, escaped", "/apis/berth.dev/v1alpha1/%2e%2e/%2e%2e/metrics", {host, key}, 404},
           {"an escaped path of the API", "/apis/berth%2edev/v1alpha1/status", {host, key}, 404},
           {"an absolute target", std::string("http://evil.example") + kStatus, {host, key}, 404}}) {
    EXPECT_EQ(StatusOf(c.target, c.headers, c.method), c.want) << c.name;
  }
}

TEST(LocalAccess, KeysAreLongAndDiffer) {
  const std::string key = NewKey();
  EXPECT_THAT(key, MatchesRegex("[A-Za-z0-9_-]+"));
  EXPECT_EQ(key.size(), 43u);
  EXPECT_NE(key, NewKey());
}

class FakeRequests final : public Requests {
 public:
  bool Get(std::string path, std::move_only_function<void(client::Reply)> done) override {
    paths.push_back(std::move(path));
    if (busy) return false;
    done(reply);
    return true;
  }
  std::vector<std::string> paths;
  client::Reply reply = R"({"version":"1"})";
  bool busy = false;
};

class LocalServerTest : public ::testing::Test {
 protected:
  http::ClientResponse Get(const std::string& target, http::HeaderList headers = {}) {
    const auto client =
        *http::Client::Make(io_, {.origin = {.tls = false, .host = "127.0.0.1", .port = server_->port()}});
    std::promise<Expected<http::ClientResponse>> answer;
    client->Send({.target = target, .headers = std::move(headers)},
                 [&](Expected<http::ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get().value();
  }
  http::ClientResponse Ask(const std::string& target) {
    return Get(target, {{"Authorization", std::string("Bearer ") + kKey}});
  }

  const SystemClock clock_;
  http::IoThread io_{clock_};
  FakeRequests requests_;
  std::unique_ptr<LocalServer> server_ = LocalServer::Listen(io_, requests_, kKey, 0).value();
};

TEST_F(LocalServerTest, ForwardsRequestsWithTheirParameters) {
  const http::ClientResponse response = Ask("/apis/berth.dev/v1alpha1/queue?limit=5&namespace=a%2Fb");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"version":"1"})");
  EXPECT_EQ(*response.Find("content-type"), "application/json");
  EXPECT_THAT(requests_.paths,
              ::testing::ElementsAre("/apis/berth.dev/v1alpha1/queue?limit=5&namespace=a%2Fb"));
}

TEST_F(LocalServerTest, ARefusedRequestIsNotForwarded) {
  EXPECT_EQ(Get(kStatus).status, 401);
  EXPECT_EQ(Ask("/metrics").status, 404);
  EXPECT_THAT(requests_.paths, ::testing::IsEmpty());
}

TEST_F(LocalServerTest, ServesThePage) {
  if (!service::HasPage()) GTEST_SKIP() << "built with BERTH_UI=OFF";
  const http::ClientResponse response = Get("/ui/");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(*response.Find("content-security-policy"), HasSubstr("default-src 'none'"));
}

TEST_F(LocalServerTest, ErrorsOfTheSchedulerArePassedOn) {
  struct Case {
    const char* name;
    client::RequestError error;
    int status;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"not found",
            {.code = ErrorCode::kNotFound, .message = "no such pod", .http_code = 404, .reason = "NotFound"},
            404,
            "no such pod"},
           {"the user's credentials are refused, which the page must not take for a wrong key",
            {.code = ErrorCode::kUnauthorized,
             .message = "expired",
             .http_code = 401,
             .reason = "Unauthorized"},
            403,
            "expired"},
           {"busy",
            {.message = "later", .http_code = 429, .reason = "TooManyRequests", .retry_after_seconds = 7},
            429,
            "later"},
           {"no response",
            {.code = ErrorCode::kUnavailable, .message = "connection refused"},
            502,
            "the scheduler cannot be reached: connection refused"}}) {
    requests_.reply = std::unexpected(c.error);
    const http::ClientResponse response = Ask(kStatus);
    EXPECT_EQ(response.status, c.status) << c.name;
    EXPECT_THAT(response.body, HasSubstr(c.message)) << c.name;
    if (c.status == 429) {
      EXPECT_EQ(*response.Find("retry-after"), "7") << c.name;
    }
  }
}

TEST_F(LocalServerTest, TooManyRequestsAreRefused) {
  requests_.busy = true;
  const http::ClientResponse response = Ask(kStatus);
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(*response.Find("retry-after"), "1");
}

TEST_F(LocalServerTest, APortInUseIsAnError) {
  const auto second = LocalServer::Listen(io_, requests_, kKey, server_->port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr("--port"));
}

}  // namespace
}  // namespace berth::ui
