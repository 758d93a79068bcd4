#include "tools/migrate/access.hpp"

#include <gmock/gmock.h>

#include "tools/migrate/fake_server.hpp"

namespace berth::migrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kOwnReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
constexpr const char* kSelfReviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

// Allows reviews whose text does not contain `refused`.
FakeServer::Answer AllBut(std::string refused) {
  return [refused = std::move(refused)](const client::ApiRequest& request) -> client::Reply {
    const bool allowed = refused.empty() || !request.body.contains(refused);
    return std::string(R"({"status":{"allowed":)") + (allowed ? "true" : "false") + "}}";
  };
}

AccessCheckOptions About(std::string user) { return {.user = std::move(user), .remedy = "do something"}; }

TEST(Access, AllPermissionsAreOk) {
  FakeServer server;
  server.Put(kReviews, AllBut(""));
  const Findings findings = CheckAccess(server, About("system:kube-scheduler"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_THAT(findings[0].what, HasSubstr("system:kube-scheduler has all permissions"));
}

TEST(Access, MissingPermissionsAreReportedWithTheirConsequence) {
  const struct {
    const char* refused;
    Level level;
    const char* expected_text;
  } kCases[] = {
      {R"("resource":"pods","subresource":"binding")", Level::kBlocker,
       "may not create pods/binding: no pod is bound"},
      {R"("resource":"tokenreviews")", Level::kWarning, "create tokenreviews.authentication.k8s.io"},
      {R"("verb":"watch","group":"coordination.k8s.io")", Level::kNote, "a standby polls"},
      {R"("resource":"csinodes")", Level::kBlocker,
       "list csinodes.storage.k8s.io, watch csinodes.storage.k8s.io: nothing is scheduled"},
  };
  for (const auto& one : kCases) {
    FakeServer server;
    server.Put(kReviews, AllBut(one.refused));
    const Findings findings = CheckAccess(server, About("system:kube-scheduler"));
    ASSERT_EQ(findings.size(), 1U) << one.refused;
    EXPECT_EQ(findings[0].level, one.level) << one.refused;
    EXPECT_THAT(findings[0].what, HasSubstr(one.expected_text));
    EXPECT_EQ(findings[0].remedy, "do something");
  }
}

TEST(Access, PermissionsOfConfiguredPluginsAreChecked) {
  FakeServer server;
  server.Put(kReviews, AllBut(R"("resource":"elasticquotas")"));
  AccessCheckOptions options = About("system:kube-scheduler");
  EXPECT_EQ(CheckAccess(server, options)[0].level, Level::kOk);
  options.watched.requested = {"elasticquotas.scheduling.x-k8s.io"};
  const Findings findings = CheckAccess(server, options);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::kWarning);
  EXPECT_THAT(findings[0].what,
              HasSubstr("watch elasticquotas.scheduling.x-k8s.io: no namespace has a quota"));
}

TEST(Access, NoPermissionsAreOneFinding) {
  FakeServer server;
  server.Put(kReviews, AllBut("resource"));
  const Findings findings = CheckAccess(server, About("system:serviceaccount:kube-system:berth"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::kBlocker);
}

TEST(Access, AServiceAccountIsReviewedWithItsGroups) {
  FakeServer server;
  std::string body;
  server.Put(kReviews, [&](const client::ApiRequest& request) -> client::Reply {
    body = request.body;
    return R"({"status":{"allowed":true}})";
  });
  CheckAccess(server, About("system:serviceaccount:kube-system:berth"));
  EXPECT_THAT(body, HasSubstr(R"("groups":["system:authenticated","system:serviceaccounts",)"
                              R"("system:serviceaccounts:kube-system"])"));
}

TEST(Access, ReviewingOneselfNeedsNoPermission) {
  FakeServer server;
  server.Put(kSelfReviewPath, R"({"status":{"userInfo":{"username":"me"}}})");
  server.Put(kOwnReviews, AllBut(""));
  const Findings findings = CheckAccess(server, About("me"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_THAT(server.requests, Contains("POST " + std::string(kOwnReviews)));
}

TEST(Access, WithoutPermissionForReviewsTheFindingSuggestsAnAlternative) {
  FakeServer server;
  server.Forbid(kReviews);
  const Findings findings = CheckAccess(server, About("system:kube-scheduler"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::kWarning);
  EXPECT_THAT(findings[0].remedy, HasSubstr("kubectl auth can-i --list --as=system:kube-scheduler"));
  EXPECT_EQ(server.requests.size(), 2U);  // one request is enough
}

TEST(Access, MissingResourcesNeedNoPermission) {
  FakeServer server;
  server.Put(kReviews, AllBut(R"("resource":"devicetaintrules")"));
  AccessCheckOptions options = About("system:kube-scheduler");
  options.absent = {"devicetaintrules.resource.k8s.io"};
  const Findings findings = CheckAccess(server, options);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::kOk);
}

}  // namespace
}  // namespace berth::migrate
