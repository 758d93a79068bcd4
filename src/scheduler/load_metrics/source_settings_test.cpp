#include "scheduler/load_metrics/source_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::load_metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(MetricSources, AllFieldsAreRead) {
  const auto sources = ReadSources(R"(
sources:
- name: main
  addresses: ["https://p0:9090/prom/", "https://p1"]
  pollInterval: 30s
  timeout: 5s
  bearerTokenFile: /token
  tls: {caFile: /ca, certFile: /c, keyFile: /k, serverName: s, insecureSkipVerify: true}
  headers: {X-Scope-OrgID: a}
  queryParameters: {dedup: "true"}
  nodeLabels: [host]
  nodePatterns: [{label: host, regex: "(.*)-m"}]
- addresses: ["http://other:9090"]
  basicAuth: {username: u, passwordFile: /pw}
)");
  ASSERT_TRUE(sources) << sources.error().message;
  ASSERT_EQ(sources->size(), 2U);
  const SourceSettings& main = sources->at(0);
  EXPECT_EQ(main.name, "main");
  EXPECT_THAT(main.addresses, ElementsAre("https://p0:9090/prom/", "https://p1"));
  EXPECT_EQ(main.poll_interval, 30s);
  EXPECT_EQ(main.timeout, 5s);
  EXPECT_EQ(main.bearer_token_file, "/token");
  EXPECT_EQ(main.tls.server_name, "s");
  EXPECT_TRUE(main.tls.insecure_skip_verify);
  EXPECT_THAT(main.headers, ElementsAre(std::pair("X-Scope-OrgID", "a")));
  EXPECT_THAT(main.node_labels, ElementsAre("host"));
  EXPECT_EQ(main.node_patterns.at(0).replacement, "$1");
  EXPECT_EQ(sources->at(1).name, "http://other:9090");
  EXPECT_EQ(sources->at(1).poll_interval, 15s);
  EXPECT_THAT(sources->at(1).node_labels,
              ElementsAre("node", "kubernetes_node", "nodename", "Hostname", "instance"));
}

TEST(MetricSources, ErrorsContainThePath) {
  const struct {
    std::string text, error;
  } cases[] = {
      {"sources: [{adresses: [http://p]}]", "unknown field \"sources[0].adresses\""},
      {"sources: [{name: x}]", "sources[0].addresses: Required value"},
      {"sources: [{addresses: [p:9090]}]",
       "sources[0].addresses[0]: Invalid value: \"p:9090\": must begin with http://"},
      {"sources: [{addresses: ['http://u:secret@p']}]",
       "sources[0].addresses[0]: Invalid value: \"http://u:xxxxx@p\": must not contain a password; set "
       "basicAuth"},
      {"sources: [{addresses: ['http://']}]", "sources[0].addresses[0]: Invalid value: \"http://\""},
      {"sources: [{addresses: [http://p], pollInterval: 15}]", "pollInterval"},
      {"sources: [{addresses: [http://p], pollInterval: 100ms}]",
       "sources[0].pollInterval: Invalid value: \"100ms\": must be at least 1s"},
      {"sources: [{addresses: [http://p], timeout: soon}]",
       "sources[0].timeout: Invalid value: \"soon\": expected a duration"},
      {"sources: [{addresses: [http://p], nodeLabels: []}]", "sources[0].nodeLabels: Required value"},
      {"sources: [{addresses: [http://p], nodePatterns: [{label: a, regex: '('}]}]",
       "sources[0].nodePatterns[0].regex: Invalid value: \"(\""},
      {"sources: [{addresses: [http://p], bearerToken: t, basicAuth: {username: u}}]", "only one of"},
      {"sources: [{addresses: [http://p], tls: {certFile: c}}]",
       "certFile and keyFile must be given together"},
      {"sources: [{addresses: [http://p], headers: {a: 1}}]",
       "sources[0].headers.a: Invalid value: 1: expected a string"},
      {"sources: [{addresses: [http://p]}, {addresses: [http://p]}]",
       "sources[1].name: Duplicate value: \"http://p\""},
  };
  for (const auto& [text, error] : cases) {
    const auto sources = ReadSources(text);
    ASSERT_FALSE(sources) << text;
    EXPECT_THAT(sources.error().message, HasSubstr(error));
  }
}

TEST(MetricSources, ASourceIsFoundByNameOrAddressOrIsAnAddress) {
  const auto sources =
      ReadSources("sources: [{name: main, addresses: ['http://p:9090/', 'http://q:9090'], timeout: 3s}]");
  ASSERT_TRUE(sources) << sources.error().message;
  for (const auto* wanted : {"main", "http://p:9090", "http://p:9090/", "http://q:9090"})
    EXPECT_EQ(FindSource(*sources, wanted)->timeout, 3s) << wanted;
  const auto plain = FindSource(*sources, "http://r:9090");
  ASSERT_TRUE(plain);
  EXPECT_THAT(plain->addresses, ElementsAre("http://r:9090"));
  EXPECT_EQ(plain->timeout, 10s);
  EXPECT_EQ(FindSource(*sources, "mian").error().message,
            "metric source \"mian\" is neither a URL nor described in --berth-metric-sources; did you mean "
            "\"main\"?");
}

}  // namespace
}  // namespace berth::load_metrics
