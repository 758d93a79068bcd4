#include "process/scheduler_api.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <utility>

#include "base/seeded_hash.hpp"
#include "base/version.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "scheduler/introspection/report_json.hpp"
#include "service/negotiation.hpp"
#include "service/target.hpp"

namespace berth::process {
namespace {

using introspection::PodView;
using service::Target;

constexpr std::string_view kRoot = "/apis/berth.dev/v1alpha1/";
constexpr std::string_view kPods = "pods/";  // below kRoot
constexpr std::size_t kMostAttempts = 10;
constexpr std::size_t kMostRows = 1000;  // of one page of the queue

struct Name {
  std::string ns, name;
};

// The path below kRoot, which all requests have.
std::string_view Below(const Target& target) { return std::string_view(target.path).substr(kRoot.size()); }

// From the path of one pod below kRoot; nullopt if it is none.
std::optional<Name> PodOf(std::string_view path) {
  if (!path.starts_with(kPods)) return std::nullopt;
  path.remove_prefix(kPods.size());
  const std::size_t slash = path.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == path.size()) return std::nullopt;
  if (path.find('/', slash + 1) != std::string_view::npos) return std::nullopt;
  return Name{std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

// The parameter "view" of a pod: nullopt if it is invalid.
std::optional<PodView> ViewOf(const Target& target) {
  const std::string_view view = target.Get("view");
  if (view.empty() || view == "summary") return PodView::kSummary;
  if (view == "nodes") return PodView::kNodes;
  if (view == "records") return PodView::kRecords;
  return std::nullopt;
}

// Who may get a pod may read its summary: it shows what the pod's events show. Names of nodes and of other
// pods need access to the path.
std::optional<service::Attributes> SufficesForPod(const Target& target) {
  const std::optional<Name> pod = PodOf(Below(target));
  if (!pod || ViewOf(target) != PodView::kSummary) return std::nullopt;
  return service::Attributes{"get", "", service::Attributes::Resource{"pods", pod->ns, pod->name}};
}

// A number of at most `most`; nullopt if it is none.
std::optional<std::size_t> NumberOf(std::string_view text, std::size_t otherwise, std::size_t most) {
  if (text.empty()) return otherwise;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

}  // namespace

struct SchedulerApi::State : std::enable_shared_from_this<State> {
  // One request, until its response. The slot is free again when the last copy is gone, also without a
  // response.
  struct Exchange {
    Exchange(std::shared_ptr<std::atomic<int>> active, const http::Request& request, const Target& target,
             service::Respond respond)
        : active(std::move(active)), request(request), target(target), respond(std::move(respond)) {}
    ~Exchange() { --*active; }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void Answer(http::Response response) const {
      log::Info("Scheduler API request",
                {{"method", request.method}, {"URI", request.target}, {"status", response.status}});
      respond(std::move(response));
    }
    void Fail(int code, std::string reason, std::string message) const {
      Answer(service::StatusAnswer(
          request, target, {.code = code, .reason = std::move(reason), .message = std::move(message)}));
    }
    // With an ETag. The order in which members are written is fixed, so equal states have equal texts.
    void AnswerJson(std::string text) const {
      const std::string tag = fmt::format("\"{:016x}\"", SeededHash()(text));
      http::Response response = service::Plain(200, "", "application/json");
      response.headers.Add("ETag", tag);
      response.headers.Add("X-Content-Type-Options", "nosniff");
      if (request.headers.Find("If-None-Match") == tag) {
        response.status = 304;
        response.content_type.clear();
        response.body = nullptr;
      } else {
        response.body = http::Share(std::move(text));
      }
      Answer(std::move(response));
    }

    const std::shared_ptr<std::atomic<int>> active;
    const http::Request request;
    const Target target;
    const service::Respond respond;
  };
  using ExchangePtr = std::shared_ptr<Exchange>;

  explicit State(Parts parts) : parts(std::move(parts)) {}

  void Serve(const http::Request& request, const Target& target, const service::Respond& respond) {
    const bool many = ++*active > kMostRequests;
    const auto exchange = std::make_shared<Exchange>(active, request, target, respond);
    if (many) {
      auto refusal = service::StatusAnswer(
          request, target,
          {.code = 429,
           .reason = "TooManyRequests",
           .message = fmt::format("{} requests are being served, please try again later", kMostRequests)});
      refusal.headers.Add("Retry-After", "1");
      return exchange->Answer(std::move(refusal));
    }
    if (request.method != "GET" && request.method != "HEAD")
      return exchange->Fail(405, "MethodNotAllowed", "only GET is supported");
    const std::string_view path = Below(target);
    if (path == "status") return ServeStatus(exchange);
    if (path == "queue") return ServeQueue(exchange);
    if (const std::optional<Name> pod = PodOf(path)) return ServePod(exchange, *pod);
    exchange->Fail(
        404, "NotFound",
        fmt::format("no such path: expected {0}status, {0}queue or {0}pods/NAMESPACE/NAME", kRoot));
  }

  void ServeStatus(const ExchangePtr& exchange) {
    parts.inspector.ReportStatus([weak = weak_from_this(), exchange](introspection::StatusReport report) {
      if (const auto self = weak.lock())
        exchange->AnswerJson(StatusJson(report, {BerthVersion(), self->parts.leading()}));
    });
  }

  void ServePod(const ExchangePtr& exchange, const Name& pod) {
    const std::optional<PodView> view = ViewOf(exchange->target);
    if (!view) {
      return exchange->Fail(400, "BadRequest",
                            fmt::format("view: invalid value \"{}\": expected summary, nodes or records",
                                        exchange->target.Get("view")));
    }
    const auto attempts = NumberOf(exchange->target.Get("attempts"), 2, kMostAttempts);
    if (!attempts) {
      return exchange->Fail(400, "BadRequest",
                            fmt::format("attempts: invalid value \"{}\": expected 0 to {}",
                                        exchange->target.Get("attempts"), kMostAttempts));
    }
    parts.inspector.ReportPod(
        pod.ns + "/" + pod.name, *attempts,
        [weak = weak_from_this(), exchange, pod, view](std::optional<introspection::PodReport> report) {
          Write(weak, [exchange, pod, view, report = std::move(report)] {
            if (report) return exchange->AnswerJson(PodJson(*report, *view));
            exchange->Fail(404, "NotFound",
                           fmt::format("pod \"{}/{}\" is not pending in this scheduler, and no record of its "
                                       "attempts is left",
                                       pod.ns, pod.name));
          });
        });
  }

  void ServeQueue(const ExchangePtr& exchange) {
    introspection::QueueFilter filter;
    const Target& target = exchange->target;
    filter.ns = target.Get("namespace");
    filter.place = target.Get("place");
    filter.plugin = target.Get("plugin");
    const auto limit = NumberOf(target.Get("limit"), filter.limit, kMostRows);
    const auto offset = NumberOf(target.Get("offset"), 0, SIZE_MAX);
    if (!limit || !offset) {
      return exchange->Fail(400, "BadRequest",
                            fmt::format("{}: invalid value \"{}\": expected a number{}",
                                        limit ? "offset" : "limit", target.Get(limit ? "offset" : "limit"),
                                        limit ? "" : fmt::format(" of at most {}", kMostRows)));
    }
    filter.limit = *limit;
    filter.offset = *offset;
    parts.inspector.ReportQueue([weak = weak_from_this(), exchange,
                                 filter](std::vector<introspection::QueueRow> rows) {
      Write(weak,
            [exchange, filter, rows = std::move(rows)] { exchange->AnswerJson(QueueJson(rows, filter)); });
    });
  }

  // `work` must not own the state, which waits for it when it is destroyed.
  static void Write(const std::weak_ptr<State>& weak, std::move_only_function<void()> work) {
    if (const auto self = weak.lock()) self->writer.Post(std::move(work));
  }

  const Parts parts;
  const std::shared_ptr<std::atomic<int>> active = std::make_shared<std::atomic<int>>(0);
  // One thread: texts take milliseconds, and must not take a core from decisions.
  cycle::WorkerPool writer{1};
};

SchedulerApi::SchedulerApi(service::Endpoints& endpoints, Parts parts)
    : state_(std::make_shared<State>(std::move(parts))) {
  endpoints.AddPrefix(
      std::string(kRoot),
      [weak = std::weak_ptr(state_)](const http::Request& request, const Target& target,
                                     const service::Respond& respond) {
        const auto state = weak.lock();
        if (!state) return respond(service::NotFound());
        state->Serve(request, target, respond);
      },
      &SufficesForPod);
}

SchedulerApi::~SchedulerApi() = default;

}  // namespace berth::process
