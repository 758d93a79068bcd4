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

TEST(Policy, AnErrorNamesTheInvalidField) {
  EXPECT_NE(Policy::Parse("rules: [{effect: maybe}]").error().message.find("rules[0].effect"),
            std::string::npos);
  EXPECT_NE(Policy::Parse("users: [{groups: [a]}]").error().message.find("users[0].name"), std::string::npos);
  EXPECT_FALSE(Policy::Parse("ruels: []").has_value());
  EXPECT_FALSE(Policy::Parse("[").has_value());
}

}  // namespace
}  // namespace berth::sandbox
