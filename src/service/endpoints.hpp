// The endpoints that kube-scheduler v1.37 serves on its port.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "service/auth/reviews.hpp"
#include "service/auth/user.hpp"
#include "service/health.hpp"
#include "service/target.hpp"

namespace berth::service {

// Responds to a request: call once, now or later, from any thread.
using Respond = std::function<void(http::Response)>;
// Called on the server's thread; must not block.
using Page = std::function<void(const http::Request&, const Target&, Respond)>;
// The same with the authenticated user.
using UserPage = std::function<void(const http::Request&, const Target&, const User&, Respond)>;

// Produces the responses, independent of sockets and authentication. Every response carries Cache-Control:
// no-cache, private; an unknown path is a plain 404. Paths match exactly, else by the longest prefix. One
// thread once serving has begun; arguments must outlive it.
class Endpoints {
 public:
  // /metrics shows `metrics`; DELETE /metrics resets it. /metrics/slis shows the health checks.
  explicit Endpoints(metrics::Registry& metrics);
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  // /<name> and /<name>/<check>: healthz, livez, readyz.
  void AddHealth(std::string name, std::vector<Check> checks);
  // A custom page, e.g. /configz. `write` is called for every request, on the server's thread.
  void AddPage(std::string path, std::string content_type, std::function<std::string()> write);
  void Add(std::string path, Page page);
  // Adds a page that Paths() does not list.
  void AddUnlisted(std::string path, Page page);
  void AddPrefix(std::string prefix, Page page);
  // Adds a page that is served without authentication: it must contain no data. A path that ends with /
  // stands for all paths below it.
  void AddPublic(std::string path, Page page);
  // Access to an object of the Kubernetes API that suffices for a request below this prefix, beside access to
  // its path. nullopt: only access to the path suffices. Only for GET.
  using Suffices = std::function<std::optional<Attributes>(const Target&)>;
  // In the path whose access is reviewed, `reviewed_as` replaces the prefix.
  void AddPrefix(std::string prefix, UserPage page, Suffices suffices, std::string reviewed_as);
  // PUT /debug/flags/v: sets the log verbosity (with enableProfiling).
  void AddVerbosity();

  std::vector<std::string> Paths() const;
  void Answer(const http::Request& request, const Target& target, const User& user, const Respond& respond);
  // Of a request without authentication: the user has no name.
  void Answer(const http::Request& request, const Target& target, const Respond& respond) {
    Answer(request, target, {}, respond);
  }
  std::optional<Attributes> SufficientAccess(const http::Request& request, const Target& target) const;
  // The path whose access is reviewed for a request.
  std::string ReviewedPath(const Target& target) const;
  // Whether the path was added by AddPublic.
  bool IsPublic(std::string_view path) const;
  // Whether the path is a health check.
  bool IsHealth(std::string_view path) const;
  // Whether the path serves the metrics of this process; not /metrics/resources, which lists the pods of all
  // namespaces.
  static bool IsMetrics(std::string_view path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Metrics in the variant of Prometheus' text format that the request accepts, with gzip if requested.
http::Response MetricsAnswer(const http::Request& request, std::string text);

}  // namespace berth::service
