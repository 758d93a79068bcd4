// events.k8s.io/v1: another face of the same stored events.
#pragma once

#include <string>

#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// Renames the fields of an events.k8s.io/v1 event to those of core/v1, which is how events are stored.
void EventToCore(json::object& event);
// The stored event with the fields, kind and apiVersion of events.k8s.io/v1.
std::string EventsGroupText(const Object& event);

// The rules of events.k8s.io/v1 for creation, which core/v1 shares only for events with an eventTime.
ApiResult<> ValidateNewEvent(const json::object& event, std::string_view ns, bool events_group);

}  // namespace berth::sandbox
