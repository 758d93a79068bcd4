#include "scheduler/extenders/http_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <list>

#include "http/base64.hpp"
#include "http/client.hpp"
#include "http/fake_certificate.hpp"
#include "http/fake_server.hpp"
#include "http/io_thread.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::extenders {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string LocationOf(std::uint16_t port, const std::string& scheme = "http") {
  return "Location: " + scheme + "://127.0.0.1:" + std::to_string(port) + "/next\r\n";
}

class HttpTransportTest : public ::testing::Test {
 protected:
  std::unique_ptr<Transport> Connect(config::ExtenderConfig config,
                                     std::size_t max_reply_bytes = kDefaultMaxReplyBytes) {
    const Environment none{.read_file = [](const std::string&) { return Expected<std::string>(""); },
                           .variable = [](const std::string&) { return std::nullopt; }};
    return HttpTransports(io_, none, max_reply_bytes)(config).value();
  }
  Expected<Reply> Post(Transport& transport, const std::string& url) {
    std::promise<Expected<Reply>> reply;
    transport.Send({.url = url, .body = "{}", .timeout = std::chrono::seconds(20)},
                   [&](Expected<Reply> r) { reply.set_value(std::move(r)); });
    return reply.get_future().get();
  }
  static config::ExtenderConfig At(const std::string& url) {
    config::ExtenderConfig config;
    config.url_prefix = url;
    return config;
  }
  static std::string UrlOf(const http::FakeServer& server, const std::string& scheme = "http://") {
    return scheme + "127.0.0.1:" + std::to_string(server.port());
  }

  SystemClock clock_;
  http::IoThread io_{clock_};
  std::atomic<std::uint16_t> configured_port_{0};
};

TEST_F(HttpTransportTest, AReplyBeyondTheLimitIsAnError) {
  http::FakeServer server([](http::FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(200, std::string(1000, 'x'));
  });
  EXPECT_EQ(Post(*Connect(At(UrlOf(server)), 1000), UrlOf(server) + "/filter")->body.size(), 1000U);
  const auto refused = Post(*Connect(At(UrlOf(server)), 999), UrlOf(server) + "/filter");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("larger than the limit of 999 bytes"));
}

TEST_F(HttpTransportTest, ErrorsDoNotContainThePassword) {
  const std::string closed = "http://user:secret@127.0.0.1:1";
  http::FakeServer looping([&](http::FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(307, "", "Location: http://user:secret@127.0.0.1:1/\r\n");
  });
  http::FakeServer invalid([&](http::FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(307, "", "Location: http://user:secret@[/\r\n");
  });
  for (const std::string& url : {closed, UrlOf(looping), UrlOf(invalid), std::string("http://u:secret@[/")}) {
    const auto failed = Post(*Connect(At(url)), url + "/filter");
    ASSERT_FALSE(failed) << url;
    EXPECT_THAT(failed.error().message, Not(HasSubstr("secret"))) << url;
  }
}

TEST_F(HttpTransportTest, ARedirectToAnotherOriginGetsNoClientCertificate) {
  const http::FakeCertificate server_certificate("IP:127.0.0.1"), client_certificate("DNS:scheduler");
  // The handshake with either server fails without a client certificate.
  const auto context = server_certificate.ServerContext(&client_certificate);
  http::FakeServer other(
      [](http::FakePeer& peer, int) {
        while (peer.Read()) peer.Answer(200, "other");
      },
      context.get());
  http::FakeServer configured(
      [&](http::FakePeer& peer, int) {
        while (const auto request = peer.Read()) {
          const bool again = request->find(" /again ") != std::string::npos;
          if (request->find(" /next ") != std::string::npos)
            peer.Answer(200, "configured");
          else
            peer.Answer(307, "", LocationOf(again ? configured_port_.load() : other.port(), "https"));
        }
      },
      context.get());
  configured_port_ = configured.port();
  config::ExtenderConfig config = At(UrlOf(configured, "https://"));
  config.tls.emplace().ca_data = http::EncodeBase64(server_certificate.CertificatePem());
  config.tls->cert_data = http::EncodeBase64(client_certificate.CertificatePem());
  config.tls->key_data = http::EncodeBase64(client_certificate.KeyPem());
  const auto transport = Connect(config);
  const auto same = Post(*transport, config.url_prefix + "/again");
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->body, "configured");
  EXPECT_FALSE(Post(*transport, config.url_prefix + "/filter"));
}

TEST_F(HttpTransportTest, ConnectionsToFewRedirectOriginsAreKept) {
  constexpr int kOrigins = 12;
  std::list<http::FakeServer> targets;
  for (int i = 0; i < kOrigins; ++i)
    targets.emplace_back([](http::FakePeer& peer, int) {
      while (peer.Read()) peer.Answer(200, "ok");
    });
  std::atomic<std::uint16_t> target_port{0};
  http::FakeServer configured([&](http::FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(307, "", LocationOf(target_port));
  });
  const auto transport = Connect(At(UrlOf(configured)));
  const auto call = [&](const http::FakeServer& target) {
    target_port = target.port();
    const auto reply = Post(*transport, UrlOf(configured) + "/filter");
    return reply && reply->body == "ok";
  };
  for (const http::FakeServer& target : targets) EXPECT_TRUE(call(target));
  EXPECT_TRUE(call(targets.back()));
  EXPECT_EQ(targets.back().connections(), 1) << "the latest ones are reused";
  EXPECT_TRUE(call(targets.front()));
  EXPECT_EQ(targets.front().connections(), 2) << "the oldest ones were closed";
  EXPECT_EQ(configured.connections(), 1) << "the configured one is always kept";
}

TEST_F(HttpTransportTest, ARequestCanBeCancelledWhileItsRedirectIsSent) {
  http::FakeServer server([&](http::FakePeer& peer, int) {
    if (peer.Read()) peer.Answer(307, "", LocationOf(configured_port_));
    while (peer.Read()) {
    }
  });
  configured_port_ = server.port();
  const auto transport = Connect(At(UrlOf(server)));
  std::promise<Transport::CallId> id;
  std::promise<Expected<Reply>> reply;
  int sent = 0;
  id.set_value(transport->Send({.url = UrlOf(server) + "/filter",
                                .body = "{}",
                                .timeout = {},
                                .refused = [&]() -> std::optional<std::string> {
                                  if (++sent == 2) transport->Cancel(id.get_future().get());
                                  return std::nullopt;
                                }},
                               [&](Expected<Reply> r) { reply.set_value(std::move(r)); }));
  const auto cancelled = reply.get_future().get();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(sent, 2);
}

TEST_F(HttpTransportTest, ARequestCanBeCancelledOnTheIoThread) {
  std::promise<void> received;
  http::FakeServer server([&](http::FakePeer& peer, int) {
    if (peer.Read()) received.set_value();
    peer.Read();
  });
  const auto transport = Connect(At(UrlOf(server)));
  std::promise<Expected<Reply>> reply;
  const auto id = transport->Send({.url = UrlOf(server) + "/filter", .body = "{}", .timeout = {}},
                                  [&](Expected<Reply> r) { reply.set_value(std::move(r)); });
  received.get_future().wait();
  io_.Sync([&] { transport->Cancel(id); });
  EXPECT_EQ(reply.get_future().get().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace berth::extenders
