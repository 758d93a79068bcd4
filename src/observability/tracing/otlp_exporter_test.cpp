#include "observability/tracing/otlp_exporter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.hpp"
#include "http/fake_loop.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::tracing {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class FakeTransport final : public http::Transport {
 public:
  CallId Send(http::ClientRequest request, http::ClientDone done) override {
    requests.push_back(std::move(request));
    pending.push_back(std::move(done));
    return requests.size();
  }
  CallId Stream(http::ClientRequest, http::StreamOptions, http::ClientDone) override { return 0; }
  void Cancel(CallId) override {}
  Expected<void> SetTls(const http::TlsOptions&) override { return {}; }
  void Answer(int status) {
    auto done = std::move(pending.front());
    pending.erase(pending.begin());
    done(http::ClientResponse{status, {}, "{}"});
  }
  void Break(ErrorCode code) {
    auto done = std::move(pending.front());
    pending.erase(pending.begin());
    done(Fail(code, "connection refused"));
  }

  std::vector<http::ClientRequest> requests;
  std::vector<http::ClientDone> pending;
};

class OtlpExporterTest : public testing::Test {
 protected:
  void Make(ExporterOptions options = {}) {
    exporter_ =
        std::make_unique<OtlpExporter>(loop_, transport_, loop_.clock(), registry_, std::move(options));
  }
  AttemptTrace Trace(const std::string& pod) {
    AttemptTrace trace{.pod = pod, .uid = "u", .profile = "default-scheduler", .attempt = 2};
    trace.begin = loop_.Now() - 2ms;
    trace.end = loop_.Now();
    trace.result = "scheduled";
    trace.node = "n1";
    trace.parts = {{"Filter", "Success", trace.begin, trace.begin + 1ms}};
    return trace;
  }
  void Finish(int count) {
    for (int i = 0; i < count; ++i) exporter_->Finished(Trace("ns/p" + std::to_string(i)));
    loop_.Run();
  }

  http::FakeLoop loop_;
  FakeTransport transport_;
  metrics::Registry registry_;
  std::unique_ptr<OtlpExporter> exporter_;
};

TEST_F(OtlpExporterTest, AnAttemptIsASpanWithItsExtensionPointsAsChildren) {
  Make({.resource = {.service_version = "1", .service_instance = "me"}});
  Finish(1);
  loop_.Advance(1s);
  ASSERT_EQ(transport_.requests.size(), 1U);
  const http::ClientRequest& request = transport_.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/v1/traces");
  EXPECT_THAT(request.body, HasSubstr(R"({"key":"service.instance.id","value":{"stringValue":"me"}})"));
  EXPECT_THAT(request.body, HasSubstr(R"({"key":"k8s.pod.name","value":{"stringValue":"p0"}})"));
  EXPECT_THAT(request.body, HasSubstr(R"({"key":"berth.attempt","value":{"intValue":"2"}})"));
  const auto id = request.body.substr(request.body.find("\"spanId\":\"") + 10, 16);
  EXPECT_THAT(request.body, HasSubstr("\"parentSpanId\":\"" + id + "\",\"name\":\"Filter\""));
  // The span is a second old when it is exported, and lasted two milliseconds.
  EXPECT_THAT(
      request.body,
      HasSubstr("\"name\":\"Schedule pod\",\"kind\":1,\"startTimeUnixNano\":\"1728003599998000000\""));
}

TEST_F(OtlpExporterTest, AFullBatchIsSentImmediatelyAndTheRestWithTheNext) {
  Make({.batch = 2});
  Finish(5);
  ASSERT_EQ(transport_.requests.size(), 1U) << "one request at a time";
  transport_.Answer(200);
  ASSERT_EQ(transport_.requests.size(), 2U);
  transport_.Answer(200);
  transport_.Answer(200);
  EXPECT_THAT(transport_.requests[2].body, HasSubstr("\"p4\""));
  EXPECT_THAT(registry_.Expose(), HasSubstr("berth_trace_attempts_exported_total 5\n"));
}

TEST_F(OtlpExporterTest, AnUnavailableCollectorIsRetriedWithGrowingDelays) {
  Make();
  Finish(1);
  loop_.Advance(1s);
  transport_.Answer(503);
  EXPECT_EQ(transport_.requests.size(), 1U);
  loop_.Advance(1s);
  transport_.Break(ErrorCode::kUnavailable);
  loop_.Advance(1s);
  EXPECT_EQ(transport_.requests.size(), 2U);
  loop_.Advance(1s);
  EXPECT_EQ(transport_.requests.size(), 3U);
  transport_.Answer(200);
  EXPECT_EQ(transport_.requests[0].body, transport_.requests[2].body);
  EXPECT_THAT(registry_.Expose(), HasSubstr("berth_trace_attempts_exported_total 1\n"));
}

TEST_F(OtlpExporterTest, ARejectionIsFinalAndCounted) {
  Make();
  Finish(3);
  loop_.Advance(1s);
  transport_.Answer(400);
  loop_.Advance(1min);
  EXPECT_EQ(transport_.requests.size(), 1U);
  EXPECT_THAT(registry_.Expose(), HasSubstr("berth_trace_attempts_dropped_total 3\n"));
}

TEST_F(OtlpExporterTest, AttemptsBeyondTheCapacityAreDroppedAndCounted) {
  Make({.batch = 2, .capacity = 4});
  Finish(2);  // in flight
  Finish(6);
  EXPECT_THAT(registry_.Expose(), HasSubstr("berth_trace_attempts_dropped_total 2\n"));
}

TEST_F(OtlpExporterTest, ALongMessageIsCutBetweenTwoCharacters) {
  Make({.batch = 1});
  AttemptTrace trace = Trace("ns/p");
  trace.message = std::string(4095, 'x') + "\u00e9" + std::string(100'000, 'y');
  exporter_->Finished(std::move(trace));
  loop_.Run();
  ASSERT_EQ(transport_.requests.size(), 1U);
  EXPECT_THAT(transport_.requests[0].body, HasSubstr("\"" + std::string(4095, 'x') + "\""));
}

TEST_F(OtlpExporterTest, TheRatioDeterminesTheFractionOfTracedAttempts) {
  for (const auto& [ratio, low, high] : {std::tuple{0.0, 0, 0}, {1.0, 1000, 1000}, {0.25, 200, 300}}) {
    Make({.ratio = ratio});
    int wanted = 0;
    for (int i = 0; i < 1000; ++i) wanted += exporter_->ShouldTrace() ? 1 : 0;
    EXPECT_GE(wanted, low);
    EXPECT_LE(wanted, high);
  }
}

TEST_F(OtlpExporterTest, AResponseAfterDestructionIsIgnored) {
  Make();
  Finish(1);
  loop_.Advance(1s);
  exporter_.reset();
  transport_.Answer(200);
  EXPECT_THAT(registry_.Expose(), Not(HasSubstr("exported_total 1")));
}

}  // namespace
}  // namespace berth::tracing
