// Calling a plugin: what it throws becomes a status, and the time it takes is noted. Private to this module.
#pragma once

#include <algorithm>
#include <utility>

#include "framework/caught.hpp"
#include "runtime/profile.hpp"

namespace berth::runtime {

// The time of a whole extension point, whatever way it ends.
class Profile::PointTimer {
 public:
  PointTimer(const Profile& profile, ExtensionPoint point)
      : instruments_(profile.instruments_.get()), point_(point) {
    if (instruments_ != nullptr) started_ = instruments_->Now();
  }
  ~PointTimer() {
    if (instruments_ != nullptr) instruments_->PointTook(point_, code, started_);
  }
  PointTimer(const PointTimer&) = delete;
  PointTimer& operator=(const PointTimer&) = delete;

  framework::Code code = framework::Code::kSuccess;

 private:
  Instruments* instruments_;
  ExtensionPoint point_;
  MonoTime started_;
};

inline const framework::Status& StatusOf(const framework::Status& status) { return status; }
inline const framework::Status& StatusOf(const auto& answer) { return answer.status; }

template <class Call>
auto Profile::Guarded(ExtensionPoint point, const framework::Plugin& plugin, Call&& call) const
    -> decltype(call()) {
  const bool always = !foreign_.empty() && std::ranges::find(foreign_, &plugin) != foreign_.end();
  const bool timed = instruments_ != nullptr && (always || instruments_->sampled());
  const MonoTime started = timed ? instruments_->Now() : MonoTime{};
  auto answer = framework::Caught(std::forward<Call>(call));
  if (timed) {
    instruments_->PluginTook(point, plugin.Name(), StatusOf(answer).code, instruments_->Now() - started,
                             always ? 1 : Instruments::kSampled);
  }
  return answer;
}

}  // namespace berth::runtime
