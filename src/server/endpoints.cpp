#include "server/endpoints.hpp"

#include <fmt/format.h>

#include <boost/url/parse.hpp>
#include <charconv>
#include <map>

#include "log/log.hpp"
#include "metrics/registry.hpp"

namespace berth::server {
namespace {

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
// Prometheus' negotiation of 2024 and later; the names we use need no escaping.
constexpr std::string_view kExposition = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

http::Response Make(int status, std::string body, std::string_view content_type = kPlain) {
  http::Response response;
  response.status = status;
  response.content_type = content_type;
  response.body = http::Share(std::move(body));
  response.headers.Add("Cache-Control", "no-cache, private");
  if (content_type == kPlain) response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

struct Target {
  std::string path;
  bool verbose = false;
  std::vector<std::string> exclude;
};

Target Parse(std::string_view text) {
  Target target;
  const auto url = boost::urls::parse_origin_form(text);
  if (!url) return target;
  target.path = url->path();
  for (const auto& param : url->params()) {
    if (param.key == "verbose") target.verbose = true;
    if (param.key == "exclude") target.exclude.push_back(param.value);
  }
  return target;
}

http::Response SetVerbosity(const http::Request& request) {
  if (request.method != "PUT") {
    return Make(406, fmt::format("unrecognized http method: {}\n", request.method));
  }
  int level = 0;
  const auto* end = request.body.data() + request.body.size();
  const auto [rest, ec] = std::from_chars(request.body.data(), end, level);
  if (ec != std::errc() || rest != end) {
    return Make(400,
                fmt::format("failed to set klog.logging.verbosity to {}: strconv.ParseInt: parsing \"{}\": "
                            "invalid syntax\n",
                            request.body, request.body));
  }
  log::SetVerbosity(level);
  return Make(200, fmt::format("successfully set klog.logging.verbosity to {}", level));
}

}  // namespace

struct Endpoints::Impl {
  struct Page {
    std::string content_type;
    std::function<std::string()> write;
  };

  metrics::Registry& metrics;
  metrics::Registry
      slis{};  // shown by itself, as upstream: service levels are scraped more often than the rest
  std::map<std::string, HealthPath, std::less<>> health{};
  std::map<std::string, Page, std::less<>> pages{};
  bool verbosity = false;

  http::Response Metrics(const http::Request& request) {
    if (request.method == "DELETE") {
      metrics.Reset();
      return Make(200, "metrics reset\n");
    }
    return Make(200, metrics.Expose(), kExposition);
  }
  // Nothing if the path is no health path.
  std::optional<HealthAnswer> Health(const Target& target) {
    const std::string_view path = std::string_view(target.path).substr(1);
    const auto slash = path.find('/');
    const auto found = health.find(path.substr(0, slash));
    if (found == health.end()) return std::nullopt;
    if (slash == path.npos) return found->second.All(target.verbose, target.exclude);
    return found->second.One(path.substr(slash + 1));
  }
};

Endpoints::Endpoints(metrics::Registry& metrics) : impl_(new Impl{metrics}) {}
Endpoints::~Endpoints() = default;

void Endpoints::AddHealth(std::string name, std::vector<Check> checks) {
  impl_->health.emplace(name, HealthPath(name, std::move(checks), impl_->slis));
}

void Endpoints::AddPage(std::string path, std::string content_type, std::function<std::string()> write) {
  impl_->pages.insert_or_assign(std::move(path), Impl::Page{std::move(content_type), std::move(write)});
}

void Endpoints::AddVerbosity() { impl_->verbosity = true; }

http::Response Endpoints::Answer(const http::Request& request) {
  const Target target = Parse(request.target);
  if (target.path.empty()) return Make(404, "404 page not found\n");
  if (const auto answer = impl_->Health(target)) return Make(answer->status, answer->body);
  if (target.path == "/metrics") return impl_->Metrics(request);
  if (target.path == "/metrics/slis") return Make(200, impl_->slis.Expose(), kExposition);
  if (target.path == "/debug/flags/v" && impl_->verbosity) return SetVerbosity(request);
  if (const auto page = impl_->pages.find(target.path); page != impl_->pages.end()) {
    return Make(200, page->second.write(), page->second.content_type);
  }
  return Make(404, "404 page not found\n");
}

}  // namespace berth::server
