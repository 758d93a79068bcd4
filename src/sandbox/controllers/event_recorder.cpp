#include "sandbox/controllers/event_recorder.hpp"

#include <fmt/format.h>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

constexpr double kEventBurst = 25;
constexpr double kSecondsPerToken = 300;
constexpr std::size_t kMaxEntries = 4096;  // then all are dropped; the only effect are duplicate events

}  // namespace

void EventRecorder::Record(const Object& about, std::string_view type, std::string_view reason,
                           const std::string& message, std::string_view component, std::string_view host) {
  if (recorded_.size() > kMaxEntries) recorded_.clear();
  RecordedEvent& recorded = recorded_[fmt::format("{}|{}|{}|{}", about.uid, reason, component, message)];
  if (!Allowed(about, component) || (!recorded.key.empty() && CountUp(recorded))) return;
  const WallTime wall = verbs_.clock().WallNow();
  const std::string now = FormatTime(wall);
  const std::string ns = about.ns.empty() ? "default" : about.ns;
  json::object source{{"component", component}};
  if (!host.empty()) source["host"] = host;
  Document event;
  event.root() = json::object{
      {"metadata",
       json::object{{"name", fmt::format("{}.{:x}{:04x}", about.name.substr(0, 230),
                                         wall.time_since_epoch().count(), verbs_.store().version() & 0xffff)},
                    {"namespace", ns}}},
      {"involvedObject", json::object{{"kind", about.type->kind},
                                      {"namespace", about.ns},
                                      {"name", about.name},
                                      {"uid", about.uid},
                                      {"apiVersion", about.type->group_version()},
                                      {"resourceVersion", fmt::to_string(about.version)}}},
      {"reason", reason},
      {"message", message},
      {"source", std::move(source)},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1},
      {"type", type},
      {"eventTime", nullptr},
      {"reportingComponent", component},
      {"reportingInstance", host}};
  // Fails if the namespace is terminating; the event is then lost.
  if (const auto created = verbs_.Create(Known().events, ns, std::move(event))) {
    recorded = {(*created)->key, (*created)->uid};
  }
}

bool EventRecorder::Allowed(const Object& about, std::string_view component) {
  if (buckets_.size() > kMaxEntries) buckets_.clear();
  const MonoTime now = verbs_.clock().Now();
  Bucket& bucket =
      buckets_.try_emplace(fmt::format("{}|{}", component, about.uid), kEventBurst, now).first->second;
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(kEventBurst, bucket.tokens + seconds / kSecondsPerToken);
  bucket.filled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

bool EventRecorder::CountUp(const RecordedEvent& recorded) {
  const ObjectPtr event = verbs_.store().Get(Known().events, recorded.key);
  if (!event) return false;
  return verbs_.Rewrite({Known().events, event->ns, event->name}, recorded.uid, [&](json::object& document) {
    document["count"] = IntAt(document, "count", 1) + 1;
    document["lastTimestamp"] = FormatTime(verbs_.clock().WallNow());
  }) != nullptr;
}

}  // namespace berth::sandbox
