// Load on an API server on the loopback interface, for demonstrations and benchmarks: concurrent requests,
// and a watch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::load_generator {

struct Answer {
  int status = 0;
  std::string body;
};

// The server's port in a kubeconfig written by the sandbox.
Expected<std::uint16_t> PortIn(const std::string& kubeconfig_file);

// Sends one request on its own connection; blocks.
Expected<Answer> Call(std::uint16_t port, std::string_view method, std::string_view target,
                      std::string_view body = {});

// POSTs all bodies to one target over a few keep-alive connections with pipelined requests. Blocks until all
// are answered. Calls `answered(i, status)` on the sending threads. Stops at the first connection error, and
// when `stop` becomes true.
struct PostOptions {
  std::size_t connections = 4;
  std::size_t pipelined = 64;
  double per_second = 0;  // maximum rate; 0: unlimited
  const std::atomic<bool>* stop = nullptr;
};
Expected<void> PostAll(std::uint16_t port, const std::string& target, const std::vector<std::string>& bodies,
                       const PostOptions& options, const std::function<void(std::size_t, int)>& answered);

// A watch on its own thread.
class WatchThread {
 public:
  // Called with each line and its time of arrival, on the watch's thread.
  using OnLine = std::function<void(std::string_view line, MonoTime arrived)>;

  // Returns after the connection is established.
  static Expected<std::unique_ptr<WatchThread>> Start(std::uint16_t port, std::string_view target,
                                                      OnLine on_line);
  ~WatchThread();
  // True once the stream has ended, for any reason.
  bool ended() const;

 private:
  struct Impl;
  explicit WatchThread(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::load_generator
