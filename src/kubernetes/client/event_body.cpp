#include "kubernetes/client/event_body.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/utf8_prefix.hpp"

namespace berth::client {
namespace {

constexpr std::size_t kNoteBytes = 1024;
constexpr std::size_t kNameBytes = 253;      // a DNS subdomain
constexpr std::size_t kInstanceBytes = 128;  // the API server rejects longer ones

std::string Uuid(Random& random) {
  const std::uint64_t high = (random.Next() & ~0xf000ULL) | 0x4000ULL;
  const std::uint64_t low = (random.Next() & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff,
                     low >> 48, low & 0xffff'ffff'ffff);
}

void AddSeries(std::string& out, const EventRecord& record) {
  JsonObject(out)
      .AddNumber("count", record.series_count)
      .Add("lastObservedTime", FormatMicroTime(record.last_observed));
}

void AddReference(std::string& out, const ports::ObjectReference& object) {
  JsonObject(out)
      .Add("kind", object.kind)
      .Add("namespace", object.ns)
      .Add("name", object.name)
      .Add("uid", object.uid)
      .Add("apiVersion", object.api_version)
      .Add("resourceVersion", object.resource_version);
}

}  // namespace

std::string EventRecord::SeriesKey() const {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", type, action, reason, controller, instance,
                     ns, pod_name, pod_uid, pod_version, related ? related->uid : "",
                     related ? related->resource_version : "");
}

EventRecord MakeRecord(const ports::Event& event, std::string_view hostname, WallTime time,
                       std::int64_t nanos, Random& random) {
  const api::ObjectMeta& pod = event.regarding->metadata;
  EventRecord record;
  record.name = fmt::format("{}.{:x}", pod.name, nanos);
  if (record.name.size() > kNameBytes) record.name = Uuid(random);
  record.ns = pod.ns.empty() ? "default" : pod.ns;
  record.time = time;
  record.controller = event.controller;
  record.instance = fmt::format("{}-{}", event.controller, hostname).substr(0, kInstanceBytes);
  record.action = event.action;
  record.reason = event.reason;
  record.note = CutNote(event.note);
  record.type = event.type == ports::Event::Type::kNormal ? "Normal" : "Warning";
  record.pod_name = pod.name;
  record.pod_uid = pod.uid;
  record.pod_version = pod.resource_version;
  record.related = event.related;
  return record;
}

std::string EventBody(const EventRecord& record) {
  std::string body;
  {
    JsonObject root(body);
    root.Add("kind", "Event").Add("apiVersion", "events.k8s.io/v1");
    JsonObject(root.Key("metadata")).Add("name", record.name).Add("namespace", record.ns);
    root.Add("eventTime", FormatMicroTime(record.time));
    if (record.series_count > 0) AddSeries(root.Key("series"), record);
    root.Add("reportingController", record.controller).Add("reportingInstance", record.instance);
    root.Add("action", record.action).Add("reason", record.reason);
    AddReference(root.Key("regarding"),
                 {"Pod", "v1", record.ns, record.pod_name, record.pod_uid, record.pod_version});
    if (record.related) AddReference(root.Key("related"), *record.related);
    root.Add("note", record.note).Add("type", record.type);
  }
  return body;
}

std::string SeriesPatchBody(const EventRecord& record) {
  std::string body;
  {
    JsonObject root(body);
    AddSeries(root.Key("series"), record);
  }
  return body;
}

std::string CutNote(std::string_view note) {
  constexpr std::string_view kSuffix = " ...";
  if (note.size() <= kNoteBytes) return std::string(note);
  return std::string(Utf8Prefix(note, kNoteBytes - kSuffix.size())).append(kSuffix);
}

}  // namespace berth::client
