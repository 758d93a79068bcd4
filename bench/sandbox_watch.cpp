// Cost of the sandbox: memory per object and watcher, time per event.
//
// Creates pods over one pipelined connection, opens watches on all of them, then changes pods and waits until
// every watcher has received every change. The sandbox is a process; this program is its only client.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/child_process.hpp"
#include "command_line/command.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using berth::ChildProcess;

struct Settings {
  std::string berth = "build/bin/berth";
  std::size_t objects = 50'000;
  std::size_t watchers = 200;
  std::size_t events = 2'000;
  bool without_ownership = false;
  bool json = false;
};

constexpr std::size_t kPipeline = 64;

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

std::size_t ResidentBytes(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

unsigned short FreePort(asio::io_context& io) {
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

// A connection with pipelined requests.
class Pipeline {
 public:
  Pipeline(asio::io_context& io, unsigned short port) : socket_(io) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.set_option(tcp::no_delay(true));
  }
  void Send(std::string_view method, std::string_view target, std::string_view type, std::string_view body) {
    out_ += fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
                        method, target, type, body.size(), body);
    if (++waiting_ == kPipeline) Flush();
  }
  // Reads all pending responses; returns the body of the last one.
  std::string Flush() {
    asio::write(socket_, asio::buffer(out_));
    out_.clear();
    std::string body;
    for (; waiting_ > 0; --waiting_) body = ReadAnswer();
    return body;
  }

 private:
  std::string ReadAnswer() {
    const auto head_size = asio::read_until(socket_, asio::dynamic_buffer(in_), "\r\n\r\n");
    const std::string head = in_.substr(0, head_size);
    in_.erase(0, head_size);
    if (!head.starts_with("HTTP/1.1 2"))
      throw std::runtime_error("answered " + head.substr(0, head.find('\r')));
    const auto length = std::strtoull(head.c_str() + head.find("Content-Length: ") + 16, nullptr, 10);
    if (in_.size() < length)
      asio::read(socket_, asio::dynamic_buffer(in_), asio::transfer_exactly(length - in_.size()));
    std::string body = in_.substr(0, length);
    in_.erase(0, length);
    return body;
  }

  tcp::socket socket_;
  std::string out_, in_;
  std::size_t waiting_ = 0;
};

// Counts the lines of one watch.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(asio::io_context& io, unsigned short port, std::string_view version, std::size_t& lines)
      : socket_(io), lines_(lines) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    const auto request =
        fmt::format("GET /api/v1/pods?watch=true&resourceVersion={} HTTP/1.1\r\nHost: x\r\n\r\n", version);
    asio::write(socket_, asio::buffer(request));
    std::string head;
    const auto size = asio::read_until(socket_, asio::dynamic_buffer(head), "\r\n\r\n");
    Count(std::string_view(head).substr(size));
  }
  void Read() {
    socket_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](auto error, std::size_t n) {
      if (error) return;
      self->Count({self->buffer_.data(), n});
      self->Read();
    });
  }

 private:
  // Events end in "}\n"; the lines of chunked encoding end in "\r\n".
  void Count(std::string_view text) {
    for (const char c : text) {
      if (c == '\n' && last_ != '\r') ++lines_;
      last_ = c;
    }
  }
  tcp::socket socket_;
  std::array<char, 64 << 10> buffer_{};
  char last_ = 0;
  std::size_t& lines_;
};

std::string PodBody(std::size_t i) {
  return fmt::format(
      R"({{"metadata":{{"name":"pod-{0}","labels":{{"app":"app-{1}"}}}},"spec":{{"containers":[{{"name":"main",)"
      R"("image":"docker.io/library/nginx:1.27","resources":{{"requests":{{"cpu":"50m","memory":"64Mi"}}}}}}]}}}})",
      i, i % 10);
}

void PrintJson(const char* name, double value, const char* unit) {
  fmt::print("{{\"name\":\"sandbox/{}\",\"value\":{:.3f},\"unit\":\"{}\"}}\n", name, value, unit);
}

double MiB(double bytes) { return bytes / (1 << 20); }

int Measure(const Settings& settings) {
  asio::io_context io;
  const auto port = FreePort(io);
  std::vector<std::string> command{settings.berth, "sandbox", "--nodes", "0", "--port", fmt::to_string(port)};
  if (settings.without_ownership) command.emplace_back("--no-field-ownership");
  auto sandbox = ChildProcess::Start({.arguments = command, .output = berth::OutputToFile{"/dev/null"}});
  if (!sandbox) return fmt::print(stderr, "{}\n", sandbox.error().message), 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto empty = ResidentBytes(sandbox->pid());

  Pipeline requests(io, port);
  auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < settings.objects; ++i)
    requests.Send("POST", "/api/v1/namespaces/default/pods", "application/json", PodBody(i));
  requests.Flush();
  const double creating = Seconds(began);
  const auto full = ResidentBytes(sandbox->pid());
  const double of_pod = (full - empty) / 1024.0 / settings.objects;
  if (!settings.json)
    fmt::print("{} pods: created at {:.0f} per second, {:.2f} KiB of memory each\n", settings.objects,
               settings.objects / creating, of_pod);

  requests.Send("GET", "/api/v1/namespaces/default/configmaps?limit=1", "application/json", "");
  const std::string list = requests.Flush();
  const auto at = list.find("\"resourceVersion\":\"") + 19;
  const std::string version = list.substr(at, list.find('"', at) - at);
  std::size_t lines = 0;
  for (std::size_t i = 0; i < settings.watchers; ++i)
    std::make_shared<Watcher>(io, port, version, lines)->Read();
  const auto watched = ResidentBytes(sandbox->pid());
  const double of_watcher =
      (static_cast<double>(watched) - static_cast<double>(full)) / 1024 / settings.watchers;
  if (!settings.json) fmt::print("{} watchers: {:.1f} KiB of memory each\n", settings.watchers, of_watcher);

  const double cpu_before = sandbox->CpuSeconds();
  began = std::chrono::steady_clock::now();
  std::thread writer([&] {
    asio::io_context own;
    Pipeline patches(own, port);
    for (std::size_t i = 0; i < settings.events; ++i) {
      patches.Send("PATCH", fmt::format("/api/v1/namespaces/default/pods/pod-{}", i % settings.objects),
                   "application/merge-patch+json",
                   fmt::format(R"({{"metadata":{{"labels":{{"n":"{}"}}}}}})", i));
    }
    patches.Flush();
  });
  while (lines < settings.events * settings.watchers) io.run_one();
  writer.join();
  const double wall = Seconds(began);
  const double cpu = sandbox->CpuSeconds() - cpu_before;
  const double deliveries = static_cast<double>(settings.events * settings.watchers);
  if (settings.json) {
    PrintJson("memory-per-pod", of_pod, "KiB");
    PrintJson("memory-per-watcher", of_watcher, "KiB");
    PrintJson("cpu-per-event", cpu * 1e6 / settings.events, "us");
    PrintJson("cpu-per-delivery", cpu * 1e6 / deliveries, "us");
    PrintJson("peak", MiB(static_cast<double>(sandbox->PeakMemoryBytes())), "MiB");
    return 0;
  }
  fmt::print(
      "{} events to {} watchers: {:.2f} s; the sandbox's CPU: {:.1f} us per event, {:.2f} us per delivery; "
      "peak {:.0f} MiB\n",
      settings.events, settings.watchers, wall, cpu * 1e6 / settings.events, cpu * 1e6 / deliveries,
      MiB(static_cast<double>(sandbox->PeakMemoryBytes())));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  berth::command_line::Command command("bench_sandbox_watch",
                                       "Cost of objects, watchers and events in the sandbox.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Path("berth", settings.berth, "the program");
  flags.Integer("objects", settings.objects, "pods");
  flags.Integer("watchers", settings.watchers, "number of watches on all pods");
  flags.Integer("events", settings.events, "number of pod changes");
  flags.Bool("no-field-ownership", settings.without_ownership, "without metadata.managedFields");
  flags.Bool("json", settings.json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  try {
    return Measure(settings);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "bench_sandbox_watch: {}\n", problem.what());
    return 1;
  }
}
