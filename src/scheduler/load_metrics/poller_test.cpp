#include "scheduler/load_metrics/poller.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "observability/metrics/registry.hpp"
#include "scheduler/load_metrics/fake_environment.hpp"
#include "scheduler/load_metrics/watcher_answer.hpp"
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
        sources, {.loop = loop,
                  .measurements = measurements,
                  .post = [](std::move_only_function<void()> work) { work(); },
                  .post_result = [](const PollResult&, std::move_only_function<void()> work) { work(); },
                  .metrics = registry,
                  .access = environment.parts(),
                  .on_source_change =
                      [this](const SourceChange& n) {
                        changes.push_back(fmt::format("{} {}{}", n.source,
                                                      n.failing ? "fails: " + n.error : "is available",
                                                      n.has_answered ? "" : " (no values yet)"));
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
  static FakeEnvironment::Answer Same(http::ClientResponse response) {
    return [response](const http::ClientRequest&) { return response; };
  }

  http::FakeLoop loop;
  FakeEnvironment environment{loop};
  metrics::Registry registry;
  berth::testing::Cluster cluster;
  SignalTable& measurements = cluster.handle().signals;
  std::vector<std::string> changes;
  std::string error;
  std::unique_ptr<Poller> poller;
};

TEST_F(PollerTest, OneQueryPerSignalAndPollWhateverTheNumberOfNodes) {
  const SignalId cpu = Declare("sum by ($node) (cpu)");
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "0.5"}, {"10.0.0.2:9100", "7"}}));
  Start();
  ASSERT_EQ(environment.requests.size(), 1U);
  EXPECT_EQ(environment.requests[0].second.method, "POST");
  EXPECT_EQ(environment.requests[0].second.target, "/api/v1/query");
  EXPECT_EQ(environment.requests[0].second.body,
            "query=sum%20by%20%28node%2Ckubernetes_node%2Cnodename%2CHostname%2Cinstance%29%20%28cpu%29&"
            "timeout=10000ms");
  EXPECT_EQ(ValueOf(cpu, "n1"), "0.5");
  EXPECT_EQ(ValueOf(cpu, "n2"), "7");
  loop.Advance(60s);
  EXPECT_GE(environment.requests.size(), 4U);
  EXPECT_LE(environment.requests.size(), 6U);
}

TEST_F(PollerTest, AFailedSourceIsReportedOnceAndItsValuesAreHeld) {
  const SignalId cpu = Declare("cpu");
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "5"}}));
  Start();
  environment.hosts["p"] = Refused;
  loop.Advance(40s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  EXPECT_EQ(measurements.signal(cpu).state, SignalState::kHeld);
  loop.Advance(60s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "-");
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "6"}}));
  loop.Advance(20s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "6");
  EXPECT_THAT(changes, ElementsAre("http://p:9090 fails: cpu: p:9090: connection refused",
                                   "http://p:9090 is available"));
}

TEST_F(PollerTest, ASourceThatHasNeverAnsweredIsReportedWithoutValues) {
  Declare("cpu");
  environment.hosts["p"] = Refused;
  Start();
  EXPECT_THAT(changes, ElementsAre("http://p:9090 fails: cpu: p:9090: connection refused (no values yet)"));
}

TEST_F(PollerTest, AtTheStartAFailedPollIsRepeatedSoon) {
  const SignalId cpu = Declare("cpu");
  environment.hosts["p"] = Refused;
  Start();
  loop.Advance(1500ms);
  EXPECT_EQ(environment.requests.size(), 2U);
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "5"}}));
  loop.Advance(1s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  environment.hosts["p"] = Refused;
  const std::size_t requests = environment.requests.size();
  loop.Advance(40s);
  EXPECT_LE(environment.requests.size() - requests, 3U) << "once answered, the interval applies";
}

TEST_F(PollerTest, ASourceThatStaysUnavailableIsPolledAtItsInterval) {
  Declare("cpu");
  environment.hosts["p"] = Refused;
  Start();
  loop.Advance(11s);
  const std::size_t requests = environment.requests.size();
  loop.Advance(60s);
  EXPECT_LE(environment.requests.size() - requests, 5U);
}

// The signal's own query may be answered before those of its guards.
TEST_F(PollerTest, NodesAreReportedWhenAllQueriesOfThePollAreAnswered) {
  const SignalId cpu =
      measurements.Declare({.name = "cpu",
                            .source = "http://p:9090",
                            .expression = "cpu",
                            .guards = {{.name = "age", .expression = "age", .at_most = 60}}});
  environment.hosts["p"] = [](const http::ClientRequest& request) {
    return FakeEnvironment::Vector({{"n1", "5"}, {"n2", request.body.starts_with("query=age") ? "90" : "5"}});
  };
  environment.delay = [](const http::ClientRequest& request) -> Duration {
    return request.body.starts_with("query=age") ? 2s : 0s;
  };
  Start();
  loop.Advance(3s);
  EXPECT_EQ(measurements.signal(cpu).coverage.measured, 1U);
  EXPECT_THAT(
      registry.Expose(),
      HasSubstr("berth_measurement_nodes{signal=\"cpu\",source=\"http://p:9090\",state=\"distrusted\"} 1\n"));
}

TEST_F(PollerTest, ARejectedQueryDoesNotAffectTheOthers) {
  const SignalId good = Declare("good");
  const SignalId bad = Declare("bad");
  environment.hosts["p"] = [](const http::ClientRequest& request) -> Expected<http::ClientResponse> {
    if (request.body.starts_with("query=bad"))
      return FakeEnvironment::Json(R"({"status":"error","errorType":"bad_data","error":"parse error"})", 400);
    return FakeEnvironment::Vector({{"n1", "5"}});
  };
  Start();
  EXPECT_EQ(ValueOf(good, "n1"), "5");
  EXPECT_EQ(measurements.signal(bad).state, SignalState::kGone);
  EXPECT_THAT(measurements.signal(bad).error, HasSubstr("bad_data: parse error"));
  EXPECT_THAT(registry.Expose(),
              HasSubstr("berth_measurement_polls_total{result=\"refused\",source=\"http://p:9090\"} 1\n"));
}

TEST_F(PollerTest, ASlowSourceAnswersEverySignalAfterSomeRounds) {
  std::vector<SignalId> signals;
  for (const char* expression : {"a", "b", "c", "d", "e"}) signals.push_back(Declare(expression));
  MonoTime round{};
  int sent = 0;
  environment.hosts["p"] = [&](const http::ClientRequest&) -> Expected<http::ClientResponse> {
    if (std::exchange(round, loop.Now()) != loop.Now()) sent = 0;
    if (++sent > 2) return Fail(ErrorCode::kTimeout, "no connection within 10s");
    return FakeEnvironment::Vector({{"n1", "5"}});
  };
  Start();
  loop.Advance(2500ms);
  for (const SignalId signal : signals) EXPECT_EQ(ValueOf(signal, "n1"), "5");
}

TEST_F(PollerTest, AWorkloadSignalKeepsItsLabelsAndALimitedNumberOfSeries) {
  const SignalId id = measurements.Declare({.name = "use",
                                            .source = "http://p:9090",
                                            .expression = "use",
                                            .subject = Subject::kWorkload,
                                            .series_labels = {"namespace", "owner_name"},
                                            .max_series = 2});
  environment.hosts["p"] = [](const http::ClientRequest&) {
    std::string series;
    for (const auto* name : {"a", "b", "c", "d"}) {
      series +=
          (series.empty() ? "" : ",") +
          fmt::format(R"({{"metric":{{"owner_name":"{}","namespace":"ns","pod":"x"}},"value":[1.5,"2"]}})",
                      name);
    }
    return FakeEnvironment::Json(
        fmt::format(R"({{"status":"success","data":{{"resultType":"vector","result":[{}]}}}})", series));
  };
  Start();
  const Signal& signal = measurements.signal(id);
  ASSERT_EQ(signal.series.size(), 2U);
  EXPECT_EQ(signal.series[1].name, (SeriesName{{"namespace", "ns"}, {"owner_name", "b"}}));
  EXPECT_EQ(signal.series[1].value, 2);
  EXPECT_EQ(signal.coverage.dropped_series, 2U);
}

TEST_F(PollerTest, AFailedPollOfARareSignalIsRepeatedAfterAMinute) {
  const SignalId rare =
      measurements.Declare({.name = "rare", .source = "http://p:9090", .expression = "rare", .every = 10min});
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "5"}}));
  Start();
  loop.Advance(10min);
  environment.requests.clear();
  environment.hosts["p"] = Refused;
  loop.Advance(20s);
  EXPECT_EQ(environment.requests.size(), 1U);
  loop.Advance(30s);
  EXPECT_EQ(environment.requests.size(), 1U);
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "6"}}));
  loop.Advance(45s);
  EXPECT_EQ(environment.requests.size(), 2U);
  EXPECT_EQ(ValueOf(rare, "n1"), "6");
  loop.Advance(5min);
  EXPECT_EQ(environment.requests.size(), 2U);
}

TEST_F(PollerTest, APodSignalHasItsOwnIntervalAndSeriesNumbers) {
  Declare("cpu");
  const SignalId use = measurements.Declare({.name = "use",
                                             .source = "http://p:9090",
                                             .expression = "use",
                                             .subject = Subject::kPod,
                                             .every = 60s});
  std::vector<std::string> labels_seen;
  measurements.ListenToPods(use, [&](const SignalAnswer& answer) {
    if (answer.fresh == nullptr) return;
    for (const auto& labels : *answer.fresh) {
      for (const auto& [label, value] : labels) labels_seen.push_back(label + "=" + value);
    }
  });
  environment.hosts["p"] = [](const http::ClientRequest& request) {
    if (request.body.starts_with("query=cpu")) return FakeEnvironment::Vector({{"n1", "0.5"}, {"n2", "0.5"}});
    return FakeEnvironment::Json(R"({"status":"success","data":{"resultType":"vector","result":[)"
                                 R"({"metric":{"pod":"p-1","namespace":"ns"},"value":[1.5,"2"]}]}})");
  };
  Start();
  EXPECT_THAT(labels_seen, ElementsAre("namespace=ns", "pod=p-1"));
  loop.Advance(30s);
  const auto requests = [&](const std::string& query) {
    return std::ranges::count_if(environment.requests,
                                 [&](const auto& call) { return call.second.body.starts_with(query); });
  };
  EXPECT_GE(requests("query=cpu"), 2);
  EXPECT_EQ(requests("query=use"), 1);
  loop.Advance(60s);
  EXPECT_EQ(requests("query=use"), 2);
}

TEST_F(PollerTest, TheNextServerIsUsedAfterAFailureAndStaysPreferred) {
  const auto sources = ReadSources("sources: [{name: m, addresses: ['http://p', 'http://q', 'http://r']}]");
  const SignalId cpu = Declare("cpu", "m");
  environment.hosts["p"] = Refused;
  environment.hosts["q"] = Same({200, {{"Content-Type", "text/html"}}, "<html>"});
  environment.hosts["r"] = Same(FakeEnvironment::Vector({{"n1", "5"}}));
  Start(*sources);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  ASSERT_EQ(environment.requests.size(), 3U);
  loop.Advance(16s);
  ASSERT_EQ(environment.requests.size(), 4U);
  EXPECT_EQ(environment.requests.back().first, "r");
  EXPECT_THAT(changes, ElementsAre());
}

TEST_F(PollerTest, ATruncatedDocumentLeadsToTheNextServer) {
  const auto sources = ReadSources("sources: [{name: m, addresses: ['http://p', 'http://q']}]");
  const SignalId cpu = Declare("cpu", "m");
  http::ClientResponse half = FakeEnvironment::Vector({{"n1", "4"}, {"n2", "5"}});
  half.body.resize(half.body.size() / 2 + 20);
  environment.hosts["p"] = Same(half);
  environment.hosts["q"] = Same(FakeEnvironment::Vector({{"n2", "6"}, {"n1", "7"}}));
  Start(*sources);
  EXPECT_EQ(ValueOf(cpu, "n1"), "7");
  EXPECT_EQ(ValueOf(cpu, "n2"), "6");
}

TEST_F(PollerTest, ARejectedQueryIsNotSentToOtherServers) {
  const auto sources = ReadSources("sources: [{name: m, addresses: ['http://p', 'http://q']}]");
  Declare("cpu", "m");
  environment.hosts["p"] =
      Same(FakeEnvironment::Json(R"({"status":"error","errorType":"execution","error":"x"})", 422));
  Start(*sources);
  EXPECT_EQ(environment.requests.size(), 1U);
}

TEST_F(PollerTest, AServerWithoutPostSupportIsQueriedByGet) {
  Declare("cpu");
  environment.hosts["p"] = [](const http::ClientRequest& request) -> Expected<http::ClientResponse> {
    if (request.method == "POST") return http::ClientResponse{405, {}, "Method Not Allowed"};
    return FakeEnvironment::Vector({{"n1", "5"}});
  };
  Start();
  ASSERT_EQ(environment.requests.size(), 2U);
  EXPECT_EQ(environment.requests[1].second.target, "/api/v1/query?query=cpu&timeout=10000ms");
  loop.Advance(16s);
  EXPECT_EQ(environment.requests.size(), 3U) << "and it is cached";
}

TEST_F(PollerTest, CredentialsAreSentAndRotatedFilesAreRead) {
  const auto sources = ReadSources(
      "sources: [{name: m, addresses: ['https://p'], bearerTokenFile: /t, tls: {caFile: /ca}, "
      "headers: {X-Scope-OrgID: a}, queryParameters: {dedup: 'true'}}]");
  Declare("cpu", "m");
  environment.files = {{"/t", "first\n"}, {"/ca", "CA1"}};
  environment.hosts["p"] = Same(FakeEnvironment::Vector({}));
  Start(*sources);
  EXPECT_EQ(environment.last_tls.ca_pem, "CA1");
  const auto& headers = environment.requests[0].second.headers;
  EXPECT_THAT(headers, Contains(std::pair<std::string, std::string>("Authorization", "Bearer first")));
  EXPECT_THAT(headers, Contains(std::pair<std::string, std::string>("X-Scope-OrgID", "a")));
  EXPECT_THAT(environment.requests[0].second.body, HasSubstr("&dedup=true"));
  environment.files = {{"/t", "second\n"}, {"/ca", "CA2"}};
  loop.Advance(16s);
  EXPECT_THAT(environment.requests.back().second.headers,
              Contains(std::pair<std::string, std::string>("Authorization", "Bearer second")));
  EXPECT_EQ(environment.last_tls.ca_pem, "CA2");
  EXPECT_EQ(environment.tls_changes, 1);
  environment.files.erase("/t");
  loop.Advance(16s);
  EXPECT_THAT(environment.requests.back().second.headers,
              Contains(std::pair<std::string, std::string>("Authorization", "Bearer second")))
      << "a file that cannot be read for a moment takes nothing away";
}

TEST_F(PollerTest, APatternRewritesALabelThatDiffersFromTheNodeName) {
  const auto sources = ReadSources(
      "sources: [{name: m, addresses: ['http://p'], nodePatterns: [{label: instance, regex: "
      "'exporter-(.+)'}]}]");
  const SignalId cpu = Declare("cpu", "m");
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"exporter-n1", "5"}, {"exporter-x", "6"}}));
  Start(*sources);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  EXPECT_THAT(registry.Expose(),
              HasSubstr("berth_measurement_unmatched_series{signal=\"cpu\",source=\"m\"} 1\n"));
}

TEST_F(PollerTest, SeriesOfDeletedNodesAreRemovedEventually) {
  const SignalId cpu = Declare("cpu");
  int round = 0;
  environment.hosts["p"] = [&](const http::ClientRequest&) -> Expected<http::ClientResponse> {
    ++round;
    std::vector<std::pair<std::string, std::string>> series = {{"n1", std::to_string(round)}};
    for (int i = 0; i < 100; ++i) series.emplace_back(fmt::format("gone-{}-{}", round, i), "1");
    return FakeEnvironment::Vector(series);
  };
  Start();
  loop.Advance(15min);
  EXPECT_GT(round, 50);
  EXPECT_EQ(ValueOf(cpu, "n1"), std::to_string(round)) << "numbered anew, and still the right row";
}

// --- load-watcher ---

struct WatcherTest : PollerTest {
  SignalId DeclareOfWatcher(std::string_view quantity, Duration hold = 60s) {
    return measurements.Declare({.name = std::string(quantity),
                                 .source = "http://w:2020",
                                 .expression = std::string(quantity),
                                 .hold = hold,
                                 .access = {.protocol = Protocol::kLoadWatcher}});
  }
  // CPU and memory averages of n1 at a window that ended `age` ago.
  http::ClientResponse Response(Duration age) const {
    return ResponseAt(
        std::chrono::floor<std::chrono::seconds>(clock.WallNow() - age).time_since_epoch().count());
  }
  // The same at a window that ended at this time, in Unix seconds.
  static http::ClientResponse ResponseAt(std::int64_t end) {
    return FakeEnvironment::Json(
        fmt::format(R"({{"window":{{"end":{}}},"data":{{"NodeMetricsMap":{{"n1":{{"metrics":[)"
                    R"({{"type":"CPU","operator":"AVG","value":40}},{{"type":"Memory","operator":"AVG",)"
                    R"("value":60}}]}}}}}}}})",
                    end));
  }

  ManualClock clock;
};

TEST_F(WatcherTest, OneRequestAnswersAllSignals) {
  const SignalId cpu = DeclareOfWatcher(kWatcherCpuAverage);
  const SignalId memory = DeclareOfWatcher(kWatcherMemoryAverage);
  environment.hosts["w"] = Same(Response(0s));
  Start();
  ASSERT_EQ(environment.requests.size(), 1U);
  EXPECT_EQ(environment.requests[0].second.method, "GET");
  EXPECT_EQ(environment.requests[0].second.target, "/watcher");
  EXPECT_EQ(environment.requests[0].second.body, "");
  EXPECT_EQ(ValueOf(cpu, "n1"), "40");
  EXPECT_EQ(ValueOf(memory, "n1"), "60");
  EXPECT_EQ(ValueOf(cpu, "n2"), "-");
  environment.hosts["w"] = Refused;
  loop.Advance(40s);
  EXPECT_EQ(measurements.signal(memory).state, SignalState::kHeld);
  EXPECT_THAT(changes, ElementsAre(HasSubstr("http://w:2020 fails: CPU AVG: w:2020: connection refused")));
}

TEST_F(WatcherTest, MetricsHaveTheAgeOfTheirWindowAndAreRejectedWhenTheyAreTooOld) {
  measurements.SetClock(clock);
  const SignalId cpu = DeclareOfWatcher(kWatcherCpuAverage, 60s);
  const SignalId memory = DeclareOfWatcher(kWatcherMemoryAverage, 300s);
  environment.hosts["w"] = Same(Response(100s));
  Start();
  EXPECT_EQ(environment.requests.size(), 2U) << "one request for each time of validity";
  EXPECT_EQ(ValueOf(cpu, "n1"), "-");
  EXPECT_THAT(measurements.signal(cpu).error,
              HasSubstr("the metrics of load-watcher are 1m40s old, and valid for 1m0s"));
  EXPECT_EQ(ValueOf(memory, "n1"), "60");
  EXPECT_EQ(measurements.signal(memory).polled_at, loop.Now() - 100s);
  environment.hosts["w"] = Same(Response(-100s));
  loop.Advance(2s);
  EXPECT_EQ(ValueOf(cpu, "n1"), "40") << "the clock of load-watcher is ahead";
}

TEST_F(WatcherTest, AWindowThatEndedAtTheLowestTimeIsTooOld) {
  measurements.SetClock(clock);
  const SignalId cpu = DeclareOfWatcher(kWatcherCpuAverage);
  environment.hosts["w"] = Same(ResponseAt(INT64_MIN));
  Start();
  EXPECT_EQ(ValueOf(cpu, "n1"), "-");
  EXPECT_THAT(measurements.signal(cpu).error, HasSubstr("and valid for 1m0s"));
}

TEST_F(PollerTest, CredentialsOfAPluginAreSentToItsSourceOnly) {
  Declare("cpu", "https://p");
  measurements.Declare({.name = "with token",
                        .source = "https://p",
                        .expression = "cpu",
                        .access = {.bearer_token = "secret", .insecure_skip_verify = true}});
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "5"}}));
  Start();
  ASSERT_EQ(environment.requests.size(), 2U);
  const std::pair<std::string, std::string> token("Authorization", "Bearer secret");
  EXPECT_THAT(environment.requests[0].second.headers, ::testing::Not(Contains(token)));
  EXPECT_THAT(environment.requests[1].second.headers, Contains(token));
  EXPECT_TRUE(environment.last_tls.insecure);
}

TEST_F(PollerTest, AnUnknownSourceIsAnErrorAtTheStart) {
  Declare("cpu", "prometheus");
  Start();
  EXPECT_EQ(error,
            "cpu: metric source \"prometheus\" is neither a URL nor described in --berth-metric-sources");
}

TEST_F(PollerTest, AfterDestructionNothingIsSentOrDelivered) {
  const SignalId cpu = Declare("cpu");
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "5"}}));
  Start();
  environment.hosts["p"] = Same(FakeEnvironment::Vector({{"n1", "6"}}));
  poller.reset();
  const auto requests = environment.requests.size();
  loop.Advance(60s);
  EXPECT_EQ(environment.requests.size(), requests);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
}

}  // namespace
}  // namespace berth::load_metrics
