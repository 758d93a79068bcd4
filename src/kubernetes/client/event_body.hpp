// Request bodies for events (events.k8s.io/v1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// An event to be sent, independent of the pod object.
struct EventRecord {
  std::string name, ns;
  WallTime time{};
  std::string controller, instance;
  std::string action, reason, note, type;
  std::string pod_name, pod_uid, pod_version;
  std::optional<ports::ObjectReference> related;
  std::int64_t series_count = 0;  // 0: no series
  WallTime last_observed{};

  // Events with the same key are occurrences of one series. The key includes the pod's resource version, not
  // the note.
  std::string SeriesKey() const;
};

// `nanos` (since 1970) make the name unique: "<pod>.<hex>", or a UUID if that would be too long for a name.
EventRecord MakeRecord(const ports::Event& event, std::string_view hostname, WallTime time,
                       std::int64_t nanos, Random& random);

std::string EventBody(const EventRecord& record);
// The strategic merge patch for a further occurrence.
std::string SeriesPatchBody(const EventRecord& record);

// Limits a note to 1024 bytes: a longer text is cut between characters and ends with " ...", as in
// kube-scheduler.
std::string CutNote(std::string_view note);

}  // namespace berth::client
