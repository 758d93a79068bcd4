#include "process/policy_config_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::process {
namespace {

using ::testing::HasSubstr;

TEST(PolicyInAConfigMap, IsTheValueOfItsKey) {
  const auto policy =
      PolicyIn(R"({"kind":"ConfigMap","data":{"policy.cfg":"{\"predicates\":[]}","b":"c"}})", "n/p");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(*policy, R"({"predicates":[]})");
}

TEST(PolicyInAConfigMap, AMissingKeyIsNamed) {
  const std::pair<client::Reply, std::string> cases[] = {
      {std::unexpected(client::RequestError{.message = "configmaps \"p\" not found", .http_code = 404}),
       "couldn't get policy config map n/p: configmaps \"p\" not found"},
      {"<html>", "couldn't get policy config map n/p: JSON"},
      {R"({"kind":"ConfigMap"})", "missing policy config map value at key \"policy.cfg\"; n/p has no keys"},
      {R"({"data":{"policy.json":"{}"}})", "n/p has policy.json"},
  };
  for (const auto& [reply, message] : cases) {
    const auto policy = PolicyIn(reply, "n/p");
    ASSERT_FALSE(policy) << message;
    EXPECT_THAT(policy.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace berth::process
