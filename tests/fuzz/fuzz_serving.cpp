// The path of a request through the secure server: parsing, authentication, authorization, response.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>

#include "base/random.hpp"
#include "http/fake_loop.hpp"
#include "http/server.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "observability/metrics/registry.hpp"
#include "service/auth/authenticator.hpp"
#include "service/auth/authorizer.hpp"
#include "service/endpoints.hpp"
#include "service/fake_environment.hpp"
#include "service/gate.hpp"
#include "service/negotiation.hpp"
#include "service/zpages.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth;
using namespace berth::service;
using fuzz::Require;
namespace asio = boost::asio;

// Authenticates the user of the token's name as a master; denies everything else.
std::string Review(const client::ApiRequest& request) {
  if (request.path.ends_with("/tokenreviews")) {
    return R"({"status":{"authenticated":true,"user":{"username":"u","groups":["system:masters"]}}})";
  }
  return R"({"status":{"allowed":false,"reason":"no"}})";
}

struct Environment {
  Environment() {
    endpoints.AddHealth("healthz", {});
    endpoints.AddVerbosity();
    AddFlagz(endpoints, [] { return std::map<std::string, std::string>{{"v", "0"}}; });
    AddStatusz(endpoints, {"1.37.1", "1.37"}, clock);
    http::ServerOptions options;
    options.header_limit_bytes = 4096;
    options.body_limit_bytes = 4096;
    server = std::move(*http::Server::Listen(io, options, [this](http::Request request, auto exchange) {
      gate.Handle(std::move(request), std::move(exchange));
      loop.Run();
      while (!api.open.empty()) {
        std::string review = Review(api.open.front().request);
        api.Answer(std::move(review));
      }
      loop.Run();
    }));
  }

  asio::io_context io;
  http::FakeLoop loop;
  client::FakeApi api;
  Random random{1};
  SystemClock clock;
  FakeEnvironment environment;
  metrics::Registry metrics;
  Endpoints endpoints{metrics};
  FilterMetrics meters{metrics};
  Trust trust{{}, {loop, environment, random}, [] {}};
  TokenReviewer tokens{loop, api, random, metrics, std::chrono::seconds(10)};
  Authenticator authenticator{trust, &tokens, clock, meters};
  Authorizer authorizer{loop,
                        &api,
                        random,
                        metrics,
                        *AlwaysAllowed::Parse({"/healthz", "/open/*"}),
                        std::chrono::seconds(10),
                        std::chrono::seconds(10)};
  Gate gate{{loop, authenticator, authorizer, endpoints, meters}};
  std::unique_ptr<http::Server> server;
};

// Must not block: libFuzzer's timer interrupts system calls, and an interrupted connect is lost.
std::string Exchange(Environment& environment, std::string_view bytes) {
  using Error = boost::system::error_code;
  asio::ip::tcp::socket client(environment.io);
  std::string text;
  bool over = false;
  char buffer[4096];
  std::function<void()> read = [&] {
    client.async_read_some(asio::buffer(buffer), [&](const Error& error, std::size_t n) {
      text.append(buffer, n);
      over = static_cast<bool>(error);
      if (!over) read();
    });
  };
  client.async_connect({asio::ip::address_v4::loopback(), environment.server->port()},
                       [&](const Error& error) {
                         Require(!error, "the server takes connections");
                         asio::async_write(client, asio::buffer(bytes), [&](const Error&, std::size_t) {
                           Error ignored;
                           client.shutdown(asio::socket_base::shutdown_send, ignored);
                           read();
                         });
                       });
  while (!over) environment.io.run_one();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Environment environment;
  const auto text = fuzz::Text(data, size);
  const std::string answer = Exchange(environment, text);
  Require(answer.empty() || answer.starts_with("HTTP/1.1 "), "what is answered is HTTP");
  // The server still works after any input.
  const std::string open =
      Exchange(environment, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  Require(open.starts_with("HTTP/1.1 200 OK\r\n") && open.ends_with("\r\n\r\nok"), "an open path is open");
  const std::string closed =
      Exchange(environment, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  Require(closed.starts_with("HTTP/1.1 403 "), "and a closed one closed");
  for (int turn = 0; turn < 1000 && environment.server->connections() > 0; ++turn) environment.io.poll();
  Require(environment.server->connections() == 0, "no connection stays behind");
  if (const auto target = ParseTarget(text)) {
    Require(!target->path.starts_with("http"), "a path is no address");
  }
  for (const MediaRange& range : ParseAccept(text))
    Require(!range.subtype.contains('/'), "a type has two parts");
  return 0;
}
