// CPU time of this process per request to an API server over TLS: HTTP/1.1 on connections that are kept, or
// HTTP/2 on one connection. One thread with one epoll creates events at a steady rate: what a client takes at
// least, without a scheduler. Fails unless all are created. tests/cluster/http_versions runs it with a
// kube-apiserver.
//
//   bench_http_versions --port 6443 --token-file F --http 2 --rate 400 --concurrent 100
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPath = "/api/v1/namespaces/default/events";
constexpr std::string_view kBody =
    R"({"kind":"Event","apiVersion":"v1","metadata":{"generateName":"pod-1234.","namespace":"default"},)"
    R"("involvedObject":{"kind":"Pod","namespace":"default","name":"pod-1234","apiVersion":"v1",)"
    R"("uid":"7e7b2f4c-53a5-4a5e-9f3b-0d6c1f0c9a11"},"reason":"Scheduled",)"
    R"("message":"Successfully assigned default/pod-1234 to node-1234","type":"Normal",)"
    R"("source":{"component":"default-scheduler"},"reportingComponent":"default-scheduler"})";
constexpr const char* kAgent = "berth/v0.1.0 (linux/amd64)";
constexpr const char* kAccept = "application/vnd.kubernetes.protobuf,application/json";

struct Settings {
  std::int64_t port = 6443;
  std::string token_file;
  std::string http = "1.1";
  std::int64_t requests = 4000;
  double rate = 400;  // per second
  std::int64_t concurrent = 100;
  bool json = false;
};

[[noreturn]] void Fail(std::string_view what) { throw std::runtime_error(std::string(what)); }

// The requests of all connections, and the status codes of the responses.
struct Requests {
  std::string token;
  std::string authority;
  std::int64_t started = 0, done = 0;
  std::map<int, std::int64_t> codes;

  std::string NextPath() { return fmt::format("/api/v1/namespaces/default/pods/none-{}/binding", started++); }
};

// A connection with TLS to this machine. The server's certificate is not checked: the exchange costs the
// same.
class Connection {
 public:
  Connection(SSL_CTX* context, std::uint16_t port, std::string_view protocol) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      Fail(fmt::format("no connection to port {} of this machine", port));
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), fd_);
    const std::string offer = static_cast<char>(protocol.size()) + std::string(protocol);
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned>(offer.size()));
    if (SSL_connect(ssl_.get()) != 1) Fail("the TLS handshake failed");
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(fd_); }

  int fd() const { return fd_; }
  // Requests are small: the socket's buffer has room for all that are in progress.
  void Write(std::string_view bytes) {
    if (SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size()))
      Fail("a request could not be written at once");
  }
  // Calls take(std::string_view) with all that has arrived.
  template <class Take>
  void Read(const Take& take) {
    char buffer[65536];
    for (;;) {
      const int size = SSL_read(ssl_.get(), buffer, sizeof buffer);
      if (size > 0) {
        take(std::string_view(buffer, static_cast<std::size_t>(size)));
        continue;
      }
      if (SSL_get_error(ssl_.get(), size) != SSL_ERROR_WANT_READ) Fail("the server closed the connection");
      return;
    }
  }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int fd_ = -1;
  std::unique_ptr<SSL, Free> ssl_;
};

// What a version of HTTP does with its connections. Each connection has an index.
class Client {
 public:
  virtual ~Client() = default;
  virtual std::vector<int> Descriptors() const = 0;
  virtual void Start() = 0;
  // Called after the requests that were due have been started.
  virtual void Flush() = 0;
  virtual void OnReadable(std::size_t index) = 0;
};

// One request at a time on each connection.
class Http1 final : public Client {
 public:
  Http1(SSL_CTX* tls, const Settings& settings, Requests& requests) : requests_(requests) {
    for (std::int64_t i = 0; i < settings.concurrent; ++i) {
      lines_.push_back(std::make_unique<Line>(tls, static_cast<std::uint16_t>(settings.port)));
      idle_.push_back(static_cast<std::size_t>(i));
    }
  }
  std::vector<int> Descriptors() const override {
    std::vector<int> all;
    for (const auto& line : lines_) all.push_back(line->connection.fd());
    return all;
  }
  void Start() override {
    ++requests_.started;
    Line& line = *lines_[idle_.back()];
    idle_.pop_back();
    line.connection.Write(fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nUser-Agent: {}\r\nAccept: {}\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        kPath, requests_.authority, requests_.token, kAgent, kAccept, kBody.size(), kBody));
  }
  void Flush() override {}
  void OnReadable(std::size_t index) override {
    Line& line = *lines_[index];
    line.connection.Read([&](std::string_view bytes) { line.response += bytes; });
    const auto head = line.response.find("\r\n\r\n");
    if (head == std::string::npos) return;
    constexpr std::string_view kLength = "Content-Length: ";
    const auto length = line.response.find(kLength);
    if (length == std::string::npos) Fail("a response without Content-Length");
    if (line.response.size() < head + 4 + std::stoul(line.response.substr(length + kLength.size()))) return;
    ++requests_.codes[std::stoi(line.response.substr(9))];
    ++requests_.done;
    line.response.clear();
    idle_.push_back(index);
  }

 private:
  struct Line {
    Line(SSL_CTX* tls, std::uint16_t port) : connection(tls, port, "http/1.1") {}
    Connection connection;
    std::string response;
  };
  Requests& requests_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::size_t> idle_;
};

// All requests on one connection.
class Http2 final : public Client {
 public:
  Http2(SSL_CTX* tls, const Settings& settings, Requests& requests)
      : requests_(requests), connection_(tls, static_cast<std::uint16_t>(settings.port), "h2") {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
    nghttp2_session* session = nullptr;
    nghttp2_session_client_new(&session, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    session_.reset(session);
    const nghttp2_settings_entry entries[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                              {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 24}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, std::size(entries));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, 1 << 28);
    Flush();
  }
  std::vector<int> Descriptors() const override { return {connection_.fd()}; }
  void Start() override {
    ++requests_.started;
    const std::string authorization = "Bearer " + requests_.token;
    const std::string length = std::to_string(kBody.size());
    const nghttp2_nv headers[] = {Header(":method", "POST"),
                                  Header(":scheme", "https"),
                                  Header(":authority", requests_.authority),
                                  Header(":path", kPath),
                                  Header("authorization", authorization),
                                  Header("user-agent", kAgent),
                                  Header("accept", kAccept),
                                  Header("content-type", "application/json"),
                                  Header("content-length", length)};
    nghttp2_data_provider body{};
    body.read_callback = ReadBody;
    if (nghttp2_submit_request(session_.get(), nullptr, headers, std::size(headers), &body, nullptr) < 0)
      Fail("HTTP/2: a request was refused");
  }
  void Flush() override {
    out_.clear();
    const std::uint8_t* data = nullptr;
    for (;;) {
      const ssize_t size = nghttp2_session_mem_send(session_.get(), &data);
      if (size <= 0) break;
      out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    if (!out_.empty()) connection_.Write(out_);
  }
  void OnReadable(std::size_t) override {
    connection_.Read([&](std::string_view bytes) {
      if (nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                   bytes.size()) < 0)
        Fail("HTTP/2: a response that is not valid");
    });
  }

 private:
  struct Free {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  static nghttp2_nv Header(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) {
      return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }
  static int OnHeader(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
    if (std::string_view(reinterpret_cast<const char*>(name), name_size) == ":status")
      ++static_cast<Http2*>(self)
            ->requests_.codes[std::stoi(std::string(reinterpret_cast<const char*>(value), value_size))];
    return 0;
  }
  static int OnClose(nghttp2_session*, std::int32_t, std::uint32_t, void* self) {
    ++static_cast<Http2*>(self)->requests_.done;
    return 0;
  }
  static ssize_t ReadBody(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t size,
                          std::uint32_t* flags, nghttp2_data_source*, void*) {
    if (size < kBody.size()) return NGHTTP2_ERR_CALLBACK_FAILURE;
    kBody.copy(reinterpret_cast<char*>(out), kBody.size());
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(kBody.size());
  }

  Requests& requests_;
  Connection connection_;
  std::unique_ptr<nghttp2_session, Free> session_;
  std::string out_;
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Starts each request when it is due, as far as the number in progress permits.
void SendAll(Client& client, const Settings& settings, Requests& requests) {
  constexpr std::uint64_t kTimer = UINT64_MAX;
  const int poll = epoll_create1(0);
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  const auto add = [&](int fd, std::uint64_t index) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
  };
  add(timer, kTimer);
  const std::vector<int> descriptors = client.Descriptors();
  for (std::size_t i = 0; i < descriptors.size(); ++i) add(descriptors[i], i);
  const auto begin = Clock::now();
  const auto due = [&] {
    return begin + std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(requests.started) *
                                                                      1e9 / settings.rate));
  };
  const auto may_start = [&] {
    return requests.started < settings.requests && requests.started - requests.done < settings.concurrent;
  };
  while (requests.done < settings.requests) {
    while (may_start() && due() <= Clock::now()) client.Start();
    client.Flush();
    if (may_start()) {
      const auto wait = std::max(std::chrono::nanoseconds(1), due() - Clock::now()).count();
      itimerspec at{};
      at.it_value = {.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
      timerfd_settime(timer, 0, &at, nullptr);
    }
    epoll_event events[64];
    const int ready = epoll_wait(poll, events, std::size(events), 10'000);
    if (ready == 0) Fail("no response for 10 s");
    for (int i = 0; i < ready; ++i) {
      std::uint64_t expirations = 0;
      if (events[i].data.u64 != kTimer) {
        client.OnReadable(events[i].data.u64);
      } else if (read(timer, &expirations, sizeof expirations) < 0) {
        continue;  // set anew since
      }
    }
  }
  close(timer);
  close(poll);
}

void Measure(const Settings& settings) {
  Requests requests;
  std::getline(std::ifstream(settings.token_file), requests.token);
  if (requests.token.empty()) Fail(settings.token_file + ": expected a token in the first line");
  requests.authority = fmt::format("127.0.0.1:{}", settings.port);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> tls(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  std::unique_ptr<Client> client;
  if (settings.http == "2") {
    client = std::make_unique<Http2>(tls.get(), settings, requests);
  } else {
    client = std::make_unique<Http1>(tls.get(), settings, requests);
  }
  const double cpu = CpuSeconds();
  const auto begin = Clock::now();
  SendAll(*client, settings, requests);
  const double micros = (CpuSeconds() - cpu) * 1e6 / static_cast<double>(settings.requests);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double rate = static_cast<double>(settings.requests) / seconds;
  std::string codes;
  for (const auto& [code, count] : requests.codes) codes += fmt::format(", {} x {}", count, code);
  if (requests.codes[201] != settings.requests) Fail("expected only responses with 201" + codes);
  if (settings.json) {
    fmt::print(R"({{"name":"http_versions/{}","value":{:.1f},"unit":"us/request","rate":{:.0f}}})"
               "\n",
               settings.http, micros, rate);
    return;
  }
  fmt::print("HTTP/{:<3} {:>6.1f} us of CPU per request, {:.0f} requests/s\n", settings.http, micros, rate);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  berth::bench::Settings settings;
  berth::command_line::Command command("bench_http_versions",
                                       "CPU time per request to an API server of this machine, over TLS.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Integer("port", settings.port, "port of the API server", {.least = 1, .most = 65535});
  flags.Path("token-file", settings.token_file, "file with a bearer token");
  flags.Require();
  flags.Choice("http", settings.http, {"1.1", "2"}, "version of HTTP");
  flags.Integer("requests", settings.requests, "number of requests", {.least = 1});
  flags.Real("rate", settings.rate, "requests per second", {.least = 1});
  flags.Integer("concurrent", settings.concurrent, "requests in progress at most",
                {.least = 1, .most = 1000});
  flags.Bool("json", settings.json, "print a JSON object");
  if (const auto code = command.Parse(argc, argv)) return *code;
  try {
    berth::bench::Measure(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_http_versions: {}\n", error.what());
    return 1;
  }
}
