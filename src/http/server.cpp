#include "http/server.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cctype>
#include <ctime>
#include <map>
#include <tuple>
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

std::string AddressText(const asio::ip::tcp::endpoint& endpoint) {
  const auto host = endpoint.address().to_string();
  return fmt::format(fmt::runtime(endpoint.address().is_v6() ? "[{}]:{}" : "{}:{}"), host, endpoint.port());
}

// Go's texts of system errors begin in lower case.
std::string GoErrorText(const error_code& error) {
  std::string text = error.message();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(asio::io_context& io) : io(io), acceptor(io), sweep(io), grace(io) {}

  Expected<void> Listen();
  Expected<void> Open(const asio::ip::tcp::endpoint& endpoint);
  // Waits for new connections.
  void Accept();
  // Returns false if no connection can be accepted at present.
  bool AcceptOne();
  // Closes a connection that waits if there are as many as allowed. False if all are busy.
  bool MakeRoom();
  void Sweep();
  void Stop(std::chrono::milliseconds grace_period, std::function<void()> done);
  void CutAll();
  void CheckStopped();

  asio::io_context& io;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer sweep;
  asio::steady_timer grace;
  asio::ip::tcp::endpoint local;
  std::chrono::milliseconds sweep_interval{1000};
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
      if (!self->accepting && !self->shared->stopping) self->Accept();
    }
  };
  BERTH_RETURN_IF_ERROR(impl->Listen());
  impl->Sweep();  // also starts accepting
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Expected<void> Server::Impl::Listen() {
  const auto& options = shared->options;
  for (const auto limit :
       {options.handshake_timeout, options.request_timeout, options.idle_timeout, options.write_timeout}) {
    sweep_interval = std::min(sweep_interval, std::max(limit / 4, std::chrono::milliseconds(1)));
  }
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return Invalid(fmt::format("\"{}\" is not an IP address to listen on", options.address));
  if (options.both_families && address.is_unspecified()) {
    // A machine without IPv6 supports only one family.
    if (Open({asio::ip::address_v6::any(), options.port})) return {};
    acceptor.close(error);
    return Open({asio::ip::address_v4::any(), options.port});
  }
  return Open({address, options.port});
}

Expected<void> Server::Impl::Open(const asio::ip::tcp::endpoint& endpoint) {
  const auto& options = shared->options;
  error_code error;
  const auto fail = [&](std::string_view call) {
    const bool taken = error == asio::error::address_in_use;
    return Fail(taken ? ErrorCode::kConflict : ErrorCode::kUnavailable,
                fmt::format("listen tcp {}: {}: {}", AddressText(endpoint), call, GoErrorText(error)));
  };
  acceptor.open(endpoint.protocol(), error);
  if (error) return fail("socket");
  error_code ignored;
  if (endpoint.address().is_v6()) {
    acceptor.set_option(asio::ip::v6_only(!options.both_families || !endpoint.address().is_unspecified()),
                        ignored);
  }
  acceptor.set_option(asio::socket_base::reuse_address(true), ignored);
  if (options.reuse_port) {
    const int on = 1;
    ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  }
  acceptor.bind(endpoint, error);
  if (error) return fail("bind");
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail("listen");
  acceptor.non_blocking(true, ignored);
  local = acceptor.local_endpoint(ignored);
  return {};
}

// Of the address with the most connections, the one that waits longest goes: a peer that opens many
// connections replaces its own, and the requests of others are not delayed.
bool Server::Impl::MakeRoom() {
  const std::size_t limit = shared->options.max_connections;
  if (limit == 0 || connections.size() < limit) return true;
  std::map<asio::ip::address, std::size_t> count;
  for (const auto& [connection, _] : connections) ++count[connection->peer_address()];
  const Connection* replaced = nullptr;
  const auto rank = [&](const Connection& connection) {
    const Duration waits_since = connection.waits_since().time_since_epoch();
    return std::tuple(count.at(connection.peer_address()), -waits_since.count(), ~connection.number());
  };
  for (const auto& [connection, _] : connections) {
    if (connection->Waits() && (replaced == nullptr || rank(*connection) > rank(*replaced)))
      replaced = connection;
  }
  if (replaced == nullptr) return false;
  const auto held = connections.at(const_cast<Connection*>(replaced));
  held->Cut();
  return true;
}

void Server::Impl::Accept() {
  if (accepting) return;
  accepting = true;
  acceptor.async_wait(asio::socket_base::wait_read, [weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!self || self->shared->stopping || error) return;
    const bool more = self->AcceptOne();
    self->accepting = false;
    if (more) self->Accept();  // else the next closed connection or periodic check tries again
  });
}

bool Server::Impl::AcceptOne() {
  if (!MakeRoom()) return false;
  error_code error;
  asio::ip::tcp::socket socket(io);
  acceptor.accept(socket, error);
  // Another server on this port was faster.
  if (error == asio::error::would_block || error == asio::error::try_again) return true;
  if (error) return false;  // most likely out of descriptors
  auto connection = std::make_shared<Connection>(std::move(socket), shared);
  connections.emplace(connection.get(), connection);
  connection->Start();
  return true;
}

void Server::Impl::Sweep() {
  shared->now = std::chrono::steady_clock::now();
  shared->date = DateLine();
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections.size());
  for (const auto& [_, connection] : connections) all.push_back(connection);
  for (const auto& connection : all) connection->CheckTimeouts();
  if (!accepting && !shared->stopping) Accept();
  sweep.expires_after(sweep_interval);
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

std::uint16_t Server::port() const { return impl_->local.port(); }
std::string Server::address() const { return AddressText(impl_->local); }
void Server::SetTls(std::shared_ptr<asio::ssl::context> tls) { impl_->shared->options.tls = std::move(tls); }
std::size_t Server::connections() const { return impl_->connections.size(); }
void Server::Stop(std::chrono::milliseconds grace, std::function<void()> done) {
  impl_->Stop(grace, std::move(done));
}

}  // namespace berth::http
