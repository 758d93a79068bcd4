// What kube-scheduler v1.37 serves on its port.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "service/health.hpp"
#include "service/target.hpp"

namespace berth::service {

// Answers a request: once, now or later, from any thread.
using Respond = std::function<void(http::Response)>;
// Called on the server's thread; must not block.
using Page = std::function<void(const http::Request&, const Target&, Respond)>;

// The answers, without sockets and without asking who wants to know. Every answer carries
// Cache-Control: no-cache, private; an unknown path is a plain 404. A path is found whole, else by the
// longest prefix. One thread once serving has begun; what is handed in outlives it.
class Endpoints {
 public:
  // `metrics` is what /metrics shows; DELETE /metrics resets it. /metrics/slis shows the health checks.
  explicit Endpoints(metrics::Registry& metrics);
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  // /<name> and /<name>/<check>: healthz, livez, readyz.
  void AddHealth(std::string name, std::vector<Check> checks);
  // A page of our own making, e.g. /configz. `write` is called for every request, on the server's thread.
  void AddPage(std::string path, std::string content_type, std::function<std::string()> write);
  void Add(std::string path, Page page);
  // These are not named by Paths().
  void AddUnlisted(std::string path, Page page);
  void AddPrefix(std::string prefix, Page page);
  // PUT /debug/flags/v: the log's verbosity (with enableProfiling).
  void AddVerbosity();

  std::vector<std::string> Paths() const;
  void Answer(const http::Request& request, const Target& target, const Respond& respond);
  // Health and metrics, which may be seen without a name: over plain HTTP where nobody else can listen in.
  bool IsForEverybody(std::string_view path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Metrics in Prometheus' text format in the dialect that the request asks for, gzip included.
http::Response MetricsAnswer(const http::Request& request, std::string text);

}  // namespace berth::service
