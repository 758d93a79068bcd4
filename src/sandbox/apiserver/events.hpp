// events.k8s.io/v1: another representation of the same stored events.
#pragma once

#include <string>

#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// Renames the fields of an events.k8s.io/v1 event to those of core/v1, the stored form.
void EventToCore(json::object& event);
// The stored event with the fields, kind and apiVersion of events.k8s.io/v1.
std::string EventsGroupText(const Object& event);

// The validation rules of events.k8s.io/v1 for creation. core/v1 applies them only to events with an
// eventTime.
ApiResult<> ValidateNewEvent(const json::object& event, std::string_view ns, bool events_group);

}  // namespace berth::sandbox
