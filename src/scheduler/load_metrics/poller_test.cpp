#include "scheduler/load_metrics/poller.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "observability/metrics/registry.hpp"
#include "scheduler/load_metrics/fake_world.hpp"
#include "testing/cluster.hpp"

namespace berth::load_metrics {
namespace {

using berth::testing::MakeNode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Nodes n1 and n2, and scripted servers. The poller's loop is also the scheduler loop: posted tasks run
// immediately.
struct PollerTest : ::testing::Test {
  PollerTest() { cluster.Add(MakeNode("n1")).Add(MakeNode("n2").Address("InternalIP", "10.0.0.2")); }

  SignalId Declare(const std::string& expression, const std::string& source = "http://p:9090") {
    return measurements.Declare(
        {.name = expression, .source = source, .expression = expression, .hold = 60s});
  }
  void Start(const std::vector<SourceSettings>& sources = {}) {
    auto started = Poller::Start(
        sources,
        {.loop = loop,
         .measurements = measurements,
         .post = [](std::move_only_function<void()> work) { work(); },
         .metrics = registry,
         .world = world.parts(),
         .told =
             [this](const SourceNews& n) {
               news.push_back(fmt::format("{} {}", n.source, n.failing ? "fails: " + n.why : "is well"));
             }});
    if (!started) {
      error = started.error().message;
      return;
    }
    poller = std::move(*started);
    loop.Run();
  }
  std::string ValueOf(SignalId id, const std::string& node) {
    const double value = measurements.signal(id).At(cluster.RowOf(node));
    return std::isnan(value) ? "-" : fmt::format("{}", value);
  }
  static Expected<http::ClientResponse> Refused(const http::ClientRequest&) {
    return Fail(ErrorCode::kUnavailable, "connection refused");
  }
  static FakeWorld::Answer Same(http::ClientResponse response) {
    return [response](const http::ClientRequest&) { return response; };
  }

  http::FakeLoop loop;
  FakeWorld world{loop};
  metrics::Registry registry;
  berth::testing::Cluster cluster;
  SignalTable& measurements = cluster.handle().signals;
  std::vector<std::string> news;
  std::string error;
  std::unique_ptr<Poller> poller;
};

TEST_F(PollerTest, OneQueryPerSignalAndPollWhateverTheNumberOfNodes) {
  const SignalId cpu = Declare("sum by ($node) (cpu)");
  world.hosts["p"] = Same(FakeWorld::Vector({{"n1", "0.5"}, {"10.0.0.2:9100", "7"}}));
  Start();
  ASSERT_EQ(world.asked.size(), 1U);
  EXPECT_EQ(world.asked[0].second.method, "POST");
  EXPECT_EQ(world.asked[0].second.target, "/api/v1/query");
  EXPECT_EQ(world.asked[0].second.body,
            "query=sum%20by%20%28node%2Ckubernetes_node%2Cnodename%2CHostname%2Cinstance%29%20%28cpu%29&"
            "timeout=10000ms");
  EXPECT_EQ(ValueOf(cpu, "n1"), "0.5");
  EXPECT_EQ(ValueOf(cpu, "n2"), "7");
  loop.Advance(60s);
  EXPECT_GE(world.asked.size(), 4U);
  EXPECT_LE(world.asked.size(), 6U);
}

TEST_F(PollerTest, AFailedSourceIsReportedOnceAndItsValuesAreHeld) {
  const SignalId cpu = Declare("cpu");
  world.hosts["p"] = Same(FakeWorld::Vector({{"n1", "5"}}));
  Start();
  world.hosts["p"] = Refused;
  loop.Advance(40s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  EXPECT_EQ(measurements.signal(cpu).state, SignalState::kHeld);
  loop.Advance(60s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "-");
  world.hosts["p"] = Same(FakeWorld::Vector({{"n1", "6"}}));
  loop.Advance(20s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "6");
  EXPECT_THAT(news,
              ElementsAre("http://p:9090 fails: cpu: p:9090: connection refused", "http://p:9090 is well"));
}

TEST_F(PollerTest, ARejectedQueryDoesNotAffectTheOthers) {
  const SignalId good = Declare("good");
  const SignalId bad = Declare("bad");
  world.hosts["p"] = [](const http::ClientRequest& request) -> Expected<http::ClientResponse> {
    if (request.body.starts_with("query=bad"))
      return FakeWorld::Json(R"({"status":"error","errorType":"bad_data","error":"parse error"})", 400);
    return FakeWorld::Vector({{"n1", "5"}});
  };
  Start();
  EXPECT_EQ(ValueOf(good, "n1"), "5");
  EXPECT_EQ(measurements.signal(bad).state, SignalState::kGone);
  EXPECT_THAT(measurements.signal(bad).error, HasSubstr("bad_data: parse error"));
  EXPECT_THAT(registry.Expose(),
              HasSubstr("berth_measurement_polls_total{result=\"refused\",source=\"http://p:9090\"} 1\n"));
}

TEST_F(PollerTest, APodSignalHasItsOwnIntervalAndSeriesNumbers) {
  Declare("cpu");
  const SignalId use = measurements.Declare({.name = "use",
                                             .source = "http://p:9090",
                                             .expression = "use",
                                             .subject = Subject::kPod,
                                             .every = 60s});
  std::vector<std::string> heard;
  measurements.ListenToPods(use, [&](const SignalAnswer& answer) {
    if (answer.fresh == nullptr) return;
    for (const auto& labels : *answer.fresh) {
      for (const auto& [label, value] : labels) heard.push_back(label + "=" + value);
    }
  });
  world.hosts["p"] = [](const http::ClientRequest& request) {
    if (request.body.starts_with("query=cpu")) return FakeWorld::Vector({{"n1", "0.5"}, {"n2", "0.5"}});
    return FakeWorld::Json(R"({"status":"success","data":{"resultType":"vector","result":[)"
                           R"({"metric":{"pod":"p-1","namespace":"ns"},"value":[1.5,"2"]}]}})");
  };
  Start();
  EXPECT_THAT(heard, ElementsAre("namespace=ns", "pod=p-1"));
  loop.Advance(30s);
  const auto asked = [&](const std::string& query) {
    return std::ranges::count_if(world.asked,
                                 [&](const auto& call) { return call.second.body.starts_with(query); });
  };
  EXPECT_GE(asked("query=cpu"), 2);
  EXPECT_EQ(asked("query=use"), 1);
  loop.Advance(60s);
  EXPECT_EQ(asked("query=use"), 2);
}

TEST_F(PollerTest, TheNextServerIsUsedAfterAFailureAndStaysPreferred) {
  const auto sources = ReadSources("sources: [{name: m, addresses: ['http://p', 'http://q', 'http://r']}]");
  const SignalId cpu = Declare("cpu", "m");
  world.hosts["p"] = Refused;
  world.hosts["q"] = Same({200, {{"Content-Type", "text/html"}}, "<html>"});
  world.hosts["r"] = Same(FakeWorld::Vector({{"n1", "5"}}));
  Start(*sources);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  ASSERT_EQ(world.asked.size(), 3U);
  loop.Advance(16s);
  ASSERT_EQ(world.asked.size(), 4U);
  EXPECT_EQ(world.asked.back().first, "r");
  EXPECT_THAT(news, ElementsAre());
}

TEST_F(PollerTest, ATruncatedDocumentLeadsToTheNextServer) {
  const auto sources = ReadSources("sources: [{name: m, addresses: ['http://p', 'http://q']}]");
  const SignalId cpu = Declare("cpu", "m");
  http::ClientResponse half = FakeWorld::Vector({{"n1", "4"}, {"n2", "5"}});
  half.body.resize(half.body.size() / 2 + 20);
  world.hosts["p"] = Same(half);
  world.hosts["q"] = Same(FakeWorld::Vector({{"n2", "6"}, {"n1", "7"}}));
  Start(*sources);
  EXPECT_EQ(ValueOf(cpu, "n1"), "7");
  EXPECT_EQ(ValueOf(cpu, "n2"), "6");
}

TEST_F(PollerTest, ARejectedQueryIsNotSentToOtherServers) {
  const auto sources = ReadSources("sources: [{name: m, addresses: ['http://p', 'http://q']}]");
  Declare("cpu", "m");
  world.hosts["p"] = Same(FakeWorld::Json(R"({"status":"error","errorType":"execution","error":"x"})", 422));
  Start(*sources);
  EXPECT_EQ(world.asked.size(), 1U);
}

TEST_F(PollerTest, AServerWithoutPostSupportIsQueriedByGet) {
  Declare("cpu");
  world.hosts["p"] = [](const http::ClientRequest& request) -> Expected<http::ClientResponse> {
    if (request.method == "POST") return http::ClientResponse{405, {}, "Method Not Allowed"};
    return FakeWorld::Vector({{"n1", "5"}});
  };
  Start();
  ASSERT_EQ(world.asked.size(), 2U);
  EXPECT_EQ(world.asked[1].second.target, "/api/v1/query?query=cpu&timeout=10000ms");
  loop.Advance(16s);
  EXPECT_EQ(world.asked.size(), 3U) << "and it is cached";
}

TEST_F(PollerTest, CredentialsAreSentAndRotatedFilesAreRead) {
  const auto sources = ReadSources(
      "sources: [{name: m, addresses: ['https://p'], bearerTokenFile: /t, tls: {caFile: /ca}, "
      "headers: {X-Scope-OrgID: a}, queryParameters: {dedup: 'true'}}]");
  Declare("cpu", "m");
  world.files = {{"/t", "first\n"}, {"/ca", "CA1"}};
  world.hosts["p"] = Same(FakeWorld::Vector({}));
  Start(*sources);
  EXPECT_EQ(world.last_tls.ca_pem, "CA1");
  const auto& headers = world.asked[0].second.headers;
  EXPECT_THAT(headers, Contains(std::pair<std::string, std::string>("Authorization", "Bearer first")));
  EXPECT_THAT(headers, Contains(std::pair<std::string, std::string>("X-Scope-OrgID", "a")));
  EXPECT_THAT(world.asked[0].second.body, HasSubstr("&dedup=true"));
  world.files = {{"/t", "second\n"}, {"/ca", "CA2"}};
  loop.Advance(16s);
  EXPECT_THAT(world.asked.back().second.headers,
              Contains(std::pair<std::string, std::string>("Authorization", "Bearer second")));
  EXPECT_EQ(world.last_tls.ca_pem, "CA2");
  EXPECT_EQ(world.tls_changes, 1);
  world.files.erase("/t");
  loop.Advance(16s);
  EXPECT_THAT(world.asked.back().second.headers,
              Contains(std::pair<std::string, std::string>("Authorization", "Bearer second")))
      << "a file that cannot be read for a moment takes nothing away";
}

TEST_F(PollerTest, APatternRewritesALabelThatDiffersFromTheNodeName) {
  const auto sources = ReadSources(
      "sources: [{name: m, addresses: ['http://p'], nodePatterns: [{label: instance, regex: "
      "'exporter-(.+)'}]}]");
  const SignalId cpu = Declare("cpu", "m");
  world.hosts["p"] = Same(FakeWorld::Vector({{"exporter-n1", "5"}, {"exporter-x", "6"}}));
  Start(*sources);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  EXPECT_THAT(registry.Expose(),
              HasSubstr("berth_measurement_unmatched_series{signal=\"cpu\",source=\"m\"} 1\n"));
}

TEST_F(PollerTest, SeriesOfDeletedNodesAreRemovedEventually) {
  const SignalId cpu = Declare("cpu");
  int round = 0;
  world.hosts["p"] = [&](const http::ClientRequest&) -> Expected<http::ClientResponse> {
    ++round;
    std::vector<std::pair<std::string, std::string>> series = {{"n1", std::to_string(round)}};
    for (int i = 0; i < 100; ++i) series.emplace_back(fmt::format("gone-{}-{}", round, i), "1");
    return FakeWorld::Vector(series);
  };
  Start();
  loop.Advance(15min);
  EXPECT_GT(round, 50);
  EXPECT_EQ(ValueOf(cpu, "n1"), std::to_string(round)) << "numbered anew, and still the right row";
}

TEST_F(PollerTest, AnUnknownSourceIsAnErrorAtTheStart) {
  Declare("cpu", "prometheus");
  Start();
  EXPECT_EQ(error,
            "cpu: metric source \"prometheus\" is neither a URL nor described in --berth-metric-sources");
}

TEST_F(PollerTest, AfterDestructionNothingIsSentOrDelivered) {
  const SignalId cpu = Declare("cpu");
  world.hosts["p"] = Same(FakeWorld::Vector({{"n1", "5"}}));
  Start();
  world.hosts["p"] = Same(FakeWorld::Vector({{"n1", "6"}}));
  poller.reset();
  const auto asked = world.asked.size();
  loop.Advance(60s);
  EXPECT_EQ(world.asked.size(), asked);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
}

}  // namespace
}  // namespace berth::load_metrics
