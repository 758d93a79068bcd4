#include "kubernetes/client/lease_watch.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/random.hpp"
#include "http/origin.hpp"
#include "observability/log/log.hpp"

namespace berth::client {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kIdle{90};  // API servers send a bookmark every minute

}  // namespace

LeaseWatch::LeaseWatch(http::Loop& loop, Api& api, Random& random, std::string collection, std::string name,
                       LeaseWatchHandlers handlers)
    : loop_(loop),
      api_(api),
      random_(random),
      path_(std::move(collection)),
      name_(std::move(name)),
      handlers_(std::move(handlers)) {}

void LeaseWatch::Start() {
  if (call_ == 0 && timer_ == http::Loop::TimerId::kNone) Open();
}

void LeaseWatch::Stop() {
  if (call_ != 0) api_.Cancel(call_);
  call_ = 0;
  loop_.Cancel(timer_);
  timer_ = http::Loop::TimerId::kNone;
}

// Without a version the first event contains the current Lease.
void LeaseWatch::Open() {
  const int seconds = WatchTimeoutSeconds(random_);
  call_ = api_.Watch(
      {.path = fmt::format("{}?allowWatchBookmarks=true&fieldSelector={}&timeoutSeconds={}&watch=true", path_,
                           http::EncodeQuery("metadata.name=" + name_), seconds),
       .timeout = std::chrono::seconds(seconds + 30),
       .idle_timeout = kIdle},
      {.on_line = [this](std::string_view line) { return OnLine(line); }},
      [this](Reply reply) { OnEnd(std::move(reply)); });
}

bool LeaseWatch::OnLine(std::string_view line) {
  boost::system::error_code ec;
  const json::value event = json::parse(json::string_view(line.data(), line.size()), ec);
  const json::object* frame = ec ? nullptr : event.if_object();
  const json::value* type = frame == nullptr ? nullptr : frame->if_contains("type");
  const json::value* object = frame == nullptr ? nullptr : frame->if_contains("object");
  if (type == nullptr || !type->is_string() || object == nullptr) return false;
  const json::string& what = type->get_string();
  if (what == "ERROR") return false;
  if (what == "DELETED") handlers_.on_gone();
  if (what == "ADDED" || what == "MODIFIED") {
    auto lease = Lease::Parse(json::serialize(*object));
    if (!lease) return false;
    handlers_.on_lease(std::move(*lease));
  }
  return call_ != 0;  // a handler may have called Stop
}

void LeaseWatch::OnEnd(Reply reply) {
  call_ = 0;
  if (!reply) {
    const RequestError& error = reply.error();
    if (error.http_code == 403 || error.http_code == 404 || error.http_code == 405) {
      log::Info("Not allowed to watch the lease; polling it instead",
                {{"lease", name_}, {"err", error.message}});
      return;
    }
  }
  const Duration delay(static_cast<Duration::rep>(1e9 * (1 + random_.Unit())));
  timer_ = loop_.After(delay, [this] {
    timer_ = http::Loop::TimerId::kNone;
    Open();
  });
}

}  // namespace berth::client
