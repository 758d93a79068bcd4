#include "sandbox/apiserver/auth/policy.hpp"

#include <gtest/gtest.h>

#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kPolicy = R"(
anonymous: false
users:
- {name: alice, groups: [dev], token: s3cret}
rules:
- {effect: allow, users: [alice], verbs: [delete], resources: [pods], names: [mine]}
- {effect: deny, groups: [dev], verbs: [delete], resources: [pods]}
- {effect: deny, groups: [dev], paths: [/metrics*]}
)";

struct RuleCase {
  std::string name;
  User user;
  Attributes wanted;
  bool allowed;
};
void PrintTo(const RuleCase& row, std::ostream* out) { *out << row.name; }

class Rules : public testing::TestWithParam<RuleCase> {};
TEST_P(Rules, Decide) {
  const auto policy = Policy::Parse(kPolicy);
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(policy->Decide(GetParam().user, GetParam().wanted).allowed, GetParam().allowed);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Rules,
    testing::Values(
        RuleCase{"AMemberOfADeniedGroup", {"x", {"dev"}}, {"delete", "", "pods", "a", "b", ""}, false},
        RuleCase{
            "TheFirstRuleThatMatches", {"alice", {"dev"}}, {"delete", "", "pods", "a", "mine", ""}, true},
        RuleCase{"AnotherVerb", {"alice", {"dev"}}, {"get", "", "pods", "a", "b", ""}, true},
        RuleCase{
            "ASubresourceIsAnotherResource", {"x", {"dev"}}, {"delete", "", "pods/x", "a", "b", ""}, true},
        RuleCase{"AnotherUser", {"bob", {"ops"}}, {"delete", "", "pods", "a", "b", ""}, true},
        RuleCase{"APathWithAStar", {"x", {"dev"}}, {"get", "", "", "", "", "/metrics/x"}, false},
        RuleCase{"AnotherPath", {"x", {"dev"}}, {"get", "", "", "", "", "/version"}, true},
        RuleCase{"AMaster", {"x", {"dev", "system:masters"}}, {"delete", "", "pods", "a", "b", ""}, true}),
    [](const auto& row) { return row.param.name; });

TEST(Policy, AcceptsOnlyConfiguredTokens) {
  const auto policy = Policy::Parse(kPolicy);
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->ByToken("s3cret")->name, "alice");
  EXPECT_FALSE(policy->ByToken("").has_value());
  EXPECT_FALSE(policy->ByToken("other").has_value());
}

TEST(Policy, AppliesToMetricsAndToReviewsOfOthers) {
  TestCluster cluster;
  const auto policy = Policy::Parse(R"(
users: [{name: alice, groups: [dev], token: s3cret}]
rules:
- effect: deny
  groups: [dev]
  apiGroups: [metrics.k8s.io, authentication.k8s.io, authorization.k8s.io]
)");
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  ApiServer api(cluster.verbs, cluster.timers, cluster.random,
                {.policy = std::make_shared<const Policy>(*policy)});
  const auto status = [&](std::string method, std::string target, std::string body) {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers.Add("Authorization", "Bearer s3cret");
    request.body = std::move(body);
    auto response = std::make_shared<RecordedResponse>();
    api.Handle(std::move(request), std::make_shared<FakeExchange>(response));
    return response->status;
  };
  const std::string access =
      R"({"spec":{"user":"bob","resourceAttributes":{"verb":"get","resource":"pods"}}})";
  const std::string reviews = "/apis/authorization.k8s.io/v1/";
  EXPECT_EQ(status("GET", "/apis/metrics.k8s.io/v1beta1/nodes", ""), 403);
  EXPECT_EQ(status("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods", ""), 403);
  EXPECT_EQ(status("POST", "/apis/authentication.k8s.io/v1/tokenreviews", R"({"spec":{"token":"s3cret"}})"),
            403);
  EXPECT_EQ(status("POST", reviews + "subjectaccessreviews", access), 403);
  EXPECT_EQ(status("POST", reviews + "namespaces/default/localsubjectaccessreviews", access), 403);
  EXPECT_EQ(status("POST", reviews + "selfsubjectaccessreviews", access), 201);
}

TEST(Policy, AnErrorNamesTheInvalidField) {
  EXPECT_NE(Policy::Parse("rules: [{effect: maybe}]").error().message.find("rules[0].effect"),
            std::string::npos);
  EXPECT_NE(Policy::Parse("users: [{groups: [a]}]").error().message.find("users[0].name"), std::string::npos);
  EXPECT_FALSE(Policy::Parse("ruels: []").has_value());
  EXPECT_FALSE(Policy::Parse("[").has_value());
}

}  // namespace
}  // namespace berth::sandbox
