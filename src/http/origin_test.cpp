#include "http/origin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::http {
namespace {

struct OriginCase {
  std::string name, url, host_port, authority, prefix;
  bool tls;
};
class ParsesOrigin : public testing::TestWithParam<OriginCase> {};

TEST_P(ParsesOrigin, IntoItsParts) {
  const auto& want = GetParam();
  const auto origin = ParseOrigin(want.url);
  ASSERT_TRUE(origin) << origin.error().message;
  EXPECT_EQ(origin->HostPort(), want.host_port);
  EXPECT_EQ(origin->Authority(), want.authority);
  EXPECT_EQ(origin->prefix, want.prefix);
  EXPECT_EQ(origin->tls, want.tls);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ParsesOrigin,
    testing::Values(
        OriginCase{"WithPort", "https://api.example:6443", "api.example:6443", "api.example:6443", "", true},
        OriginCase{"TheDefaultPortIsLeftOut", "https://api.example", "api.example:443", "api.example", "",
                   true},
        OriginCase{"PlainHttp", "http://127.0.0.1:8080/", "127.0.0.1:8080", "127.0.0.1:8080", "", false},
        OriginCase{"APrefixLosesItsLastSlash", "https://h/k8s/c/", "h:443", "h", "/k8s/c", true},
        OriginCase{"Ipv6KeepsItsBrackets", "https://[fd00::1]:6443", "[fd00::1]:6443", "[fd00::1]:6443", "",
                   true},
        OriginCase{"WithoutSchemeItIsHttp", "localhost:8080", "localhost:8080", "localhost:8080", "", false},
        OriginCase{"WithoutSchemeOnPort443ItIsHttps", "h:443", "h:443", "h", "", true}),
    [](const auto& row) { return row.param.name; });

TEST(Origin, RejectsInvalidOrigins) {
  for (const char* url :
       {"", "https://", "ftp://h", "https://h:99999", "https://h:0", "https://a b", "/path"}) {
    EXPECT_FALSE(ParseOrigin(url)) << url;
  }
}

TEST(Origin, QueryValuesAreEncoded) {
  EXPECT_EQ(EncodeQuery("status.phase!=Succeeded,a=b c/é"),
            "status.phase%21%3DSucceeded%2Ca%3Db%20c%2F%C3%A9");
}

}  // namespace
}  // namespace berth::http
