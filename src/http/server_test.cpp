#include "http/server.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace berth::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Server and clients share one io_context, which the test runs: tests do not wait for real time.
class ServerTest : public testing::Test {
 protected:
  void Listen(Handler handler, ServerOptions options = {}) {
    auto listening = Server::Listen(io, std::move(options), std::move(handler));
    ASSERT_TRUE(listening.has_value()) << listening.error().message;
    server = std::move(*listening);
  }
  tcp::socket Connect() {
    tcp::socket socket(io);
    socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), server->port()));
    return socket;
  }
  // Runs the loop until `text` ends with the wanted text, or the server has closed the connection.
  std::string ReadUntil(tcp::socket& socket, std::string_view wanted) {
    std::string text;
    bool over = false;
    char buffer[4096];
    std::function<void()> read = [&] {
      socket.async_read_some(asio::buffer(buffer), [&](const error_code& error, std::size_t n) {
        text.append(buffer, n);
        if (error || (!wanted.empty() && text.ends_with(wanted)))
          over = true;
        else
          read();
      });
    };
    read();
    while (!over) io.run_one();
    return text;
  }
  static void Send(tcp::socket& socket, std::string_view text) { asio::write(socket, asio::buffer(text)); }
  void Turn(int times = 50) {
    for (int i = 0; i < times; ++i) io.poll();
  }

  asio::io_context io;
  std::unique_ptr<Server> server;
};

Response TextResponse(std::string text) {
  Response response;
  response.body = ShareText(std::move(text));
  return response;
}

TEST_F(ServerTest, RespondsToARequest) {
  Listen([](Request request, auto exchange) {
    exchange->Respond(TextResponse(request.method + " " + request.target + " " + request.body));
  });
  auto client = Connect();
  Send(client, "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
  const auto answer = ReadUntil(client, "hi");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 14\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nDate: "));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nPOST /a?b=c hi"));
}

TEST_F(ServerTest, PipelinedResponsesKeepTheOrderOfRequests) {
  std::shared_ptr<Exchange> first;
  Listen([&](Request request, auto exchange) {
    if (request.target == "/1")
      first = exchange;
    else
      exchange->Respond(TextResponse(request.target));
  });
  auto client = Connect();
  Send(client, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n");
  while (!first) io.run_one();
  Turn();
  first->Respond(TextResponse("/1"));
  const auto answers = ReadUntil(client, "/3");
  EXPECT_LT(answers.find("/1"), answers.find("/2"));
  EXPECT_LT(answers.find("/2"), answers.find("/3"));
}

// The next bytes arrive while earlier requests are still in the buffer.
TEST_F(ServerTest, ARequestAfterPipelinedOnesIsNotMixedWithThem) {
  std::shared_ptr<Exchange> first;
  std::vector<std::string> bodies;
  Listen([&](Request request, auto exchange) {
    bodies.push_back(request.body);
    if (request.target == "/1")
      first = exchange;
    else
      exchange->Respond(TextResponse(request.target));
  });
  auto client = Connect();
  const auto request = [](const std::string& target, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", target, body.size(), body);
  };
  Send(client, request("/1", "one") + request("/2", "two"));
  while (!first) io.run_one();
  Turn();
  first->Respond(TextResponse("/1"));
  ReadUntil(client, "/2");
  Send(client, request("/3", "the third"));
  EXPECT_THAT(ReadUntil(client, "/3"), EndsWith("/3"));
  EXPECT_THAT(bodies, ElementsAre("one", "two", "the third"));
}

// Without reading a single response.
TEST_F(ServerTest, AClientThatDoesNotReadCannotMakeTheServerQueueResponses) {
  constexpr std::size_t kSize = 100'000;
  const auto body = ShareText(std::string(kSize, 'x'));
  std::size_t handled = 0;
  Listen([&](Request, auto exchange) {
    ++handled;
    Response response;
    response.body = body;
    exchange->Respond(std::move(response));
  });
  auto client = Connect();
  constexpr int kRequests = 2'000;
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += "GET / HTTP/1.1\r\n\r\n";
  Send(client, requests);
  Turn(500);
  EXPECT_GT(handled, 0U);
  EXPECT_LT(handled, 300U) << "what the system's buffers hold, and a little more";
  // When the client reads, all are answered.
  std::size_t bytes = 0;
  char buffer[65536];
  while (handled < kRequests || bytes < kRequests * kSize) {
    error_code error;
    client.non_blocking(true);
    const std::size_t n = client.read_some(asio::buffer(buffer), error);
    bytes += n;
    if (n == 0) io.poll();
  }
  EXPECT_EQ(handled, static_cast<std::size_t>(kRequests));
}

TEST_F(ServerTest, ARequestInPiecesIsReassembled) {
  Listen([](Request request, auto exchange) { exchange->Respond(TextResponse(request.body)); });
  auto client = Connect();
  for (const std::string_view piece : {"POST / HT", "TP/1.1\r\nTransfer-Encoding: chu",
                                       "nked\r\n\r\n3\r\nabc\r\n", "2\r\nde\r\n0\r\n\r", "\n"}) {
    Send(client, piece);
    Turn();
  }
  EXPECT_THAT(ReadUntil(client, "abcde"), EndsWith("\r\n\r\nabcde"));
}

TEST_F(ServerTest, AStreamIsChunkedAndTheConnectionStaysOpen) {
  std::shared_ptr<Stream> stream;
  Listen([&](Request request, auto exchange) {
    if (request.target == "/watch")
      stream = exchange->StartStream({}, 1 << 20);
    else
      exchange->Respond(TextResponse("after"));
  });
  auto client = Connect();
  Send(client, "GET /watch HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n");
  while (!stream) io.run_one();
  EXPECT_THAT(ReadUntil(client, "\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked"));
  const auto shared = ShareText("{}");
  EXPECT_TRUE(stream->Write({"<", shared, ">\n"}));
  EXPECT_TRUE(stream->Write({"[", shared, "]\n"}));
  EXPECT_EQ(ReadUntil(client, "]\n\r\n"),
            "a\r\n<{}>\n[{}]\n\r\n");  // one chunk for all pieces of one iteration
  stream->Close();
  EXPECT_THAT(ReadUntil(client, "after"), StartsWith("0\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(ServerTest, AnIdleStreamCausesNoWork) {
  std::shared_ptr<Stream> stream;
  Listen([&](Request, auto exchange) { stream = exchange->StartStream({}, 1 << 20); });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\n\r\n");
  ReadUntil(client, "\r\n\r\n");
  Turn();
  EXPECT_EQ(io.poll(), 0u);
}

TEST_F(ServerTest, AStreamDetectsADisconnectedReader) {
  std::shared_ptr<Stream> stream;
  bool gone = false;
  Listen([&](Request, auto exchange) {
    stream = exchange->StartStream({}, 1 << 20);
    stream->OnGone([&] { gone = true; });
  });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\n\r\n");
  ReadUntil(client, "\r\n\r\n");
  client.close();
  while (!gone) io.run_one();
  EXPECT_FALSE(stream->Write({"x"}));
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(ServerTest, ATooSlowReaderIsDisconnected) {
  std::shared_ptr<Stream> stream;
  bool gone = false;
  Listen([&](Request, auto exchange) {
    stream = exchange->StartStream({}, 1000);
    stream->OnGone([&] { gone = true; });
  });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\n\r\n");
  ReadUntil(client, "\r\n\r\n");
  EXPECT_TRUE(stream->Write({"", ShareText(std::string(900, 'x'))}));
  EXPECT_FALSE(stream->Write({"", ShareText(std::string(900, 'x'))}));
  Turn();
  EXPECT_TRUE(gone);
}

TEST_F(ServerTest, ATooLargeBodyIsRejectedAndTheConnectionClosed) {
  ServerOptions options;
  options.body_limit_bytes = 10;
  options.refusal = [](int status) {
    Response response;
    response.status = status;
    response.body = ShareText("no");
    return response;
  };
  Listen([](Request, auto exchange) { exchange->Respond(TextResponse("ok")); }, std::move(options));
  auto client = Connect();
  Send(client, "POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\nhello world");
  const auto answer = ReadUntil(client, "");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nno"));
}

TEST_F(ServerTest, TrailersAreNotHeaders) {
  std::vector<std::string> received;
  Listen([&](Request request, auto exchange) {
    received.push_back(
        fmt::format("{} {} [{}]", request.target, request.body, request.headers.Find("X-Remote-User")));
    exchange->Respond(TextResponse("ok"));
  });
  auto client = Connect();
  Send(client,
       "POST /1 HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nTrailer: X-Remote-User\r\n\r\n"
       "3\r\nabc\r\n0\r\nX-Remote-User: admin\r\n\r\n"
       "POST /2 HTTP/1.1\r\nX-Remote-User: me\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  ReadUntil(client, "");
  EXPECT_THAT(received, ElementsAre("/1 abc []", "/2 x [me]"));
}

TEST_F(ServerTest, OnlyChunkedIsSupportedAsTransferCoding) {
  int handled = 0;
  Listen([&](Request, auto exchange) {
    ++handled;
    exchange->Respond(TextResponse("ok"));
  });
  for (const std::string_view coding :
       {"Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding: \r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: xchunked\r\n"}) {
    auto client = Connect();
    Send(client, fmt::format("POST / HTTP/1.1\r\n{}\r\n0\r\n\r\nGET /next HTTP/1.1\r\n\r\n", coding));
    const auto answer = ReadUntil(client, "");
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 501 "), StartsWith("HTTP/1.1 400 "))) << coding;
    EXPECT_THAT(answer, testing::Not(HasSubstr("ok"))) << coding;
  }
  EXPECT_EQ(handled, 0);
}

TEST_F(ServerTest, InvalidHttpIsABadRequest) {
  Listen([](Request, auto exchange) { exchange->Respond(TextResponse("ok")); });
  for (const std::string_view rubbish : {"\x16\x03\x01\x02\x00", "GET / HTTP/9.9\r\n\r\n", "hello\r\n\r\n",
                                         "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"}) {
    auto client = Connect();
    Send(client, rubbish);
    client.shutdown(tcp::socket::shutdown_send);
    const auto answer = ReadUntil(client, "");
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 400 ")) << answer;
  }
}

TEST_F(ServerTest, AnExchangeWithoutAResponseIsAnInternalError) {
  Listen([](Request, auto) {});
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(ReadUntil(client, "\r\n\r\n"), StartsWith("HTTP/1.1 500 "));
}

TEST_F(ServerTest, AHandlerThatThrowsIsAnInternalError) {
  Listen([](Request, auto) -> void { throw std::runtime_error("x"); });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(ReadUntil(client, "\r\n\r\n"), StartsWith("HTTP/1.1 500 "));
}

TEST_F(ServerTest, HeadHasNoBody) {
  Listen([](Request, auto exchange) { exchange->Respond(TextResponse("body")); });
  auto client = Connect();
  Send(client, "HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
  const auto answer = ReadUntil(client, "");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, OldClientsGetAStreamWithoutChunks) {
  Listen([](Request, auto exchange) {
    const auto stream = exchange->StartStream({}, 1000);
    stream->Write({"all of it"});
  });
  auto client = Connect();
  Send(client, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(ReadUntil(client, ""), EndsWith("\r\n\r\nall of it"));
}

TEST_F(ServerTest, LargeBodiesArriveComplete) {
  const std::string large(5 << 20, 'x');
  Listen([&](Request, auto exchange) { exchange->Respond(TextResponse(large)); });
  auto client = Connect();
  Send(client, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  const auto answer = ReadUntil(client, "");
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), large);
}

TEST_F(ServerTest, StopsWhenResponsesAndStreamsHaveEnded) {
  std::shared_ptr<Exchange> pending;
  std::shared_ptr<Stream> stream;
  Listen([&](Request request, auto exchange) {
    if (request.target == "/watch")
      stream = exchange->StartStream({}, 1000);
    else
      pending = exchange;
  });
  auto watcher = Connect(), waiter = Connect(), idle = Connect();
  Send(watcher, "GET /watch HTTP/1.1\r\n\r\n");
  Send(waiter, "GET /wait HTTP/1.1\r\n\r\n");
  while (!pending || !stream || server->connections() < 3) io.run_one();
  bool stopped = false;
  server->Stop(std::chrono::seconds(30), [&] { stopped = true; });
  EXPECT_THAT(ReadUntil(watcher, "0\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
  watcher.close();
  Turn();
  EXPECT_FALSE(stopped);
  pending->Respond(TextResponse("done"));
  EXPECT_THAT(ReadUntil(waiter, "done"), HasSubstr("Connection: close"));
  waiter.close();
  while (!stopped) io.run_one();
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(ServerTest, AnInvalidAddressIsAnError) {
  ServerOptions options;
  options.address = "nowhere";
  EXPECT_EQ(Server::Listen(io, options, {}).error().message, "\"nowhere\" is not an IP address to listen on");
}

}  // namespace
}  // namespace berth::http
