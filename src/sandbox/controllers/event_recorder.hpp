// Events as controllers and kubelets record them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// Like client-go's recorder: an event said again counts up, and of one component's events about one object 25
// get through at once, then one in five minutes. One thread.
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
  struct Said {
    std::string key;
    std::string uid;
  };
  bool Allowed(const Object& about, std::string_view component);
  bool CountUp(const Said& said);

  Verbs& verbs_;
  std::unordered_map<std::string, Bucket> buckets_;  // component + uid
  std::unordered_map<std::string, Said> said_;       // what was said about whom -> the event
};

}  // namespace berth::sandbox
