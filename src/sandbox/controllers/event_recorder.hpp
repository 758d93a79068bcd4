// Records events of controllers and kubelets.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// Like client-go's recorder: a repeated event increments the count of the first. Per component and object the
// rate is limited to a burst of 25 events, then one every five minutes. One thread.
class EventRecorder {
 public:
  explicit EventRecorder(Verbs& verbs) : verbs_(verbs) {}

  // `type`: Normal or Warning. `host`: the node of a kubelet's event.
  void Record(const Object& about, std::string_view type, std::string_view reason, const std::string& message,
              std::string_view component, std::string_view host = {});

 private:
  struct Bucket {
    double tokens;
    MonoTime filled;
  };
  struct RecordedEvent {
    std::string key;
    std::string uid;
  };
  bool Allowed(const Object& about, std::string_view component);
  bool CountUp(const RecordedEvent& recorded);

  Verbs& verbs_;
  std::unordered_map<std::string, Bucket> buckets_;          // component + uid
  std::unordered_map<std::string, RecordedEvent> recorded_;  // component, object and text -> the event
};

}  // namespace berth::sandbox
