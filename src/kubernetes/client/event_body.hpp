// Events as events.k8s.io/v1 wants them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// An event on its way, independent of the pod it speaks of.
struct EventRecord {
  std::string name, ns;
  WallTime time{};
  std::string controller, instance;
  std::string action, reason, note, type;
  std::string pod_name, pod_uid, pod_version;
  // The other pod it is about; without a name there is none.
  std::string related_ns, related_name, related_uid, related_version;
  std::int64_t series_count = 0;  // 0: no series
  WallTime last_observed{};

  // Two events with one key are occurrences of the same thing. The note is not part of it; the pod's resource
  // version is.
  std::string SeriesKey() const;
};

// `nanos` since 1970 make the name unique: "<pod>.<hex>", or a UUID where that would be too long for a name.
EventRecord MakeRecord(const ports::Event& event, std::string_view hostname, WallTime time,
                       std::int64_t nanos, Random& random);

std::string EventBody(const EventRecord& record);
// The strategic merge patch that tells of another occurrence.
std::string SeriesPatchBody(const EventRecord& record);

// At most 1024 bytes: a longer text is cut between characters and ends with " ...", as kube-scheduler cuts
// it.
std::string CutNote(std::string_view note);

}  // namespace berth::client
