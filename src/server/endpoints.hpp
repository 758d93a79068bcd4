// What kube-scheduler v1.37 serves on its port, as far as it is not behind authentication.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "server/health.hpp"

namespace berth::server {

// The answers, without the sockets. Every answer carries Cache-Control: no-cache, private; an unknown path is
// a plain 404. One thread once serving has begun; what is handed in outlives it.
class Endpoints {
 public:
  // `metrics` is what /metrics shows; DELETE /metrics resets it.
  explicit Endpoints(metrics::Registry& metrics);
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  // /<name> and /<name>/<check>: healthz, livez, readyz.
  void AddHealth(std::string name, std::vector<Check> checks);
  // A page of our own making, e.g. /configz. `write` is called for every request, on the server's thread.
  void AddPage(std::string path, std::string content_type, std::function<std::string()> write);
  // PUT /debug/flags/v: the log's verbosity (with enableProfiling).
  void AddVerbosity();

  http::Response Answer(const http::Request& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::server
