// Load on an API server at loopback, for demonstrations and measurements: many requests at a time, and what a
// watch shows.
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

// The port of the server in a kubeconfig that the sandbox wrote.
Expected<std::uint16_t> PortIn(const std::string& kubeconfig_file);

// One request on a connection of its own; blocks.
Expected<Answer> Call(std::uint16_t port, std::string_view method, std::string_view target,
                      std::string_view body = {});

// POSTs all bodies to one target over a few keep-alive connections with many requests on the way on each.
// Blocks until all are answered. `answered(i, status)` is told on the threads that send; stops at the first
// connection error, and when `stop` becomes true.
struct PostOptions {
  std::size_t connections = 4;
  std::size_t pipelined = 64;
  double per_second = 0;  // no faster than this; 0: as fast as they are taken
  const std::atomic<bool>* stop = nullptr;
};
Expected<void> PostAll(std::uint16_t port, const std::string& target, const std::vector<std::string>& bodies,
                       const PostOptions& options, const std::function<void(std::size_t, int)>& answered);

// A watch on a thread of its own.
class WatchThread {
 public:
  // Told of each line and the moment it arrived, on the watch's thread.
  using OnLine = std::function<void(std::string_view line, MonoTime arrived)>;

  // Connects before it returns.
  static Expected<std::unique_ptr<WatchThread>> Start(std::uint16_t port, std::string_view target,
                                                      OnLine on_line);
  ~WatchThread();
  // True once the stream has ended, for whatever reason.
  bool ended() const;

 private:
  struct Impl;
  explicit WatchThread(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::load_generator
