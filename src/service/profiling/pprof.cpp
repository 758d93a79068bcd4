#include "service/profiling/pprof.hpp"

#include <fmt/format.h>

#include <charconv>
#include <thread>

#include "base/clock.hpp"
#include "base/symbols.hpp"
#include "http/gzip.hpp"
#include "http/loop.hpp"
#include "service/endpoints.hpp"
#include "service/negotiation.hpp"
#include "service/profiling/profile_proto.hpp"
#include "service/profiling/sampler.hpp"

namespace berth::service {
namespace {

constexpr std::string_view kIndex = R"(<html>
<head>
<title>/debug/pprof/</title>
</head>
<body>
/debug/pprof/
<br>
Types of profiles available:
<table>
<tr><td><a href='profile'>profile</a></td><td>CPU profile of the whole process, all threads. You can specify the duration in the seconds GET parameter. After you get the profile file, use the go tool pprof command to investigate the profile.</td></tr>
<tr><td><a href='symbol'>symbol</a></td><td>Maps given program counters to function names. Counters can be specified in a GET raw query or POST body, multiple counters are separated by '+'.</td></tr>
</table>
<p>There are no others: this program is not written in Go, so it has neither goroutines nor a garbage-collected heap.</p>
</body>
</html>
)";

constexpr std::int64_t kDefaultProfileSeconds = 30;
constexpr std::int64_t kMostSeconds = 600;

// As net/http/pprof's errors.
http::Response ProfileError(int status, const std::string& text) {
  http::Response response = PlainError(status, text);
  response.headers.Add("X-Go-Pprof", "1");
  return response;
}

http::Response Redirect(const http::Request& request) {
  const bool body = request.method == "GET" || request.method == "HEAD";
  http::Response response = Plain(302, body ? "<a href=\"/debug/pprof/\">Found</a>.\n\n" : "",
                                  body ? "text/html; charset=utf-8" : "");
  response.headers.Add("Location", "/debug/pprof/");
  return response;
}

std::int64_t Seconds(const Target& target) {
  const std::string_view text = target.Get("seconds");
  std::int64_t seconds = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (ec != std::errc() || end != text.data() + text.size() || seconds <= 0) return kDefaultProfileSeconds;
  return std::min(seconds, kMostSeconds);
}

}  // namespace

struct Pprof::Impl : std::enable_shared_from_this<Impl> {
  Impl(http::Loop& loop, const Clock& clock) : loop(loop), clock(clock) {}

  void Profile(const Target& target, const Respond& respond) {
    auto sampler = std::shared_ptr<Sampler>(Sampler::Start());
    if (!sampler) {
      return respond(ProfileError(500, "Could not enable CPU profiling: cpu profiling already in use"));
    }
    const std::chrono::seconds wanted(Seconds(target));
    running = sampler;
    timer = loop.After(wanted, [self = shared_from_this(), sampler, respond = Respond(respond),
                                began = clock.WallNow(), since = loop.Now()]() mutable {
      self->timer = http::Loop::TimerId::kNone;
      self->running.reset();
      self->Write(std::move(sampler), std::move(respond), began, self->loop.Now() - since);
    });
  }

  // Resolving function names takes long and must not block the loop.
  void Write(std::shared_ptr<Sampler> sampler, Respond respond, WallTime began, Duration took) {
    writer = std::jthread([sampler = std::move(sampler), respond = std::move(respond), began, took] {
      const auto stacks = sampler->Finish();
      const Symbols symbols;
      auto response = Plain(
          200, http::Gzip(WriteProfile(stacks, Sampler::kPeriod, began, took, symbols, ExecutableMappings())),
          "application/octet-stream");
      response.headers.Add("X-Content-Type-Options", "nosniff");
      response.headers.Add("Content-Disposition", "attachment; filename=\"profile\"");
      respond(std::move(response));
    });
  }

  static http::Response Symbol(const http::Request& request, const Target& target) {
    std::string text = "num_symbols: 1\n";
    std::string_view words = request.method == "POST" ? std::string_view(request.body) : target.raw_query;
    std::optional<Symbols> symbols;
    while (!words.empty()) {
      std::string_view word = words.substr(0, words.find('+'));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
      std::uint64_t address = 0;
      std::from_chars(word.data(), word.data() + word.size(), address, 16);
      if (address == 0) continue;
      if (!symbols) symbols.emplace();
      if (const std::string name = symbols->NameOf(address); !name.empty()) {
        text += fmt::format("{:#x} {}\n", address, name);
      }
    }
    auto response = Plain(200, std::move(text));
    response.headers.Add("X-Content-Type-Options", "nosniff");
    return response;
  }

  http::Loop& loop;
  const Clock& clock;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  std::shared_ptr<Sampler> running;
  std::jthread writer;
};

Pprof::Pprof(Endpoints& endpoints, http::Loop& loop, const Clock& clock)
    : impl_(std::make_shared<Impl>(loop, clock)) {
  endpoints.AddUnlisted("/debug/pprof", [](const http::Request& request, const Target&,
                                           const Respond& respond) { respond(Redirect(request)); });
  endpoints.AddPrefix("/debug/pprof/",
                      [](const http::Request&, const Target& target, const Respond& respond) {
                        if (target.path != "/debug/pprof/")
                          return respond(ProfileError(404, "Unknown profile"));
                        auto response = Plain(200, std::string(kIndex), "text/html; charset=utf-8");
                        response.headers.Add("X-Content-Type-Options", "nosniff");
                        respond(std::move(response));
                      });
  endpoints.AddUnlisted(
      "/debug/pprof/profile",
      [weak = std::weak_ptr(impl_)](const http::Request&, const Target& target, const Respond& respond) {
        if (const auto impl = weak.lock()) return impl->Profile(target, respond);
        respond(NotFound());
      });
  endpoints.AddUnlisted("/debug/pprof/symbol",
                        [](const http::Request& request, const Target& target, const Respond& respond) {
                          respond(Impl::Symbol(request, target));
                        });
}

Pprof::~Pprof() {
  impl_->loop.Sync([this] {
    impl_->loop.Cancel(impl_->timer);
    impl_->running.reset();
  });
  if (impl_->writer.joinable()) impl_->writer.join();
}

}  // namespace berth::service
