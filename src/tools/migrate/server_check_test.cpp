#include "tools/migrate/server_check.hpp"

#include <gmock/gmock.h>

#include "kubernetes/client/resources.hpp"
#include "tools/migrate/fake_server.hpp"

namespace berth::migrate {
namespace {

using ::testing::HasSubstr;

// A server with all resources that are watched without feature gates, each in its preferred version.
FakeServer Complete(const std::string& version) {
  FakeServer server;
  server.Put("/version", R"({"gitVersion":")" + version + R"("})");
  std::map<std::string, std::vector<std::string>> groups;
  for (const client::Resource& resource : client::kResources)
    if (resource.feature_gate.empty())
      groups[client::Resource::GroupPath(resource.group, resource.versions[0])].emplace_back(resource.plural);
  for (const auto& [path, plurals] : groups) server.Serve(path, plurals);
  return server;
}

TEST(ServerCheck, ReportsTheVersion) {
  const struct {
    const char* version;
    Level level;
  } kCases[] = {
      {"v1.31.0", Level::kOk},      {"v1.37.1", Level::kOk},      {"v1.33.4-eks-1a2b", Level::kOk},
      {"v1.30.9", Level::kWarning}, {"v1.38.0", Level::kWarning}, {"", Level::kWarning},
  };
  for (const auto& one : kCases) {
    FakeServer server = Complete(one.version);
    Findings findings;
    ASSERT_TRUE(DiscoverServer(server, findings));
    ASSERT_EQ(findings.size(), 1U) << one.version;
    EXPECT_EQ(findings[0].level, one.level) << one.version;
  }
}

TEST(ServerCheck, NamesMissingResources) {
  FakeServer server = Complete("v1.33.0");
  server.Put("/apis/resource.k8s.io/v1", [](const auto&) { return client::Refused(404, "NotFound"); });
  server.Serve("/apis/resource.k8s.io/v1beta1", {"deviceclasses", "resourceclaims", "resourceslices"});
  server.Serve("/apis/scheduling.k8s.io/v1alpha2", {"podgroups", "workloads"});
  server.Serve("/apis/scheduling.x-k8s.io/v1alpha1", {"elasticquotas"});
  server.Serve("/apis/scheduling.sigs.k8s.io/v1alpha1", {"elasticquotas"});
  Findings findings;
  const auto facts = DiscoverServer(server, findings);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->elastic_quotas, "/apis/scheduling.x-k8s.io/v1alpha1/elasticquotas");
  EXPECT_EQ(facts->koordinator_quotas, "/apis/scheduling.sigs.k8s.io/v1alpha1/elasticquotas");
  EXPECT_EQ(facts->absent, std::set<std::string>{"devicetaintrules.resource.k8s.io"});
  EXPECT_THAT(facts->absent_optional, ::testing::Contains("podgroups.scheduling.volcano.sh"));
  EXPECT_EQ(facts->device_classes, "/apis/resource.k8s.io/v1beta1/deviceclasses");
  EXPECT_EQ(facts->pod_groups, "/apis/scheduling.k8s.io/v1alpha2/podgroups");
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[1].level, Level::kNote);
  EXPECT_THAT(findings[1].what, HasSubstr("does not have devicetaintrules.resource.k8s.io"));
  EXPECT_EQ(findings[2].level, Level::kNote);
  EXPECT_THAT(findings[2].what, HasSubstr("has devices as resource.k8s.io/v1beta1;"));
}

TEST(ServerCheck, AnUnreachableServerIsAnError) {
  FakeServer server;
  server.Put("/version", [](const auto&) { return client::NotReached(); });
  Findings findings;
  const auto facts = DiscoverServer(server, findings);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message, "connection refused");
}

TEST(ServerCheck, ForbiddenDiscoveryIsAWarning) {
  FakeServer server;
  server.Put("/version", R"({"gitVersion":"v1.37.1"})");
  server.Forbid("/api/v1");
  Findings findings;
  ASSERT_TRUE(DiscoverServer(server, findings));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[1].level, Level::kWarning);
  EXPECT_THAT(findings[1].remedy, HasSubstr("system:discovery"));
}

}  // namespace
}  // namespace berth::migrate
