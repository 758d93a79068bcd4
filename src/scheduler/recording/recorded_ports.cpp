#include "scheduler/recording/recorded_ports.hpp"

#include <utility>

#include "scheduler/recording/inputs.hpp"

namespace berth::recording {

RecordedPorts::RecordedPorts(Recorder* recorder, const Clock& clock, const Fence& fence)
    : recorder_(recorder),
      watched_fence_(recorder != nullptr ? recorder->Watch(fence) : nullptr),
      clock_(recorder != nullptr ? recorder->clock() : clock),
      journal_(recorder != nullptr ? *recorder : cycle::LoopJournal::None()),
      fence_(recorder != nullptr ? *watched_fence_ : fence) {}

ports::ApiWriter& RecordedPorts::Watch(ports::ApiWriter& writer) {
  if (recorder_ == nullptr) return writer;
  watched_writer_ = recorder_->Watch(writer);
  return *watched_writer_;
}

extenders::TransportMaker RecordedPorts::Watch(extenders::TransportMaker make) const {
  return recorder_ != nullptr ? recorder_->Watch(std::move(make)) : std::move(make);
}

cycle::Origin RecordedPorts::OriginOf(const load_metrics::PollResult& result) const {
  return recorder_ != nullptr ? recording::OriginOf(result) : cycle::Origin{};
}

}  // namespace berth::recording
