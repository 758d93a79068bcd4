#include "tools/load_generator/api_load.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

namespace berth::load_generator {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

std::string RequestText(std::string_view method, std::string_view target, std::string_view body) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: sandbox\r\nAccept: application/json\r\n", method, target);
  if (!body.empty())
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  return text.append("\r\n").append(body);
}

// A blocking connection for one thread.
class Connection {
 public:
  Expected<void> Open(std::uint16_t port) {
    error_code error;
    socket_.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), error);
    if (error)
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("cannot connect to port {}: {}", port, error.message()));
    socket_.set_option(tcp::no_delay(true), error);
    return {};
  }
  Expected<void> Send(std::string_view text) {
    error_code error;
    asio::write(socket_, asio::buffer(text), error);
    if (error) return Fail(ErrorCode::kUnavailable, error.message());
    return {};
  }
  Expected<Answer> Receive() {
    http::response_parser<http::string_body> parser;
    parser.body_limit(1ull << 30);
    error_code error;
    http::read(socket_, buffer_, parser, error);
    if (error) return Fail(ErrorCode::kUnavailable, error.message());
    return Answer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
  }
  tcp::socket& socket() { return socket_; }

 private:
  asio::io_context io_;
  tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;
};

}  // namespace

Expected<std::uint16_t> PortIn(const std::string& kubeconfig_file) {
  std::ifstream file(kubeconfig_file);
  for (std::string line; std::getline(file, line);) {
    if (const auto at = line.find("server: http://"); at != std::string::npos) {
      return static_cast<std::uint16_t>(std::strtoul(line.c_str() + line.rfind(':') + 1, nullptr, 10));
    }
  }
  return Invalid(fmt::format("{} contains no http server", kubeconfig_file));
}

Expected<Answer> Call(std::uint16_t port, std::string_view method, std::string_view target,
                      std::string_view body) {
  Connection connection;
  BERTH_RETURN_IF_ERROR(connection.Open(port));
  BERTH_RETURN_IF_ERROR(connection.Send(RequestText(method, target, body)));
  return connection.Receive();
}

namespace {

// The shared state of the sending threads.
struct PostJob {
  std::uint16_t port;
  const std::string& target;
  const std::vector<std::string>& bodies;
  const PostOptions& options;
  const std::function<void(std::size_t, int)>& answered;
  const MonoTime started = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> failure;

  bool Over() const { return next >= bodies.size() || (options.stop != nullptr && *options.stop); }

  Expected<void> SendBatches() {
    Connection connection;
    BERTH_RETURN_IF_ERROR(connection.Open(port));
    while (!Over()) {
      const std::size_t first = next.fetch_add(options.pipelined);
      const std::size_t last = std::min(first + options.pipelined, bodies.size());
      AwaitSendTime(first);
      std::string text;
      for (std::size_t i = first; i < last; ++i) text += RequestText("POST", target, bodies[i]);
      BERTH_RETURN_IF_ERROR(connection.Send(text));
      for (std::size_t i = first; i < last; ++i) {
        BERTH_TRY(const Answer answer, connection.Receive());
        answered(i, answer.status);
      }
    }
    return {};
  }
  void AwaitSendTime(std::size_t body) const {
    if (options.per_second <= 0) return;
    const std::chrono::duration<double> after(static_cast<double>(body) / options.per_second);
    std::this_thread::sleep_until(started + std::chrono::duration_cast<Duration>(after));
  }
  void Run() {
    auto sent = SendBatches();
    if (sent) return;
    const std::lock_guard lock(mutex);
    failure = std::move(sent).error();
    next = bodies.size();
  }
};

}  // namespace

Expected<void> PostAll(std::uint16_t port, const std::string& target, const std::vector<std::string>& bodies,
                       const PostOptions& options, const std::function<void(std::size_t, int)>& answered) {
  PostJob job{.port = port,
              .target = target,
              .bodies = bodies,
              .options = options,
              .answered = answered,
              .next = 0,
              .mutex = {},
              .failure = {}};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < options.connections; ++i) threads.emplace_back([&job] { job.Run(); });
  }
  if (job.failure) return std::unexpected(*std::move(job.failure));
  return {};
}

struct WatchThread::Impl {
  Connection connection;
  OnLine on_line;
  std::atomic<bool> ended = false;
  std::thread thread;

  void Run() {
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(boost::none);
    boost::beast::flat_buffer buffer;
    error_code error;
    http::read_header(connection.socket(), buffer, parser, error);
    std::string pending;
    std::vector<char> piece(256 << 10);
    while (!error && !parser.is_done() && parser.get().result() == http::status::ok) {
      parser.get().body().data = piece.data();
      parser.get().body().size = piece.size();
      http::read_some(connection.socket(), buffer, parser, error);
      if (error == http::error::need_buffer) error = {};
      const MonoTime now = std::chrono::steady_clock::now();
      pending.append(piece.data(), piece.size() - parser.get().body().size);
      std::size_t begin = 0;
      for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
        on_line(std::string_view(pending).substr(begin, end - begin), now);
        begin = end + 1;
      }
      pending.erase(0, begin);
    }
    ended = true;
  }
};

Expected<std::unique_ptr<WatchThread>> WatchThread::Start(std::uint16_t port, std::string_view target,
                                                          OnLine on_line) {
  auto impl = std::make_unique<Impl>();
  impl->on_line = std::move(on_line);
  BERTH_RETURN_IF_ERROR(impl->connection.Open(port));
  BERTH_RETURN_IF_ERROR(impl->connection.Send(RequestText("GET", target, {})));
  impl->thread = std::thread([impl = impl.get()] { impl->Run(); });
  return std::unique_ptr<WatchThread>(new WatchThread(std::move(impl)));
}

WatchThread::WatchThread(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

WatchThread::~WatchThread() {
  error_code ignored;
  impl_->connection.socket().shutdown(tcp::socket::shutdown_both, ignored);
  impl_->thread.join();
}

bool WatchThread::ended() const { return impl_->ended; }

}  // namespace berth::load_generator
