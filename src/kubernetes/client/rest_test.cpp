#include "kubernetes/client/rest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "base/lease_fence.hpp"
#include "http/client.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/rate_limit.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

class FakeTransport final : public http::Transport {
 public:
  struct Call {
    CallId id;
    http::ClientRequest request;
    http::ClientDone done;
    http::StreamOptions stream{};
  };
  CallId Send(http::ClientRequest request, http::ClientDone done) override {
    ++sent;
    open.push_back({++last, std::move(request), std::move(done)});
    return last;
  }
  CallId Stream(http::ClientRequest request, http::StreamOptions options, http::ClientDone done) override {
    ++sent;
    open.push_back({++last, std::move(request), std::move(done), std::move(options)});
    return last;
  }
  void Cancel(CallId id) override {
    std::erase_if(open, [&](const Call& call) { return call.id == id; });
  }
  Expected<void> SetTls(const http::TlsOptions&) override { return {}; }
  void Answer(Expected<http::ClientResponse> answer) {
    Call call = std::move(open.front());
    open.pop_front();
    call.done(std::move(answer));
  }

  std::deque<Call> open;
  CallId last = 0;
  int sent = 0;
};

http::ClientResponse Response(int status, std::string body = "", http::HeaderList headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = std::move(body)};
}

class CountingCredentials final : public Credentials {
 public:
  std::string Authorization() override { return "Bearer " + std::to_string(++sent); }
  void OnUnauthorized(std::uint64_t) override { ++refused; }
  int sent = 0, refused = 0;
};

class Rest : public testing::Test {
 protected:
  void Send(std::string method) {
    rest_->Send({.method = std::move(method), .path = "/x", .body = "{}"},
                [this](Reply r) { replies_.push_back(std::move(r)); });
  }

  http::FakeLoop loop_;
  FakeTransport transport_;
  metrics::Registry registry_;
  std::shared_ptr<CountingCredentials> credentials_ = std::make_shared<CountingCredentials>();
  std::unique_ptr<RestClient> rest_ =
      std::make_unique<RestClient>(loop_, transport_, registry_,
                                   RestOptions{.host = "h:1",
                                               .user_agent = UserAgent("scheduler"),
                                               .credentials = credentials_,
                                               .headers = {{"A", "b"}}});
  std::vector<Reply> replies_;
};

TEST_F(Rest, SendsUserAgentAndContentType) {
  Send("POST");
  EXPECT_THAT(
      transport_.open[0].request.headers,
      ElementsAre(Pair("User-Agent", "kube-scheduler/v1.37.1 (linux/amd64) kubernetes/0000000/scheduler"),
                  Pair("Accept", "application/json, */*"), Pair("A", "b"),
                  Pair("Content-Type", "application/json"), Pair("Authorization", "Bearer 1")));
  transport_.Answer(Response(201, "body"));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_[0], "body");
}

TEST_F(Rest, AStatusBecomesAnError) {
  Send("POST");
  transport_.Answer(Response(
      409,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"p\" already exists","reason":"AlreadyExists","code":409})"));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_[0].error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(replies_[0].error().message, "pods \"p\" already exists");
  EXPECT_EQ(replies_[0].error().http_code, 409);
}

struct CodeCase {
  std::string name;
  int status;
  std::string body;
  ErrorCode want;
};
class RestCodes : public Rest, public testing::WithParamInterface<CodeCase> {};
TEST_P(RestCodes, FollowTheReasonAndThenTheHttpCode) {
  Send("GET");
  transport_.Answer(Response(GetParam().status, GetParam().body));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_[0].error().code, GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Table, RestCodes,
    testing::Values(
        CodeCase{"PlainText404", 404, "404 page not found\n", ErrorCode::kNotFound},
        CodeCase{"PlainText503", 503, "apiserver not ready", ErrorCode::kUnavailable},
        CodeCase{"Html502", 502, "<html>", ErrorCode::kUnavailable},
        CodeCase{"Empty429", 429, "", ErrorCode::kThrottled},
        CodeCase{"Gone", 410, R"({"kind":"Status","reason":"Gone","code":410})", ErrorCode::kExpired},
        CodeCase{"Forbidden", 403, R"({"kind":"Status","reason":"Forbidden","code":403})",
                 ErrorCode::kUnauthorized},
        CodeCase{"ServerTimeoutIs500", 500, R"({"kind":"Status","reason":"ServerTimeout","code":500})",
                 ErrorCode::kUnavailable},
        CodeCase{"Timeout", 504, R"({"kind":"Status","reason":"Timeout","code":504})", ErrorCode::kTimeout},
        CodeCase{"Invalid", 422, R"({"kind":"Status","reason":"Invalid","code":422})", ErrorCode::kInvalid}),
    [](const auto& row) { return row.param.name; });

TEST_F(Rest, HonorsRetryAfterForEveryMethod) {
  for (const char* method : {"GET", "POST", "PATCH", "DELETE"}) {
    replies_.clear();
    Send(method);
    transport_.Answer(Response(429, "", {{"retry-after", "3"}}));
    EXPECT_EQ(loop_.delays().back(), 3s);
    EXPECT_THAT(replies_, SizeIs(0));
    loop_.Advance(3s);
    transport_.Answer(Response(200, "x"));
    EXPECT_THAT(replies_, SizeIs(1));
  }
  EXPECT_EQ(transport_.sent, 8);
}

TEST_F(Rest, ALongRetryAfterIsCut) {
  Send("POST");
  transport_.Answer(Response(429, "", {{"Retry-After", "86400"}}));
  EXPECT_EQ(loop_.delays().back(), 30s);
  loop_.Advance(30s);
  transport_.Answer(Response(200, "x"));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_[0], "x");
}

TEST_F(Rest, ARequestIsNotRepeatedBeyondItsTimeout) {
  rest_->Send({.method = "PUT", .path = "/x", .timeout = 5s},
              [&](Reply reply) { replies_.push_back(std::move(reply)); });
  for (int i = 0; i < 2; ++i) {
    transport_.Answer(Response(503, "", {{"Retry-After", "2"}}));
    EXPECT_THAT(replies_, SizeIs(0));
    loop_.Advance(2s);
  }
  transport_.Answer(Response(503, "", {{"Retry-After", "2"}}));
  ASSERT_THAT(replies_, SizeIs(1)) << "it would be six seconds old";
  EXPECT_EQ(replies_[0].error().http_code, 503);
  EXPECT_EQ(replies_[0].error().retry_after_seconds, 2);
  EXPECT_EQ(transport_.sent, 3);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(Rest, ASingleAttemptReportsRetryAfter) {
  rest_->Send({.method = "POST", .path = "/x", .single_attempt = true},
              [&](Reply reply) { replies_.push_back(std::move(reply)); });
  loop_.Run();
  transport_.Answer(Response(429, "", {{"Retry-After", "10"}}));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_[0].error().http_code, 429);
  EXPECT_EQ(replies_[0].error().retry_after_seconds, 10);
  EXPECT_EQ(transport_.sent, 1);
}

TEST_F(Rest, RetriesAtMostTenTimes) {
  Send("POST");
  for (int i = 0; i < 10; ++i) {
    transport_.Answer(Response(503, "", {{"Retry-After", "1"}}));
    loop_.Advance(1s);
  }
  transport_.Answer(Response(503, "", {{"Retry-After", "1"}}));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_[0].error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(replies_[0].error().retry_after_seconds, 1);
  EXPECT_EQ(transport_.sent, 11);
}

TEST_F(Rest, AnErrorAfterARepeatedServerFailureIsMarked) {
  for (const auto& [status, repeated] : {std::pair(429, false), std::pair(500, true), std::pair(503, true)}) {
    replies_.clear();
    Send("POST");
    transport_.Answer(Response(status, "", {{"Retry-After", "1"}}));
    loop_.Advance(1s);
    transport_.Answer(Response(409));
    ASSERT_THAT(replies_, SizeIs(1));
    EXPECT_EQ(replies_[0].error().http_code, 409);
    EXPECT_EQ(replies_[0].error().repeated, repeated) << status;
  }
  replies_.clear();
  Send("POST");
  transport_.Answer(Response(503, "", {{"Retry-After", "1"}}));
  loop_.Advance(1s);
  transport_.Answer(Fail(ErrorCode::kUnavailable, "refused"));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_TRUE(replies_[0].error().repeated) << "the server is unreachable after that";
}

// The writer above a real client.
class RestWriter : public Rest {
 protected:
  LeaseFence open_ = LeaseFence::AlwaysOpen(loop_.clock());
  ApiWriter writer_{loop_, *rest_, loop_.clock(), open_};
};

TEST_F(RestWriter, ABindingThatWasExecutedBeforeItsRepetitionSucceeds) {
  std::optional<Expected<>> bound;
  writer_.Bind({.ns = "default", .name = "p", .uid = "u1", .node = "n1"},
               [&](Expected<> result) { bound = std::move(result); });
  loop_.Run();
  transport_.Answer(Response(500, "", {{"Retry-After", "1"}}));
  loop_.Advance(1s);
  ASSERT_THAT(transport_.open, SizeIs(1));
  EXPECT_EQ(transport_.open[0].request.method, "POST");
  transport_.Answer(Response(409, R"({"kind":"Status","reason":"Conflict","code":409})"));
  ASSERT_THAT(transport_.open, SizeIs(1));
  EXPECT_EQ(transport_.open[0].request.method, "GET");
  EXPECT_FALSE(bound);
  transport_.Answer(Response(
      200,
      R"({"metadata":{"name":"p","namespace":"default","uid":"u1","resourceVersion":"1"},"spec":{"nodeName":"n1"}})"));
  ASSERT_TRUE(bound);
  EXPECT_TRUE(*bound);
}

TEST_F(RestWriter, AClaimIsNotCreatedAgainAfterAServerFailure) {
  std::optional<Expected<ports::CreatedClaim>> created;
  writer_.CreateClaim({"ns", "pod-extended-resources-", "pod", "u", {}},
                      [&](Expected<ports::CreatedClaim> result) { created = std::move(result); });
  loop_.Run();
  transport_.Answer(Response(503, "", {{"Retry-After", "1"}}));
  loop_.Advance(10s);
  ASSERT_TRUE(created);
  EXPECT_FALSE(*created);
  EXPECT_EQ(transport_.sent, 1);
}

TEST_F(Rest, DoesNotRetryWithoutRetryAfter) {
  for (const http::HeaderList& headers :
       std::vector<http::HeaderList>{{},
                                     {{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}},
                                     {{"Retry-After", "-1"}},
                                     {{"Retry-After", ""}}}) {
    replies_.clear();
    Send("GET");
    transport_.Answer(Response(429, "", headers));
    EXPECT_THAT(replies_, SizeIs(1));
  }
  Send("GET");
  transport_.Answer(Response(404, "", {{"Retry-After", "1"}}));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(Rest, OnlyAGetIsRepeatedAfterALostResponse) {
  Send("POST");
  transport_.Answer(Fail(ErrorCode::kAmbiguous, "reset"));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_TRUE(replies_[0].error().ambiguous());
  Send("GET");
  transport_.Answer(Fail(ErrorCode::kAmbiguous, "reset"));
  EXPECT_EQ(loop_.delays().back(), 1s);
  loop_.Advance(1s);
  transport_.Answer(Response(200, "x"));
  EXPECT_EQ(replies_[1], "x");
}

TEST_F(Rest, AnUnreachableServerIsReportedToTheCaller) {
  Send("GET");
  transport_.Answer(Fail(ErrorCode::kUnavailable, "refused"));
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_TRUE(replies_[0].error().not_sent());
  EXPECT_FALSE(replies_[0].error().answered());
}

TEST_F(Rest, ReportsRejectedCredentials) {
  Send("GET");
  transport_.Answer(Response(401, ""));
  EXPECT_EQ(credentials_->refused, 1);
}

TEST_F(Rest, CountsRequestsAndAWatchWhenItOpens) {
  Send("GET");
  transport_.Answer(Response(200, "x"));
  Send("POST");
  transport_.Answer(Fail(ErrorCode::kAmbiguous, "reset"));
  rest_->Watch({.path = "/w"}, {}, [](Reply) {});
  transport_.open[0].stream.on_open();
  const auto count = [&](std::string code, std::string method) {
    return registry_
        .Counter("rest_client_requests_total", "",
                 {{"code", std::move(code)}, {"method", std::move(method)}, {"host", "h:1"}})
        .Value();
  };
  EXPECT_EQ(count("200", "GET"), 2U);
  EXPECT_EQ(count("<error>", "POST"), 1U);
  transport_.Answer(Response(200, ""));
  EXPECT_EQ(count("200", "GET"), 2U) << "not again at its end";
  EXPECT_THAT(registry_.Expose(),
              HasSubstr("rest_client_request_duration_seconds_count{host=\"h:1\",verb=\"GET\"} 1\n"));
}

TEST_F(Rest, MeasuresSizesAndTheDelayOfTheRateLimit) {
  Send("GET");
  transport_.Answer(Response(200, "12345"));
  const std::string shown = registry_.Expose();
  EXPECT_THAT(shown, HasSubstr("rest_client_response_size_bytes_sum{host=\"h:1\",verb=\"GET\"} 5\n"));
  EXPECT_THAT(shown, HasSubstr("rest_client_request_size_bytes_count{host=\"h:1\",verb=\"GET\"} 1\n"));
  EXPECT_THAT(shown,
              HasSubstr("rest_client_rate_limiter_duration_seconds_count{host=\"h:1\",verb=\"GET\"} 1\n"));
}

TEST(RateLimit, AllowsABurstAndThenOneAtATime) {
  RateLimit limit(10, 2);
  const MonoTime start{};
  EXPECT_EQ(limit.Take(start), 0ms);
  EXPECT_EQ(limit.Take(start), 0ms);
  EXPECT_EQ(limit.Take(start), 100ms);
  EXPECT_EQ(limit.Take(start), 200ms);
  EXPECT_EQ(limit.Take(start + 1s), 0ms) << "a second brings ten, of which two are kept";
}

TEST(RateLimit, WithoutQpsThereIsNoLimit) {
  RateLimit limit(0, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.Take(MonoTime{}), 0ms);
}

TEST_F(Rest, ACancelledCallCallsNoCallback) {
  const auto id = rest_->Send({.path = "/x"}, [](Reply) { FAIL(); });
  transport_.Answer(Response(503, "", {{"Retry-After", "1"}}));
  rest_->Cancel(id);
  loop_.Advance(2s);
  EXPECT_EQ(transport_.sent, 1);
}

TEST_F(Rest, DestructionEndsEveryCall) {
  Send("GET");
  Send("POST");
  transport_.Answer(Response(503, "", {{"Retry-After", "1"}}));
  rest_.reset();
  ASSERT_THAT(replies_, SizeIs(2));
  EXPECT_EQ(replies_[0].error().code, ErrorCode::kCancelled);
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_THAT(transport_.open, SizeIs(0));
}

}  // namespace
}  // namespace berth::client
