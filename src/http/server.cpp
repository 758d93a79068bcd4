#include "http/server.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <ctime>
#include <unordered_map>

#include "http/server_connection.hpp"

namespace berth::http {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

std::string DateLine() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
  return text;
}

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(asio::io_context& io) : io(io), acceptor(io), sweep(io), grace(io) {}

  Expected<void> Listen();
  void Accept();
  void Sweep();
  void Stop(std::chrono::milliseconds grace_period, std::function<void()> done);
  void CutAll();
  void CheckStopped();

  asio::io_context& io;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer sweep;
  asio::steady_timer grace;
  std::uint16_t port = 0;
  bool accepting = false;
  std::shared_ptr<ServerShared> shared = std::make_shared<ServerShared>();
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;
  std::function<void()> stopped;
};

Expected<std::unique_ptr<Server>> Server::Listen(asio::io_context& io, ServerOptions options,
                                                 Handler handler) {
  auto impl = std::make_shared<Impl>(io);
  impl->shared->options = std::move(options);
  impl->shared->handler = std::move(handler);
  impl->shared->closed = [weak = impl->weak_from_this()](Connection& connection) {
    if (const auto self = weak.lock()) {
      self->connections.erase(&connection);
      self->CheckStopped();
    }
  };
  BERTH_CHECKED(impl->Listen());
  impl->Sweep();  // accepts, too
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Expected<void> Server::Impl::Listen() {
  const auto& options = shared->options;
  const auto fail = [&](std::string_view what, const error_code& error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot {} {}:{}: {}", what, options.address, options.port, error.message()));
  };
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return Invalid(fmt::format("\"{}\" is not an IP address to listen on", options.address));
  const asio::ip::tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (error) return fail("open a socket for", error);
  acceptor.set_option(asio::socket_base::reuse_address(true), error);
  acceptor.bind(endpoint, error);
  if (error) return fail("listen on", error);
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail("listen on", error);
  port = acceptor.local_endpoint(error).port();
  return {};
}

void Server::Impl::Accept() {
  accepting = true;
  acceptor.async_accept([weak = weak_from_this()](const error_code& error, asio::ip::tcp::socket socket) {
    const auto self = weak.lock();
    if (!self || self->shared->stopping || error == asio::error::operation_aborted) return;
    if (error) {
      // Out of descriptors, most likely: the sweep tries again when connections have had time to close.
      self->accepting = false;
      return;
    }
    auto connection = std::make_shared<Connection>(std::move(socket), self->shared);
    self->connections.emplace(connection.get(), connection);
    connection->Start();
    self->Accept();
  });
}

void Server::Impl::Sweep() {
  shared->now = std::chrono::steady_clock::now();
  shared->date = DateLine();
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections.size());
  for (const auto& [_, connection] : connections) all.push_back(connection);
  for (const auto& connection : all) connection->CheckTimeouts();
  if (!accepting && !shared->stopping) Accept();
  sweep.expires_after(std::chrono::seconds(1));
  sweep.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->Sweep();
  });
}

void Server::Impl::Stop(std::chrono::milliseconds grace_period, std::function<void()> done) {
  shared->stopping = true;
  stopped = std::move(done);
  error_code ignored;
  acceptor.close(ignored);
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [_, connection] : connections) all.push_back(connection);
  for (const auto& connection : all) connection->Finish();
  grace.expires_after(grace_period);
  grace.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->CutAll();
  });
  CheckStopped();
}

void Server::Impl::CutAll() {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [_, connection] : connections) all.push_back(connection);
  for (const auto& connection : all) connection->Cut();
}

void Server::Impl::CheckStopped() {
  if (!shared->stopping || !connections.empty() || !stopped) return;
  sweep.cancel();
  grace.cancel();
  asio::post(io, std::exchange(stopped, nullptr));
}

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  error_code ignored;
  impl_->acceptor.close(ignored);
  impl_->sweep.cancel();
  impl_->grace.cancel();
  impl_->stopped = nullptr;
  impl_->CutAll();
}

std::uint16_t Server::port() const { return impl_->port; }
std::size_t Server::connections() const { return impl_->connections.size(); }
void Server::Stop(std::chrono::milliseconds grace, std::function<void()> done) {
  impl_->Stop(grace, std::move(done));
}

}  // namespace berth::http
