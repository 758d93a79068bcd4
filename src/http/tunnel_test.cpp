// Requests to proxies and handling of rejections. Tunnels through real proxies are tested with a real API
// server (tests/cluster/end2end --access).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "http/client.hpp"
#include "http/fake_server.hpp"
#include "http/io_thread.hpp"

namespace berth::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ThroughAProxy : public testing::Test {
 protected:
  Expected<ClientResponse> Get(const FakeServer& proxy, bool tls, std::string_view scheme = "http") {
    ClientOptions options{.origin = {.tls = tls, .host = "api.example", .port = 6443, .prefix = "/k"}};
    options.proxy =
        ParseProxy(std::string(scheme) + "://a:b@127.0.0.1:" + std::to_string(proxy.port())).value();
    const auto client = std::move(Client::Make(io_, std::move(options)).value());
    std::promise<Expected<ClientResponse>> answer;
    client->Send({.target = "/x"}, [&](Expected<ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get();
  }

  SystemClock clock_;
  IoThread io_{clock_};
};

TEST_F(ThroughAProxy, PlainHttpUsesTheAbsoluteUrl) {
  std::string seen;
  FakeServer proxy([&](FakePeer& peer, int) {
    seen = *peer.Read();
    peer.Answer(200, "hello");
  });
  const auto answer = Get(proxy, false);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
  EXPECT_THAT(
      seen, AllOf(StartsWith("GET http://api.example:6443/k/x HTTP/1.1\r\n"),
                  HasSubstr("Host: api.example:6443\r\n"), HasSubstr("Proxy-Authorization: Basic YTpi\r\n")));
}

TEST_F(ThroughAProxy, ARejectedTunnelMeansThatNothingWasSent) {
  std::string seen;
  FakeServer proxy([&](FakePeer& peer, int) {
    seen = *peer.Read();
    peer.Write("HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n");
  });
  const auto answer = Get(proxy, true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("407 Who are you"));
  EXPECT_THAT(seen, AllOf(StartsWith("CONNECT api.example:6443 HTTP/1.1\r\n"),
                          HasSubstr("Proxy-Authorization: Basic YTpi\r\n")));
}

TEST_F(ThroughAProxy, AProxyWithoutSocksSupportIsDetected) {
  FakeServer proxy([&](FakePeer& peer, int) { peer.Write("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  const auto answer = Get(proxy, true, "socks5");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("no SOCKS5 server"));
}

}  // namespace
}  // namespace berth::http
