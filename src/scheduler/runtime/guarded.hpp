// Calls a plugin, converts exceptions to a status, and measures the duration. Private to this module.
#pragma once

#include <algorithm>
#include <utility>

#include "scheduler/framework/exception_guard.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::runtime {

// Measures an extension point until the end of the scope.
class Profile::PointTimer {
 public:
  PointTimer(const Profile& profile, ExtensionPoint point)
      : metrics_recorder_(profile.metrics_recorder_.get()), point_(point) {
    if (metrics_recorder_ != nullptr) started_ = metrics_recorder_->Now();
  }
  ~PointTimer() {
    if (metrics_recorder_ != nullptr) metrics_recorder_->PointTook(point_, code, started_);
  }
  PointTimer(const PointTimer&) = delete;
  PointTimer& operator=(const PointTimer&) = delete;

  framework::Code code = framework::Code::kSuccess;

 private:
  MetricsRecorder* metrics_recorder_;
  ExtensionPoint point_;
  MonoTime started_;
};

inline const framework::Status& StatusOf(const framework::Status& status) { return status; }
inline const framework::Status& StatusOf(const auto& answer) { return answer.status; }

template <class Call>
auto Profile::Guarded(ExtensionPoint point, const framework::Plugin& plugin, Call&& call) const
    -> decltype(call()) {
  const bool always = !foreign_.empty() && std::ranges::find(foreign_, &plugin) != foreign_.end();
  const bool timed = metrics_recorder_ != nullptr && (always || metrics_recorder_->sampled());
  const MonoTime started = timed ? metrics_recorder_->Now() : MonoTime{};
  auto answer = framework::CatchExceptions(std::forward<Call>(call));
  if (timed) {
    metrics_recorder_->PluginTook(point, plugin.Name(), StatusOf(answer).code,
                                  metrics_recorder_->Now() - started, always ? 1 : MetricsRecorder::kSampled);
  }
  return answer;
}

}  // namespace berth::runtime
