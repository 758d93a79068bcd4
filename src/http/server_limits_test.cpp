// Limits for slow, large and invalid clients.
#include <gmock/gmock.h>
#include <malloc.h>
#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>

#include "http/certificates.hpp"
#include "http/client.hpp"
#include "http/fake_certificate.hpp"
#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "http/tls.hpp"

namespace berth::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

Response Text(std::string text) {
  Response response;
  response.body = ShareText(std::move(text));
  return response;
}

ServerTlsOptions TlsOf(const FakeCertificate& certificate) {
  ServerTlsOptions options;
  options.certificate_pem = certificate.CertificatePem();
  options.key_pem = certificate.KeyPem();
  return options;
}

// Runs the loop until the expected result: tests do not wait for real time.
class ServerLimits : public testing::Test {
 protected:
  void Listen(ServerOptions options, Handler handler = {}) {
    if (!handler) handler = [](Request, auto exchange) { exchange->Respond(Text("ok")); };
    auto listening = Server::Listen(io, std::move(options), std::move(handler));
    ASSERT_TRUE(listening.has_value()) << listening.error().message;
    server = std::move(*listening);
  }
  static ServerOptions Secure(const FakeCertificate& certificate) {
    ServerOptions options;
    options.tls = *MakeServerTlsContext(TlsOf(certificate));
    return options;
  }
  tcp::socket Connect(const char* from = "127.0.0.1") {
    tcp::socket socket(io, tcp::endpoint(asio::ip::make_address(from), 0));
    socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), server->port()));
    return socket;
  }
  // Reads until the server closes the connection, or `wanted` has arrived.
  std::string Read(tcp::socket& socket, std::string_view wanted = "") {
    std::string text;
    bool over = false;
    char buffer[4096];
    std::function<void()> read = [&] {
      socket.async_read_some(asio::buffer(buffer), [&](const error_code& error, std::size_t n) {
        text.append(buffer, n);
        over = error || (!wanted.empty() && text.ends_with(wanted));
        if (!over) read();
      });
    };
    read();
    while (!over) io.run_one();
    return text;
  }
  void WaitUntil(const std::function<bool()>& holds) {
    while (!holds()) io.run_one();
  }
  static void Send(tcp::socket& socket, std::string_view text) { asio::write(socket, asio::buffer(text)); }

  // Makes a handshake with server name `name`; returns the first name of the server's certificate.
  std::string Shown(const std::string& name) {
    auto socket = Connect();
    socket.native_non_blocking(true);
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    &SSL_CTX_free);
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(ssl.get(), socket.native_handle());
    if (!name.empty()) SSL_set_tlsext_host_name(ssl.get(), name.c_str());
    while (SSL_connect(ssl.get()) != 1) io.poll();
    const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(ssl.get()), &X509_free);
    for (const char* known : {"main.test", "a.test", "b.test", "x.wild.test", "new.test"}) {
      if (X509_check_host(shown.get(), known, 0, 0, nullptr) == 1) return known;
    }
    return "none of them";
  }

  asio::io_context io;
  std::unique_ptr<Server> server;
};

// Of a TLS stream, buffers alone take 70 KB. Sanitizers' allocators count nothing.
TEST_F(ServerLimits, AConnectionThatSendsNothingTakesLittleMemory) {
  Listen(Secure(FakeCertificate("DNS:main.test")));
  std::vector<tcp::socket> silent;
  const auto before = ::mallinfo2();
  for (int i = 0; i < 20; ++i) silent.push_back(Connect());
  WaitUntil([&] { return server->connections() == silent.size(); });
  const auto after = ::mallinfo2();
  EXPECT_LT(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + silent.size() * 8192);
}

TEST_F(ServerLimits, AStalledHandshakeIsClosed) {
  ServerOptions options = Secure(FakeCertificate("DNS:main.test"));
  options.handshake_timeout = 20ms;
  Listen(std::move(options));
  auto silent = Connect();
  auto slow = Connect();
  Send(slow, std::string_view("\x16\x03\x01\x02\x00\x01", 6));  // the first bytes of a ClientHello
  EXPECT_EQ(Read(silent), "");
  EXPECT_EQ(Read(slow), "");
  WaitUntil([&] { return server->connections() == 0; });
}

TEST_F(ServerLimits, AnIncompleteRequestTimesOut) {
  ServerOptions options;
  options.request_timeout = 20ms;
  Listen(std::move(options));
  for (const std::string_view begin : {"", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX-A: ",
                                       "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"}) {
    auto slow = Connect();
    Send(slow, begin);
    EXPECT_EQ(Read(slow), "") << begin;
  }
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(ServerLimits, SlowBytesDoNotExtendTheRequestTimeout) {
  ServerOptions options;
  options.request_timeout = 40ms;
  Listen(std::move(options));
  auto slow = Connect();
  Send(slow, "GET / HTTP/1.1\r\nX: ");
  WaitUntil([&] { return server->connections() == 1; });
  // Sends one byte per iteration of the loop while the connection is open.
  error_code error;
  std::size_t sent = 0;
  while (server->connections() == 1) {
    asio::write(slow, asio::buffer("a", 1), error);
    ++sent;
    io.run_one_for(1ms);
  }
  EXPECT_GT(sent, 1u);
}

TEST_F(ServerLimits, AnIdleConnectionIsClosed) {
  ServerOptions options;
  options.idle_timeout = 20ms;
  Listen(std::move(options));
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(client), EndsWith("\r\n\r\nok"));
}

TEST_F(ServerLimits, AConnectionWithoutReadsIsClosed) {
  ServerOptions options;
  options.write_timeout = 20ms;
  Listen(std::move(options),
         [](Request, auto exchange) { exchange->Respond(Text(std::string(64 << 20, 'x'))); });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  WaitUntil([&] { return server->connections() == 1; });
  WaitUntil([&] { return server->connections() == 0; });
}

TEST_F(ServerLimits, AConnectionThatWaitsForAResponseIsNotClosed) {
  std::shared_ptr<Exchange> waiting;
  ServerOptions options;
  options.request_timeout = options.idle_timeout = options.write_timeout = 10ms;
  Listen(std::move(options), [&](Request, auto exchange) { waiting = exchange; });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  WaitUntil([&] { return waiting != nullptr; });
  const auto until = std::chrono::steady_clock::now() + 50ms;
  io.run_until(until);
  EXPECT_EQ(server->connections(), 1u);
  waiting->Respond(Text("at last"));
  EXPECT_THAT(Read(client, "at last"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerLimits, TooLargeHeadersAreRejected) {
  ServerOptions options;
  options.header_limit_bytes = 1000;
  options.refusal = [](int status) {
    Response response = Text("no");
    response.status = status;
    return response;
  };
  Listen(std::move(options));
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_THAT(Read(client), StartsWith("HTTP/1.1 431 "));
}

TEST_F(ServerLimits, AtTheLimitTheLongestIdleConnectionIsClosed) {
  ServerOptions options;
  options.max_connections = 2;
  Listen(std::move(options));
  auto first = Connect();
  Send(first, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Read(first, "ok");
  auto second = Connect();
  Send(second, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(second, "ok"), EndsWith("ok"));
  auto third = Connect();
  Send(third, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(third, "ok"), EndsWith("ok"));
  EXPECT_EQ(Read(first), "");
  EXPECT_LE(server->connections(), 2u);
}

TEST_F(ServerLimits, AtTheLimitNewConnectionsWaitForBusyOnes) {
  std::vector<std::shared_ptr<Exchange>> busy;
  ServerOptions options;
  options.max_connections = 2;
  Listen(std::move(options), [&](Request, auto exchange) { busy.push_back(exchange); });
  auto a = Connect(), b = Connect(), c = Connect();
  for (tcp::socket* one : {&a, &b, &c}) Send(*one, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  WaitUntil([&] { return busy.size() == 2; });
  for (int i = 0; i < 50; ++i) io.poll();
  EXPECT_EQ(server->connections(), 2u);
  busy[0]->Respond(Text("done"));
  EXPECT_THAT(Read(a), EndsWith("done"));
  a.close();
  WaitUntil([&] { return busy.size() == 3; });
}

TEST_F(ServerLimits, ConnectionsWithoutARequestDoNotKeepOthersOut) {
  ServerOptions options;
  options.max_connections = 4;
  Listen(std::move(options));
  std::vector<tcp::socket> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(Connect());
    if (i % 2 == 0) Send(silent.back(), "GET / HT");
  }
  auto probe = Connect();
  Send(probe, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(probe, "ok"), EndsWith("ok"));
  EXPECT_LE(server->connections(), 4u);
}

TEST_F(ServerLimits, TheAddressWithTheMostConnectionsLosesOne) {
  ServerOptions options;
  options.max_connections = 3;
  Listen(std::move(options));
  auto other = Connect("127.0.0.2");  // the oldest
  WaitUntil([&] { return server->connections() == 1; });
  auto first = Connect(), second = Connect();
  WaitUntil([&] { return server->connections() == 3; });
  auto third = Connect();
  Send(third, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(third, "ok"), EndsWith("ok"));
  EXPECT_EQ(Read(first), "");
  Send(other, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(other, "ok"), EndsWith("ok"));
}

TEST_F(ServerLimits, PlainHttpOnTheTlsPortGetsAnErrorResponse) {
  Listen(Secure(FakeCertificate("DNS:main.test")));
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(Read(client),
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
}

TEST_F(ServerLimits, TheCertificateIsSelectedByServerName) {
  const FakeCertificate standard("DNS:main.test"), a("DNS:a.test"), wild("DNS:x.wild.test");
  ServerTlsOptions tls = TlsOf(standard);
  tls.named.push_back({a.CertificatePem(), a.KeyPem()});
  tls.named.push_back({wild.CertificatePem(), wild.KeyPem(), {"*.wild.test", "127.0.0.1"}});
  ServerOptions options;
  options.tls = *MakeServerTlsContext(tls);
  Listen(std::move(options));
  EXPECT_EQ(Shown("main.test"), "main.test");
  EXPECT_EQ(Shown("a.test"), "a.test") << "by the certificate's own names";
  EXPECT_EQ(Shown("A.Test"), "a.test");
  EXPECT_EQ(Shown("y.wild.test"), "x.wild.test") << "by the names that were given";
  EXPECT_EQ(Shown("x.y.wild.test"), "main.test") << "a star is one label";
  EXPECT_EQ(Shown("unknown.test"), "main.test");
  EXPECT_EQ(Shown(""), "x.wild.test") << "by the address that was called";
}

TEST_F(ServerLimits, ClientCertificatesAreReadForEveryServerName) {
  const FakeCertificate standard("DNS:main.test"), named("DNS:a.test"), own("DNS:client");
  ServerTlsOptions tls = TlsOf(standard);
  tls.named.push_back({named.CertificatePem(), named.KeyPem()});
  tls.client_ca_pem = own.CertificatePem();
  tls.trust_later = true;
  ServerOptions options;
  options.tls = *MakeServerTlsContext(tls);
  Listen(std::move(options), [](Request request, auto exchange) {
    exchange->Respond(Text(request.peer != nullptr ? "known" : "unknown"));
  });
  const SystemClock clock;
  IoThread client_io(clock);
  for (const auto& [name, certificate] : {std::pair("main.test", &standard), {"a.test", &named}}) {
    const auto client =
        *Client::Make(client_io, {.origin = {.tls = true, .host = "127.0.0.1", .port = server->port()},
                                  .tls = {.ca_pem = certificate->CertificatePem(),
                                          .certificate_pem = own.CertificatePem(),
                                          .key_pem = own.KeyPem(),
                                          .server_name = name}});
    std::promise<std::string> answer;
    client->Send({.target = "/"}, [&](Expected<ClientResponse> reply) {
      answer.set_value(reply ? std::string(reply->body) : reply.error().message);
    });
    auto answered = answer.get_future();
    WaitUntil([&] { return answered.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    EXPECT_EQ(answered.get(), "known") << name;
  }
}

TEST_F(ServerLimits, ABodyMayBeLargerWithATrustedClientCertificate) {
  const FakeCertificate own("DNS:main.test");
  const auto trusted = CertificateAuthority::Make("trusted"), other = CertificateAuthority::Make("other");
  ServerTlsOptions tls = TlsOf(own);
  tls.client_ca_pem = trusted->pem();
  ServerOptions options;
  options.tls = *MakeServerTlsContext(tls);
  options.body_limit_bytes = 100;
  options.anonymous_body_limit_bytes = 10;
  Listen(std::move(options));
  const SystemClock clock;
  IoThread client_io(clock);
  const auto status = [&](std::size_t body_bytes, const KeyPair& pair) {
    const auto client =
        *Client::Make(client_io, {.origin = {.tls = true, .host = "127.0.0.1", .port = server->port()},
                                  .tls = {.ca_pem = own.CertificatePem(),
                                          .certificate_pem = pair.certificate,
                                          .key_pem = pair.key,
                                          .server_name = "main.test"}});
    std::promise<int> answer;
    client->Send({.method = "POST", .target = "/", .body = std::string(body_bytes, 'x')},
                 [&](Expected<ClientResponse> reply) { answer.set_value(reply ? reply->status : 0); });
    auto answered = answer.get_future();
    WaitUntil([&] { return answered.wait_for(0s) == std::future_status::ready; });
    return answered.get();
  };
  EXPECT_EQ(status(11, *trusted->ForClient("me", {})), 200);
  EXPECT_EQ(status(101, *trusted->ForClient("me", {})), 413);
  EXPECT_EQ(status(11, *other->ForClient("me", {})), 413);
  EXPECT_EQ(status(11, {}), 413);
  EXPECT_EQ(status(10, {}), 200);
}

TEST_F(ServerLimits, NewConnectionsGetTheNewCertificateAndOldOnesContinue) {
  const FakeCertificate before("DNS:main.test"), after("DNS:new.test");
  Listen(Secure(before));
  EXPECT_EQ(Shown(""), "main.test");
  server->SetTls(*MakeServerTlsContext(TlsOf(after)));
  EXPECT_EQ(Shown(""), "new.test");
}

TEST(ServerTls, ErrorsNameTheUnusablePart) {
  const FakeCertificate one("DNS:a"), other("DNS:b");
  ServerTlsOptions options = TlsOf(one);
  options.key_pem = other.KeyPem();
  EXPECT_THAT(MakeServerTlsContext(options).error().message, HasSubstr("server key"));
  options.key_pem = "rubbish";
  EXPECT_THAT(MakeServerTlsContext(options).error().message, StartsWith("server key: "));
  options.certificate_pem = "rubbish";
  EXPECT_THAT(MakeServerTlsContext(options).error().message, StartsWith("server certificate: "));
  options = TlsOf(one);
  options.groups = "P-256:no-such-group";
  EXPECT_THAT(MakeServerTlsContext(options).error().message, StartsWith("curves: "));
}

TEST(ListeningErrors, HaveGosTexts) {
  asio::io_context io;
  const auto first = Server::Listen(io, {}, {});
  ServerOptions options;
  options.port = (*first)->port();
  const Error taken = Server::Listen(io, options, {}).error();
  EXPECT_EQ(taken.message,
            "listen tcp 127.0.0.1:" + std::to_string(options.port) + ": bind: address already in use");
  EXPECT_EQ(taken.code, ErrorCode::kConflict);
  EXPECT_EQ((*first)->address(), "127.0.0.1:" + std::to_string(options.port));
  options.address = "192.0.2.1";
  EXPECT_EQ(
      Server::Listen(io, options, {}).error().message,
      "listen tcp 192.0.2.1:" + std::to_string(options.port) + ": bind: cannot assign requested address");
}

TEST_F(ServerLimits, TheUnspecifiedAddressMeansBothFamilies) {
  ServerOptions options;
  options.address = "0.0.0.0";
  options.both_families = true;
  Listen(std::move(options));
  EXPECT_THAT(server->address(), testing::AnyOf(StartsWith("[::]:"), StartsWith("0.0.0.0:")));
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Read(client, "ok"), EndsWith("ok"));
}

TEST(ListeningErrors, APortCanBeShared) {
  asio::io_context io;
  ServerOptions options;
  options.reuse_port = true;
  const auto first = Server::Listen(io, options, {});
  options.port = (*first)->port();
  EXPECT_TRUE(Server::Listen(io, options, {}).has_value());
}

}  // namespace
}  // namespace berth::http
