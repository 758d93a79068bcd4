#include "process/scheduler_api.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <utility>

#include "base/seeded_hash.hpp"
#include "base/version.hpp"
#include "observability/log/log.hpp"
#include "process/scheduler_api_document.hpp"
#include "process/scheduler_api_paths.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "scheduler/introspection/node_json.hpp"
#include "scheduler/introspection/report_json.hpp"
#include "service/negotiation.hpp"
#include "service/target.hpp"

namespace berth::process {
namespace {

using explanation::JsonView;
using introspection::NodeView;
using introspection::PodView;
using service::Target;
using Kind = SchedulerApiPath::Kind;

constexpr std::size_t kMostAttempts = 10;
constexpr std::size_t kMostRows = 1000;   // of one page of the queue
constexpr std::size_t kMostNodes = 5000;  // of one page of nodes

// A number of at most `most`; nullopt if it is none.
std::optional<std::size_t> NumberOf(std::string_view text, std::size_t otherwise, std::size_t most) {
  if (text.empty()) return otherwise;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

// The value of the parameter "view"; without it the first one; nullopt if it is invalid.
template <class View>
std::optional<View> ViewOf(const Target& target,
                           std::initializer_list<std::pair<std::string_view, View>> views) {
  const std::string_view given = target.Get("view");
  if (given.empty()) return views.begin()->second;
  for (const auto& [name, view] : views) {
    if (name == given) return view;
  }
  return std::nullopt;
}

}  // namespace

struct SchedulerApi::State : std::enable_shared_from_this<State> {
  // One request, until its response. The slot is free again when the last copy is gone, also without a
  // response.
  struct Exchange {
    Exchange(std::shared_ptr<std::atomic<int>> active, const http::Request& request, const Target& target,
             std::string user, service::Respond respond)
        : active(std::move(active)),
          request(request),
          target(target),
          user(std::move(user)),
          respond(std::move(respond)) {}
    ~Exchange() { --*active; }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void Answer(http::Response response) const {
      log::Info(
          "Scheduler API request",
          {{"user", user}, {"method", request.method}, {"URI", request.target}, {"status", response.status}});
      respond(std::move(response));
    }
    void Fail(int code, std::string reason, std::string message) const {
      Answer(service::StatusAnswer(
          request, target, {.code = code, .reason = std::move(reason), .message = std::move(message)}));
    }
    void FailView(std::string_view expected) const {
      Fail(400, "BadRequest",
           fmt::format("view: invalid value \"{}\": expected {}", target.Get("view"), expected));
    }
    void RefuseForNow(std::string message) const {
      auto refusal = service::StatusAnswer(
          request, target, {.code = 429, .reason = "TooManyRequests", .message = std::move(message)});
      refusal.headers.Add("Retry-After", "1");
      Answer(std::move(refusal));
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
        response.body = ShareText(std::move(text));
      }
      Answer(std::move(response));
    }

    // Without an ETag: the response contains the time.
    void AnswerOnce(std::string text) const {
      http::Response response = service::Plain(200, std::move(text), "application/json");
      response.headers.Add("X-Content-Type-Options", "nosniff");
      Answer(std::move(response));
    }

    const std::shared_ptr<std::atomic<int>> active;
    const http::Request request;
    const Target target;
    const std::string user;  // empty: not authenticated
    const service::Respond respond;
  };
  using ExchangePtr = std::shared_ptr<Exchange>;

  explicit State(Parts parts) : parts(std::move(parts)) {}

  void Serve(const http::Request& request, const Target& target, const service::User& user,
             const service::Respond& respond) {
    const bool many = ++*active > kMostRequests;
    const auto exchange = std::make_shared<Exchange>(active, request, target, user.name, respond);
    if (many) {
      return exchange->RefuseForNow(
          fmt::format("{} requests are being served, please try again later", kMostRequests));
    }
    const SchedulerApiPath path = SchedulerApiPathOf(target);
    const bool reads =
        path.kind != Kind::kRetry && path.kind != Kind::kReload && path.kind != Kind::kRollBack;
    if (reads ? request.method != "GET" && request.method != "HEAD" : request.method != "POST") {
      return exchange->Fail(405, "MethodNotAllowed",
                            fmt::format("only {} is supported", reads ? "GET" : "POST"));
    }
    switch (path.kind) {
      case Kind::kStatus:
        return ServeStatus(exchange);
      case Kind::kQueue:
        return ServeQueue(exchange);
      case Kind::kPlugins:
        return ServePlugins(exchange);
      case Kind::kPreemptions:
        return ServePreemptions(exchange);
      case Kind::kPod:
        return ServePod(exchange, path);
      case Kind::kExplanation:
        return ServeExplanation(exchange, path);
      case Kind::kRetry:
        return ServeRetry(exchange, path);
      case Kind::kNode:
        return ServeNode(exchange, path);
      case Kind::kNodes:
        return ServeNodes(exchange);
      case Kind::kConfig:
        return exchange->AnswerJson(parts.reload.StateJson());
      case Kind::kReload:
        return ServeReload(exchange);
      case Kind::kRollBack:
        return ChangeConfig(exchange, ConfigReload::Action::kRollBack);
      case Kind::kUnknown:
        return exchange->Fail(
            404, "NotFound",
            fmt::format("no such path: expected {0}status, {0}queue, {0}plugins, "
                        "{0}preemptions, {0}config, {0}config/reload, {0}config/rollback, {0}nodes, "
                        "{0}nodes/NAME, {0}pods/NAMESPACE/NAME, "
                        "{0}pods/NAMESPACE/NAME/explanation or {0}pods/NAMESPACE/NAME/retry",
                        kSchedulerApiRoot));
    }
  }

  void ServeStatus(const ExchangePtr& exchange) {
    parts.inspector.ReportStatus([weak = weak_from_this(), exchange](introspection::StatusReport report) {
      if (const auto self = weak.lock())
        exchange->AnswerJson(StatusJson(report, {BerthVersion(), self->parts.leading()}));
    });
  }

  void ServePod(const ExchangePtr& exchange, const SchedulerApiPath& pod) {
    const std::optional<PodView> view = ViewOf<PodView>(
        exchange->target,
        {{"summary", PodView::kSummary}, {"nodes", PodView::kNodes}, {"records", PodView::kRecords}});
    if (!view) return exchange->FailView("summary, nodes or records");
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
    if (!ReadPage(*exchange, kMostRows, filter.limit, filter.offset)) return;
    parts.inspector.ReportQueue(
        [weak = weak_from_this(), exchange, filter](introspection::QueueReport report) {
          Write(weak, [exchange, filter, report = std::move(report)] {
            exchange->AnswerJson(QueueJson(report, filter));
          });
        });
  }

  // The parameters limit and offset. Responds and returns false if one is invalid.
  static bool ReadPage(const Exchange& exchange, std::size_t most, std::size_t& limit, std::size_t& offset) {
    const Target& target = exchange.target;
    const auto given_limit = NumberOf(target.Get("limit"), limit, most);
    const auto given_offset = NumberOf(target.Get("offset"), 0, SIZE_MAX);
    if (given_limit && given_offset) {
      limit = *given_limit;
      offset = *given_offset;
      return true;
    }
    const char* const wrong = given_limit ? "offset" : "limit";
    exchange.Fail(400, "BadRequest",
                  fmt::format("{}: invalid value \"{}\": expected a number{}", wrong, target.Get(wrong),
                              given_limit ? "" : fmt::format(" of at most {}", most)));
    return false;
  }

  void ServeNodes(const ExchangePtr& exchange) {
    introspection::NodesPage page;
    if (!ReadPage(*exchange, kMostNodes, page.limit, page.offset)) return;
    parts.inspector.ReportNodes([weak = weak_from_this(), exchange, page](introspection::NodesReport report) {
      Write(weak,
            [exchange, page, report = std::move(report)] { exchange->AnswerJson(NodesJson(report, page)); });
    });
  }

  void ServePreemptions(const ExchangePtr& exchange) {
    parts.inspector.ReportPreemptions([weak = weak_from_this(),
                                       exchange](introspection::PreemptionsReport report) {
      Write(weak, [exchange, report = std::move(report)] { exchange->AnswerJson(PreemptionsJson(report)); });
    });
  }

  void ServePlugins(const ExchangePtr& exchange) {
    parts.inspector.ReportPlugins([weak = weak_from_this(), exchange](introspection::PluginsReport report) {
      Write(weak, [exchange, report = std::move(report)] { exchange->AnswerJson(PluginsJson(report)); });
    });
  }

  void ServeNode(const ExchangePtr& exchange, const SchedulerApiPath& node) {
    const std::optional<NodeView> view =
        ViewOf<NodeView>(exchange->target, {{"summary", NodeView::kSummary}, {"pods", NodeView::kPods}});
    if (!view) return exchange->FailView("summary or pods");
    parts.inspector.ReportNode(node.name, [weak = weak_from_this(), exchange, name = node.name,
                                           view](std::optional<introspection::NodeReport> report) {
      Write(weak, [exchange, name, view, report = std::move(report)] {
        if (report) return exchange->AnswerJson(NodeJson(*report, *view));
        exchange->Fail(404, "NotFound", fmt::format("node \"{}\" is not known to this scheduler", name));
      });
    });
  }

  // The text is written on the thread of evaluations: it refers to the copy of the cluster.
  void ServeExplanation(const ExchangePtr& exchange, const SchedulerApiPath& pod) {
    const std::optional<JsonView> view =
        ViewOf<JsonView>(exchange->target, {{"summary", JsonView::kSummary}, {"nodes", JsonView::kNodes}});
    if (!view) return exchange->FailView("summary or nodes");
    const bool accepted = parts.explainer.Explain(
        pod.ns + "/" + pod.name, [weak = weak_from_this(), exchange, pod,
                                  view](const Expected<const evaluation::Evaluated*>& evaluated) {
          const auto self = weak.lock();
          if (self == nullptr) return;
          if (!evaluated) {
            const Error& error = evaluated.error();
            if (error.code == ErrorCode::kCancelled)
              return exchange->Fail(503, "ServiceUnavailable", error.message);
            return exchange->Fail(500, "InternalError", error.message);
          }
          if (*evaluated == nullptr) {
            return exchange->Fail(404, "NotFound",
                                  fmt::format("pod \"{}/{}\" is neither pending in this scheduler nor on a "
                                              "node",
                                              pod.ns, pod.name));
          }
          const evaluation::Evaluated& found = **evaluated;
          exchange->AnswerOnce(explanation::ExplanationJson(
              found.explanation,
              {found.cluster_as_of, found.evaluated_at, self->parts.leading(), found.left_out}, *view));
        });
    if (!accepted) {
      exchange->RefuseForNow(fmt::format("{} evaluations are waiting, please try again later",
                                         evaluation::PodExplainer::kMostWaiting));
    }
  }

  // A browser sends its user's client certificate with requests of any page, and names the page as the
  // origin.
  static bool RefuseWebPage(const Exchange& exchange) {
    if (exchange.request.headers.Find("Origin").empty()) return false;
    exchange.Fail(403, "Forbidden", "requests of web pages are refused");
    return true;
  }

  void ServeReload(const ExchangePtr& exchange) {
    const std::string_view dry_run = exchange->target.Get("dryRun");
    if (!dry_run.empty() && dry_run != "All") {
      return exchange->Fail(400, "BadRequest",
                            fmt::format("dryRun: invalid value \"{}\": expected All", dry_run));
    }
    ChangeConfig(exchange, dry_run.empty() ? ConfigReload::Action::kReload : ConfigReload::Action::kPreview);
  }

  // Every replica has a file of its own, so standbys serve this, too.
  void ChangeConfig(const ExchangePtr& exchange, ConfigReload::Action action) {
    if (RefuseWebPage(*exchange)) return;
    if (!parts.may_reload) {
      return exchange->Fail(405, "MethodNotAllowed",
                            "changes of the configuration are disabled: start the scheduler with "
                            "--berth-api-reload");
    }
    const bool accepted = parts.reload.Request(
        action, [exchange](const ReloadReport& report) { exchange->AnswerOnce(ReloadJson(report)); });
    if (!accepted) exchange->RefuseForNow("a reload is in progress, please try again later");
  }

  void ServeRetry(const ExchangePtr& exchange, const SchedulerApiPath& pod) {
    if (RefuseWebPage(*exchange)) return;
    if (!parts.may_retry) {
      return exchange->Fail(405, "MethodNotAllowed",
                            "retries are disabled: start the scheduler with --berth-api-retry");
    }
    if (!parts.leading())
      return exchange->Fail(409, "Conflict", "this scheduler does not lead: ask the leader");
    const std::string key = pod.ns + "/" + pod.name;
    parts.retries.Retry(key, [exchange, key](PodRetries::Outcome outcome) { Tell(*exchange, key, outcome); });
  }

  static void Tell(const Exchange& exchange, const std::string& key, PodRetries::Outcome outcome) {
    using Outcome = PodRetries::Outcome;
    switch (outcome) {
      case Outcome::kRetried:
        return exchange.AnswerOnce(R"({"outcome":"retried"})");
      case Outcome::kActive:
        return exchange.AnswerOnce(R"({"outcome":"alreadyActive"})");
      case Outcome::kInFlight:
        return exchange.AnswerOnce(R"({"outcome":"inFlight"})");
      case Outcome::kHeld:
        return exchange.Fail(
            409, "Conflict",
            fmt::format("pod \"{}\" is held by PreEnqueue plugins: see gatedBy of the pod", key));
      case Outcome::kUnknown:
        return exchange.Fail(404, "NotFound",
                             fmt::format("pod \"{}\" is not pending in this scheduler", key));
      case Outcome::kTooMany:
        return exchange.RefuseForNow(fmt::format(
            "{} pods were retried in this second, please try again later", PodRetries::kMostPerSecond));
    }
    std::unreachable();
  }

  // `work` must not own the state, which waits for it when it is destroyed.
  static void Write(const std::weak_ptr<State>& weak, std::move_only_function<void()> work) {
    if (const auto self = weak.lock()) self->writer.Post(std::move(work));
  }

  const Parts parts;
  const std::shared_ptr<std::atomic<int>> active = std::make_shared<std::atomic<int>>(0);
  // One thread: texts take milliseconds, and must not take a core from decisions.
  cycle::WorkerPool writer{1, cycle::Origin::Kind::kOutside};
};

SchedulerApi::SchedulerApi(service::Endpoints& endpoints, Parts parts)
    : state_(std::make_shared<State>(std::move(parts))) {
  endpoints.AddPrefix(
      std::string(kSchedulerApiRoot),
      [weak = std::weak_ptr(state_)](const http::Request& request, const Target& target,
                                     const service::User& user, const service::Respond& respond) {
        const auto state = weak.lock();
        if (!state) return respond(service::NotFound());
        state->Serve(request, target, user, respond);
      },
      &SufficesForSchedulerApi, std::string(kSchedulerApiReviewedRoot));
  endpoints.AddUnlisted("/openapi/v3", [](const http::Request& request, const Target& target,
                                          const service::Respond& respond) {
    if (request.method != "GET" && request.method != "HEAD") {
      return respond(service::StatusAnswer(
          request, target, {.code = 405, .reason = "MethodNotAllowed", .message = "only GET is supported"}));
    }
    respond(service::Plain(200, std::string(SchedulerApiDocument()), "application/json"));
  });
}

SchedulerApi::~SchedulerApi() = default;

}  // namespace berth::process
