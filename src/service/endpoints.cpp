#include "service/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/go_quote.hpp"
#include "http/gzip.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "service/negotiation.hpp"
#include "service/process_metrics.hpp"

namespace berth::service {
namespace {

// The escaping parameter for metric names outside ASCII; Berth's names are all ASCII, so the text is the
// same.
std::string_view Escaping(const http::Request& request) {
  constexpr std::string_view kKnown[] = {"allow-utf-8", "underscores", "dots", "values"};
  std::string_view escaping = "underscores";
  for (const MediaRange& range : ParseAccept(request.headers.Find("Accept"))) {
    if (const auto parameter = range.params.find("escaping"); parameter != range.params.end()) {
      const auto* known = std::ranges::find(kKnown, std::string_view(parameter->second));
      if (known != std::end(kKnown)) escaping = *known;
    }
    const auto version = range.params.find("version");
    const bool known_version =
        version == range.params.end() || version->second == "0.0.4" || version->second.empty();
    if (range.type == "text" && range.subtype == "plain" && known_version) break;
  }
  return escaping;
}

// As writePlainText in apiserver's routes: no charset, and a newline.
http::Response FlagAnswer(int status, const std::string& text) {
  http::Response response = Plain(status, text + "\n", "text/plain");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

http::Response SetVerbosity(const http::Request& request) {
  if (request.method != "PUT") return FlagAnswer(406, "unsupported http method");
  const std::string& text = request.body;
  const char* end = text.data() + text.size();
  std::uint32_t level = 0;
  const auto [rest, ec] = std::from_chars(text.data(), end, level);
  if (ec != std::errc() || rest != end) {
    return FlagAnswer(
        400, fmt::format("strconv.ParseUint: parsing {}: {}", GoQuote(text),
                         ec == std::errc::result_out_of_range ? "value out of range" : "invalid syntax"));
  }
  log::SetVerbosity(static_cast<int>(std::min<std::uint32_t>(level, 1'000'000)));
  return FlagAnswer(200, fmt::format("successfully set klog.logging.verbosity to {}", text));
}

UserPage WithoutUser(Page page) {
  return [page = std::move(page)](const http::Request& request, const Target& target, const User&,
                                  const Respond& respond) { page(request, target, respond); };
}

constexpr std::string_view kFlagIndex = R"(<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
)";

}  // namespace

http::Response MetricsAnswer(const http::Request& request, std::string text) {
  const bool gzip = http::PrefersGzip(request.headers.Find("Accept-Encoding"));
  auto response =
      Plain(200, gzip ? http::Gzip(text) : std::move(text),
            fmt::format("text/plain; version=0.0.4; charset=utf-8; escaping={}", Escaping(request)));
  if (gzip) response.headers.Add("Content-Encoding", "gzip");
  response.headers.Add("Process-Start-Time-Unix", std::to_string(static_cast<std::int64_t>(ProcessStart())));
  return response;
}

struct Endpoints::Impl {
  metrics::Registry& metrics;
  // A separate registry, as upstream: /metrics/slis is scraped more often than the rest.
  metrics::Registry slis{};
  std::map<std::string, HealthPath, std::less<>> health{};
  std::map<std::string, UserPage, std::less<>> pages{};
  struct Prefix {
    UserPage page;
    Suffices suffices;
    std::string reviewed_as;
  };
  std::map<std::string, Prefix, std::less<>> prefixes{};
  std::vector<std::string> listed{};
  std::vector<std::string> open{};  // without authentication; prefixes end with /

  void AddMetrics(Endpoints& self, const std::string& path, metrics::Registry& registry) {
    self.Add(path, [&registry](const http::Request& request, const Target&, const Respond& respond) {
      if (request.method == "DELETE") {
        registry.Reset();
        return respond(Plain(200, "metrics reset\n"));
      }
      respond(MetricsAnswer(request, registry.Expose()));
    });
  }
  const UserPage* Find(std::string_view path) const {
    if (const auto page = pages.find(path); page != pages.end()) return &page->second;
    const Prefix* const prefix = FindPrefix(path);
    return prefix == nullptr ? nullptr : &prefix->page;
  }
  // In alphabetical order the longest matching prefix comes last.
  const Prefix* FindPrefix(std::string_view path) const {
    const Prefix* found = nullptr;
    for (const auto& [prefix, entry] : prefixes) {
      if (path.starts_with(prefix)) found = &entry;
    }
    return found;
  }
};

Endpoints::Endpoints(metrics::Registry& metrics) : impl_(new Impl{metrics}) {
  impl_->AddMetrics(*this, "/metrics", impl_->metrics);
  impl_->AddMetrics(*this, "/metrics/slis", impl_->slis);
  impl_->slis.CallbackGauge("process_start_time_seconds",
                            "[ALPHA] Start time of the process since unix epoch in seconds.", {},
                            &ProcessStart);
}
Endpoints::~Endpoints() = default;

void Endpoints::AddHealth(std::string name, std::vector<Check> checks) {
  if (checks.empty()) checks.push_back(Ping());
  std::vector<std::string> names;
  for (const Check& check : checks) names.push_back(check.name);
  auto [path, _] = impl_->health.emplace(name, HealthPath(name, std::move(checks), impl_->slis));
  HealthPath& health = path->second;
  Add("/" + name, [&health](const http::Request&, const Target& target, const Respond& respond) {
    std::vector<std::string> exclude;
    for (const auto& [key, value] : target.query) {
      if (key == "exclude") exclude.push_back(value);
    }
    auto answer = health.All(target.Has("verbose"), exclude);
    auto response = Plain(answer.status, std::move(answer.body));
    response.headers.Add("X-Content-Type-Options", "nosniff");
    respond(std::move(response));
  });
  for (const std::string& check : names) {
    Add("/" + name + "/" + check, [&health, check](const http::Request&, const Target&,
                                                   const Respond& respond) {
      const auto answer = health.One(check);
      respond(answer->status == 200 ? Plain(200, answer->body) : PlainError(answer->status, answer->body));
    });
  }
}

void Endpoints::AddPage(std::string path, std::string content_type, std::function<std::string()> write) {
  Add(std::move(path), [content_type = std::move(content_type), write = std::move(write)](
                           const http::Request&, const Target&, const Respond& respond) {
    auto response = Plain(200, write(), content_type);
    response.headers.Add("X-Content-Type-Options", "nosniff");
    respond(std::move(response));
  });
}

void Endpoints::Add(std::string path, Page page) {
  impl_->listed.push_back(path);
  AddUnlisted(std::move(path), std::move(page));
}

void Endpoints::AddUnlisted(std::string path, Page page) {
  impl_->pages.insert_or_assign(std::move(path), WithoutUser(std::move(page)));
}

void Endpoints::AddPrefix(std::string prefix, Page page) {
  std::string reviewed_as = prefix;
  AddPrefix(
      std::move(prefix), WithoutUser(std::move(page)), [](const Target&) { return std::nullopt; },
      std::move(reviewed_as));
}

void Endpoints::AddPrefix(std::string prefix, UserPage page, Suffices suffices, std::string reviewed_as) {
  impl_->prefixes.insert_or_assign(
      std::move(prefix), Impl::Prefix{std::move(page), std::move(suffices), std::move(reviewed_as)});
}

void Endpoints::AddPublic(std::string path, Page page) {
  impl_->open.push_back(path);
  path.ends_with('/') ? AddPrefix(std::move(path), std::move(page))
                      : AddUnlisted(std::move(path), std::move(page));
}

void Endpoints::AddVerbosity() {
  const Page index = [](const http::Request&, const Target&, const Respond& respond) {
    respond(Plain(200, std::string(kFlagIndex), "text/html; charset=utf-8"));
  };
  AddUnlisted("/debug/flags", index);
  AddPrefix("/debug/flags/", index);
  AddUnlisted("/debug/flags/v", [](const http::Request& request, const Target&, const Respond& respond) {
    respond(SetVerbosity(request));
  });
}

std::vector<std::string> Endpoints::Paths() const {
  auto paths = impl_->listed;
  std::ranges::sort(paths);
  return paths;
}

void Endpoints::Answer(const http::Request& request, const Target& target, const User& user,
                       const Respond& respond) {
  if (const UserPage* page = impl_->Find(target.path)) return (*page)(request, target, user, respond);
  respond(NotFound());
}

std::optional<Attributes> Endpoints::SufficientAccess(const http::Request& request,
                                                      const Target& target) const {
  if (request.method != "GET" || impl_->pages.contains(target.path)) return std::nullopt;
  const Impl::Prefix* const prefix = impl_->FindPrefix(target.path);
  return prefix == nullptr ? std::nullopt : prefix->suffices(target);
}

std::string Endpoints::ReviewedPath(const Target& target) const {
  if (impl_->pages.contains(target.path)) return target.path;
  std::string reviewed = target.path;
  for (const auto& [prefix, entry] : impl_->prefixes) {  // the longest one comes last
    if (target.path.starts_with(prefix)) reviewed = entry.reviewed_as + target.path.substr(prefix.size());
  }
  return reviewed;
}

bool Endpoints::IsPublic(std::string_view path) const {
  return std::ranges::any_of(impl_->open, [&](const std::string& open) {
    return open.ends_with('/') ? path.starts_with(open) : path == open;
  });
}

bool Endpoints::IsMetrics(std::string_view path) { return path == "/metrics" || path == "/metrics/slis"; }

bool Endpoints::IsHealth(std::string_view path) const {
  path.remove_prefix(std::min<std::size_t>(path.size(), 1));
  return impl_->health.contains(path.substr(0, path.find('/')));
}

}  // namespace berth::service
