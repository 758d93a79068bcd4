// A scripted server for tests, which can also send invalid data or nothing: one thread per connection,
// blocking sockets, optionally TLS.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace berth::http {

// A script's interface to one connection.
class FakePeer {
 public:
  FakePeer(int socket, SSL* tls) : socket_(socket), tls_(tls) {}

  // The next request, head and body as sent; nullopt if the client has closed the connection.
  std::optional<std::string> Read() {
    std::size_t body_at = 0;
    while ((body_at = pending_.find("\r\n\r\n")) == pending_.npos) {
      if (!More()) return std::nullopt;
    }
    body_at += 4;
    std::size_t length = 0;
    if (const auto at = pending_.find("Content-Length: "); at < body_at)
      length = std::stoul(pending_.substr(at + 16));
    while (pending_.size() < body_at + length) {
      if (!More()) return std::nullopt;
    }
    std::string request = pending_.substr(0, body_at + length);
    pending_.erase(0, body_at + length);
    return request;
  }
  void Write(std::string_view text) {
    tls_ != nullptr ? SSL_write(tls_, text.data(), static_cast<int>(text.size()))
                    : static_cast<int>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  void Answer(int status, std::string_view body, std::string_view headers = "") {
    Write("HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(headers) +
          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  void Chunk(std::string_view data) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", data.size());
    Write(size + std::string(data) + "\r\n");
  }
  // Closes with a TCP reset.
  void Reset() {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }

 private:
  bool More() {
    char buffer[4096];
    const auto got = tls_ != nullptr ? SSL_read(tls_, buffer, sizeof buffer)
                                     : static_cast<int>(::recv(socket_, buffer, sizeof buffer, 0));
    if (got <= 0) return false;
    pending_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  const int socket_;
  SSL* const tls_;
  std::string pending_;
};

class FakeServer {
 public:
  // The script runs once per connection, on that connection's thread; `number` counts connections from 0. The
  // connection closes when it returns.
  using Script = std::function<void(FakePeer&, int number)>;

  explicit FakeServer(Script script, SSL_CTX* tls = nullptr) : script_(std::move(script)), tls_(tls) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets whose peer has closed
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 64);
    socklen_t length = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      std::scoped_lock lock(mutex_);
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    for (auto& thread : threads_) thread.join();
  }

  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void Accept() {
    while (true) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      const int number = connections_++;
      std::scoped_lock lock(mutex_);
      open_.push_back(socket);
      threads_.emplace_back([this, socket, number] { Serve(socket, number); });
    }
  }
  void Serve(int socket, int number) {
    SSL* tls = nullptr;
    bool ready = true;
    if (tls_ != nullptr) {
      tls = SSL_new(tls_);
      SSL_set_fd(tls, socket);
      ready = SSL_accept(tls) == 1;
    }
    FakePeer peer(socket, tls);
    if (ready) script_(peer, number);
    SSL_free(tls);
    std::scoped_lock lock(mutex_);
    open_.remove(socket);
    ::close(socket);
  }

  const Script script_;
  SSL_CTX* const tls_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::list<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace berth::http
