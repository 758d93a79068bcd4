#include "http/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "http/fake_server.hpp"
#include "http/io_thread.hpp"

namespace berth::http {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using namespace std::chrono_literals;

constexpr std::string_view kStreamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class HttpClient : public testing::Test {
 protected:
  std::unique_ptr<Client> Connect(std::uint16_t port, ClientOptions options = {}) {
    options.origin.host = "127.0.0.1";
    options.origin.port = port;
    return std::move(Client::Make(io_, std::move(options)).value());
  }
  static Expected<ClientResponse> Do(Client& client, ClientRequest request) {
    std::promise<Expected<ClientResponse>> answer;
    client.Send(std::move(request), [&](Expected<ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get();
  }
  static Expected<ClientResponse> Read(Client& client, StreamOptions options, Duration timeout = {}) {
    std::promise<Expected<ClientResponse>> answer;
    client.Stream({.target = "/w", .timeout = timeout}, std::move(options),
                  [&](Expected<ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get();
  }
  static ClientRequest Get(std::string target) { return {.target = std::move(target)}; }
  static ClientRequest Post(std::string body) {
    return {.method = "POST",
            .target = "/p",
            .headers = {{"Content-Type", "application/json"}},
            .body = std::move(body)};
  }

  SystemClock clock_;
  IoThread io_{clock_};
};

TEST_F(HttpClient, SendsTheRequestWithThePrefixAndReturnsTheResponse) {
  std::string seen;
  FakeServer server([&](FakePeer& peer, int) {
    seen = *peer.Read();
    peer.Answer(201, "{}", "Retry-After: 7\r\n");
  });
  auto client = Connect(server.port(), {.origin = {.prefix = "/k8s"}});
  const auto answer = Do(*client, Post("hello"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(*answer->Find("retry-after"), "7");
  EXPECT_EQ(answer->Find("absent"), nullptr);
  EXPECT_THAT(
      seen, AllOf(StartsWith("POST /k8s/p HTTP/1.1\r\nHost: 127.0.0.1:"), HasSubstr("Content-Length: 5\r\n"),
                  HasSubstr("Content-Type: application/json\r\n"), testing::EndsWith("\r\n\r\nhello")));
}

TEST_F(HttpClient, ReusesAConnection) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(200, "x");
  });
  auto client = Connect(server.port());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Do(*client, i % 2 == 0 ? Get("/") : Post("b"))->body, "x");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpClient, LimitsItsConnectionsAndLosesNoRequest) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(200, "x");
  });
  auto client = Connect(server.port(), {.max_connections = 3});
  constexpr int kRequests = 200;
  std::atomic<int> good = 0;
  std::promise<void> all;
  std::atomic<int> left = kRequests;
  for (int i = 0; i < kRequests; ++i) {
    client->Send(Get("/"), [&](Expected<ClientResponse> r) {
      good += r && r->body == "x";
      if (--left == 0) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_EQ(good, kRequests);
  EXPECT_LE(server.connections(), 3);
}

TEST_F(HttpClient, ARefusedConnectionMeansThatNothingWasSent) {
  std::uint16_t port = 0;
  {
    FakeServer gone([](FakePeer&, int) {});
    port = gone.port();
  }
  auto client = Connect(port);
  const auto answer = Do(*client, Post(""));
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message,
              AllOf(StartsWith("dial tcp 127.0.0.1:"), HasSubstr("Connection refused")));
}

TEST_F(HttpClient, ALostResponseIsAmbiguous) {
  FakeServer server([](FakePeer& peer, int number) {
    peer.Read();
    if (number == 1) peer.Reset();
  });
  auto client = Connect(server.port());
  EXPECT_EQ(Do(*client, Post("x")).error().code, ErrorCode::kAmbiguous) << "closed";
  EXPECT_EQ(Do(*client, Post("x")).error().code, ErrorCode::kAmbiguous) << "reset";
}

TEST_F(HttpClient, APartialResponseIsAmbiguous) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  });
  auto client = Connect(server.port());
  EXPECT_EQ(Do(*client, Get("/")).error().code, ErrorCode::kAmbiguous);
}

TEST_F(HttpClient, OnAStaleConnectionOnlyIdempotentRequestsAreRepeated) {
  // Every connection responds once, reads one more request and closes.
  std::atomic<int> posts = 0;
  FakeServer server([&](FakePeer& peer, int) {
    peer.Read();
    peer.Answer(200, "first");
    const auto second = peer.Read();
    posts += second && second->starts_with("POST");
  });
  auto client = Connect(server.port());
  ASSERT_TRUE(Do(*client, Get("/1")));
  EXPECT_EQ(Do(*client, Get("/2"))->body, "first") << "answered by a new connection";
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(Do(*client, Post("x")).error().code, ErrorCode::kAmbiguous);
  EXPECT_EQ(posts, 1);
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(HttpClient, AConnectionThatTheServerHasClosedIsNotUsed) {
  std::promise<void> closed;
  FakeServer server([&](FakePeer& peer, int number) {
    peer.Read();
    peer.Answer(200, "x", number == 0 ? "Connection: close\r\n" : "");
  });
  auto client = Connect(server.port());
  EXPECT_TRUE(Do(*client, Get("/")));
  EXPECT_TRUE(Do(*client, Post("x")));
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(HttpClient, InvalidHttpIsAnInvalidResponse) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write("SSH-2.0-OpenSSH\r\n\r\n");
  });
  auto client = Connect(server.port());
  EXPECT_EQ(Do(*client, Get("/")).error().code, ErrorCode::kInvalid);
}

TEST_F(HttpClient, AnUnsupportedTransferCodingIsAnInvalidResponse) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
  });
  auto client = Connect(server.port());
  const auto answer = Do(*client, Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(answer.error().message, HasSubstr("unsupported transfer coding"));
}

TEST_F(HttpClient, TrailersAreNotHeaders) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nRetry-After: 7\r\n\r\n");
  });
  auto client = Connect(server.port());
  const auto answer = Do(*client, Get("/"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "ok");
  EXPECT_EQ(answer->Find("Retry-After"), nullptr);
}

TEST_F(HttpClient, ABodyLargerThanAllowedIsRejected) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Answer(200, std::string(1000, 'x'));
  });
  auto client = Connect(server.port());
  EXPECT_EQ(Do(*client, {.target = "/", .body_limit_bytes = 999}).error().code, ErrorCode::kInvalid);
}

TEST_F(HttpClient, ADeadlineEndsARequestWithoutAResponse) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) continue;
  });
  auto client = Connect(server.port());
  EXPECT_EQ(Do(*client, {.target = "/", .timeout = 30ms}).error().code, ErrorCode::kTimeout);
}

TEST_F(HttpClient, ADeadlineBeforeSendingIsUnavailable) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) continue;
  });
  auto client = Connect(server.port(), {.max_connections = 1});
  client->Send(Get("/blocks"), [](Expected<ClientResponse>) {});
  EXPECT_EQ(Do(*client, {.method = "POST", .target = "/", .timeout = 30ms}).error().code,
            ErrorCode::kUnavailable);
}

TEST_F(HttpClient, StreamsLineByLine) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) {
      peer.Write(kStreamHead);
      peer.Chunk("one\ntwo\nth");
      peer.Chunk("ree\n\n");
      peer.Chunk("rest");
      peer.Write("0\r\n\r\n");
    }
  });
  auto client = Connect(server.port());
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> lines;
    bool opened = false;
    const auto end =
        Read(*client, {.on_open = [&] { opened = true; },
                       .on_line = [&](std::string_view l) { return lines.emplace_back(l), true; }});
    EXPECT_TRUE(opened);
    EXPECT_THAT(lines, ElementsAre("one", "two", "three", "rest"));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status, 200);
    EXPECT_EQ(end->body, "");
  }
  EXPECT_EQ(server.connections(), 1) << "a stream that ended properly leaves a usable connection";
}

TEST_F(HttpClient, AnInterruptedStreamIsAmbiguousAfterItsLastCompleteLine) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write(kStreamHead);
    peer.Chunk("one\ntw");
  });
  auto client = Connect(server.port());
  std::vector<std::string> lines;
  const auto end =
      Read(*client, {.on_line = [&](std::string_view l) { return lines.emplace_back(l), true; }});
  EXPECT_EQ(end.error().code, ErrorCode::kAmbiguous);
  EXPECT_THAT(lines, ElementsAre("one"));
}

constexpr std::string_view kFramedHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/framed;stream=watch\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(HttpClient, StreamsFrameByFrameIfTheResponseHasTheFramedType) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) {
      peer.Write(kFramedHead);
      peer.Chunk(std::string("\0\0\0\3o\ne\0\0", 9));
      peer.Chunk(std::string("\0\2tw", 4));
      peer.Write("0\r\n\r\n");
    }
  });
  auto client = Connect(server.port());
  for (const std::string type : {"application/framed", "application/frame"}) {
    std::vector<std::string> pieces;
    const auto end = Read(
        *client,
        {.on_line = [&](std::string_view p) { return pieces.emplace_back(p), true; }, .framed_type = type});
    ASSERT_TRUE(end);
    if (type == "application/framed") {
      EXPECT_THAT(pieces, ElementsAre("o\ne", "tw"));
    } else {
      EXPECT_THAT(pieces, ElementsAre(std::string("\0\0\0\3o", 5), std::string("e\0\0\0\2tw", 7)));
    }
  }
}

TEST_F(HttpClient, AStreamThatEndsWithinAFrameIsAmbiguous) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write(kFramedHead);
    peer.Chunk(std::string("\0\0\0\3on", 6));
    peer.Write("0\r\n\r\n");
    peer.Read();
  });
  auto client = Connect(server.port());
  const auto end = Read(*client, {.on_line = [](std::string_view) { return ADD_FAILURE(), true; },
                                  .framed_type = "application/framed"});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kAmbiguous);
}

TEST_F(HttpClient, AFrameWithATooLargeLengthEndsTheStream) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write(kFramedHead);
    peer.Chunk(std::string("\0\0\0\x65", 4));
    peer.Read();
  });
  auto client = Connect(server.port());
  const auto end = Read(*client, {.on_line = [](std::string_view) { return true; },
                                  .framed_type = "application/framed",
                                  .max_line_bytes = 100});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(end.error().message, "a frame of the stream is longer than allowed");
}

TEST_F(HttpClient, AnErrorResponseToAStreamIsCollected) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Answer(410, "{\"reason\":\"Expired\"}\n");
  });
  auto client = Connect(server.port());
  const auto end = Read(*client, {.on_line = [](std::string_view) { return ADD_FAILURE(), true; }});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 410);
  EXPECT_EQ(end->body, "{\"reason\":\"Expired\"}\n");
}

TEST_F(HttpClient, ALineLongerThanAllowedEndsTheStream) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write(kStreamHead);
    peer.Chunk(std::string(101, 'x'));
    peer.Read();
  });
  auto client = Connect(server.port());
  const auto end = Read(*client, {.on_line = [](std::string_view) { return true; }, .max_line_bytes = 100});
  EXPECT_EQ(end.error().code, ErrorCode::kInvalid);
}

TEST_F(HttpClient, ASilentStreamEndsAfterItsIdleTimeout) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write(kStreamHead);
    peer.Chunk("one\n");
    peer.Read();
  });
  auto client = Connect(server.port());
  int lines = 0;
  const auto end =
      Read(*client, {.on_line = [&](std::string_view) { return ++lines, true; }, .idle_timeout = 50ms});
  EXPECT_EQ(end.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(lines, 1);
}

TEST_F(HttpClient, TheReaderCanEndAStream) {
  FakeServer server([](FakePeer& peer, int) {
    peer.Read();
    peer.Write(kStreamHead);
    peer.Chunk("one\ntwo\nthree\n");
    peer.Read();
  });
  auto client = Connect(server.port());
  int lines = 0;
  const auto end = Read(*client, {.on_line = [&](std::string_view) { return ++lines < 2; }});
  EXPECT_EQ(end.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(lines, 2);
}

TEST_F(HttpClient, ACallCanBeCancelledFromAnotherThread) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) continue;
  });
  auto client = Connect(server.port());
  std::promise<Expected<ClientResponse>> answer;
  const auto call =
      client->Send(Get("/"), [&](Expected<ClientResponse> r) { answer.set_value(std::move(r)); });
  client->Cancel(call);
  client->Cancel(call);
  EXPECT_EQ(answer.get_future().get().error().code, ErrorCode::kCancelled);
}

TEST_F(HttpClient, DestructionEndsEveryCall) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) continue;
  });
  auto client = Connect(server.port(), {.max_connections = 2});
  int cancelled = 0;
  for (int i = 0; i < 5; ++i) {
    client->Send(Get("/"),
                 [&](Expected<ClientResponse> r) { cancelled += r.error().code == ErrorCode::kCancelled; });
  }
  client->Stream(Get("/w"), {.on_line = [](std::string_view) { return true; }},
                 [&](Expected<ClientResponse> r) { cancelled += r.error().code == ErrorCode::kCancelled; });
  client.reset();
  EXPECT_EQ(cancelled, 6);
}

TEST_F(HttpClient, RefusedIsCalledAfterTheConnectionIsEstablished) {
  std::atomic<int> accepted = 0;
  std::atomic<int> read = 0;
  FakeServer server([&](FakePeer& peer, int) {
    ++accepted;
    while (peer.Read()) {
      ++read;
      peer.Answer(200, "x");
    }
  });
  auto client = Connect(server.port());
  ClientRequest request = Post("b");
  request.refused = [] { return std::optional<std::string>("not now"); };
  const auto answer = Do(*client, std::move(request));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(answer.error().message, "not now");
  ClientRequest allowed = Post("b");
  allowed.refused = [] { return std::optional<std::string>(); };
  EXPECT_TRUE(Do(*client, std::move(allowed)));
  EXPECT_EQ(read, 1) << "of the refused one nothing was sent";
  EXPECT_EQ(server.connections(), 1) << "and its connection is as good as before";
}

TEST_F(HttpClient, ARequestThatIsRefusedOnAnOpenConnectionEndsAfterSendReturns) {
  FakeServer server([](FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(200, "x");
  });
  auto client = Connect(server.port());
  ASSERT_TRUE(Do(*client, Get("/")));
  ClientRequest request = Post("b");
  request.refused = [] { return std::optional<std::string>("not now"); };
  bool returned = false;  // on the io thread
  std::promise<bool> done_after_return;
  io_.Post([&] {
    client->Send(std::move(request),
                 [&](Expected<ClientResponse>) { done_after_return.set_value(returned); });
    returned = true;
  });
  EXPECT_TRUE(done_after_return.get_future().get());
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace berth::http
