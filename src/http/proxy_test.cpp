#include "http/proxy.hpp"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

TEST(Proxy, IsReadFromAUrl) {
  EXPECT_EQ(*ParseProxy("http://p:3128"), (Proxy{Proxy::Kind::kHttp, "p", 3128, "", ""}));
  EXPECT_EQ(*ParseProxy("p"), (Proxy{Proxy::Kind::kHttp, "p", 80, "", ""}));
  EXPECT_EQ(*ParseProxy("socks5://[::1]"), (Proxy{Proxy::Kind::kSocks5, "::1", 1080, "", ""}));
  EXPECT_EQ(*ParseProxy("http://us%40er:pa%3Ass@p:1/"),
            (Proxy{Proxy::Kind::kHttp, "p", 1, "us@er", "pa:ss"}));
}

TEST(Proxy, WithAnUnsupportedSchemeIsRejected) {
  EXPECT_NE(ParseProxy("https://p").error().message.find("not supported"), std::string::npos);
  EXPECT_EQ(ParseProxy("ftp://p").error().message,
            "unsupported scheme \"ftp\", must be http, https, or socks5");
  EXPECT_FALSE(ParseProxy("http://"));
  // Errors contain no password.
  for (const char* url :
       {"https://user:secret@p", "http://user:secret%w@p", "http://user:secret@", "http://user:secret/@p"}) {
    const auto proxy = ParseProxy(url);
    if (!proxy) {
      EXPECT_EQ(proxy.error().message.find("secret"), std::string::npos) << proxy.error().message;
    }
  }
  EXPECT_FALSE(ParseProxy("http://p:0"));
  EXPECT_FALSE(ParseProxy("http://p:70000"));
}

TEST(Proxy, SendsProxyAuthorization) {
  EXPECT_EQ(ParseProxy("http://a:b@p")->Authorization(), "Basic YTpi");
  EXPECT_EQ(ParseProxy("http://p")->Authorization(), "");
}

struct BypassCase {
  const char* no_proxy;
  const char* host;
  bool bypassed;
};
class NoProxy : public ::testing::TestWithParam<BypassCase> {};
TEST_P(NoProxy, MatchesHosts) {
  EXPECT_EQ(BypassesProxy(GetParam().no_proxy, GetParam().host, 443), GetParam().bypassed)
      << GetParam().no_proxy << " and " << GetParam().host;
}
INSTANTIATE_TEST_SUITE_P(
    Rules, NoProxy,
    ::testing::Values(BypassCase{"", "h", false}, BypassCase{"", "localhost", true},
                      BypassCase{"", "127.0.0.5", true}, BypassCase{"", "::1", true},
                      BypassCase{"h", "h", true}, BypassCase{"example.com", "a.example.com", true},
                      BypassCase{"example.com", "badexample.com", false},
                      BypassCase{".example.com", "a.example.com", true},
                      BypassCase{".example.com", "example.com", false},
                      BypassCase{"*.example.com", "a.example.com", true}, BypassCase{"*", "anything", true},
                      BypassCase{"x, h ,y", "H", true}, BypassCase{"h:443", "h", true},
                      BypassCase{"h:444", "h", false}, BypassCase{"10.0.0.0/8", "10.1.2.3", true},
                      BypassCase{"10.0.0.0/8", "11.1.2.3", false}, BypassCase{"10.1.2.3", "10.1.2.3", true},
                      BypassCase{"10.1.2.3:443", "10.1.2.3", true}, BypassCase{"fd00::/8", "fd00::5", true},
                      BypassCase{"[fd00::5]:443", "fd00::5", true}, BypassCase{",,", "h", false}));

}  // namespace
}  // namespace berth::http
