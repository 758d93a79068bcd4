#include "sandbox/apiserver/events.hpp"

#include <fmt/format.h>

#include <array>

namespace berth::sandbox {
namespace {

struct Renamed {
  std::string_view core;
  std::string_view events_group;
};
constexpr std::array<Renamed, 8> kRenamed{{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingInstance", "reportingInstance"},
}};

void Rename(json::object& object, std::string_view from, std::string_view to) {
  if (from == to || !object.contains(from)) return;
  json::value value = std::move(object.at(from));
  object.erase(from);
  object[to] = std::move(value);
}

bool IsEmptySource(const json::value* source) {
  return source == nullptr || source->is_null() ||
         (source->is_object() && FindString(source->get_object(), "component").empty() &&
          FindString(source->get_object(), "host").empty());
}

bool IsUnset(const json::value* value) {
  return value == nullptr || value->is_null() || (value->is_int64() && value->get_int64() == 0) ||
         (value->is_string() && value->get_string().empty());
}

ErrorCause NeedsToBeUnset(std::string field) {
  return InvalidValue(std::move(field), "\"\"", "needs to be unset");
}

}  // namespace

void EventToCore(json::object& event) {
  for (const auto& [core, events_group] : kRenamed) Rename(event, events_group, core);
}

std::string EventsGroupText(const Object& object) {
  Document document = object.Parse();
  json::object& event = document.root();
  for (const auto& [core, events_group] : kRenamed) Rename(event, core, events_group);
  if (!event.contains("eventTime")) event["eventTime"] = nullptr;
  event["kind"] = "Event";
  event["apiVersion"] = "events.k8s.io/v1";
  return json::serialize(event);
}

ApiResult<> ValidateNewEvent(const json::object& event, std::string_view ns, bool events_group) {
  std::vector<ErrorCause> causes;
  const bool new_style = events_group || !FindString(event, "eventTime").empty();
  if (new_style) {
    const bool timed = !FindString(event, "eventTime").empty();
    if (!timed) causes.push_back(Required("eventTime"));
    for (const std::string_view field : {"reportingComponent", "reportingInstance", "action", "reason"}) {
      if (timed && FindString(event, field).empty()) causes.push_back(Required(std::string(field)));
    }
    const auto type = FindString(event, "type");
    if (type != "Normal" && type != "Warning") {
      causes.push_back(InvalidValue("type", "\"\"", fmt::format("has invalid value: {}", type)));
    }
    if (FindString(event, "message").size() > 1024) {
      causes.push_back(InvalidValue("message", "\"\"", "can have at most 1024 characters"));
    }
  }
  if (events_group) {
    if (!IsEmptySource(Find(event, "source"))) causes.push_back(NeedsToBeUnset("source"));
    for (const std::string_view field : {"firstTimestamp", "lastTimestamp", "count"}) {
      if (!IsUnset(Find(event, field))) causes.push_back(NeedsToBeUnset(std::string(field)));
    }
  }
  if (!new_style) {
    const auto about = FindString(event, "involvedObject.namespace");
    if (about.empty() ? ns != "default" : about != ns) {
      causes.push_back(InvalidValue("involvedObject.namespace", fmt::format("\"{}\"", about),
                                    "does not match event.namespace"));
    }
  }
  if (causes.empty()) return {};
  return InvalidObject("", "Event", FindString(event, "metadata.name"), std::move(causes));
}

}  // namespace berth::sandbox
