// Ports that remember what they were told.
#pragma once

#include <utility>
#include <vector>

#include "framework/ports.hpp"

namespace berth::testing {

// Answers every write at once with `answer`; with `hold` the answers wait until Release.
class FakeApiWriter final : public framework::ApiWriter {
 public:
  void Bind(framework::Binding binding, framework::WriteDone done) override {
    bindings.push_back(std::move(binding));
    Finish(std::move(done));
  }
  void PatchPodStatus(framework::PodStatusPatch patch, framework::WriteDone done) override {
    patches.push_back(std::move(patch));
    Finish(std::move(done));
  }
  void DeletePod(framework::PodDeletion deletion, framework::WriteDone done) override {
    deletions.push_back(std::move(deletion));
    Finish(std::move(done));
  }
  void Release() {
    for (framework::WriteDone& done : std::exchange(held_, {})) done(answer);
  }

  Expected<void> answer;
  bool hold = false;
  std::vector<framework::Binding> bindings;
  std::vector<framework::PodStatusPatch> patches;
  std::vector<framework::PodDeletion> deletions;

 private:
  void Finish(framework::WriteDone done) {
    if (hold) {
      held_.push_back(std::move(done));
    } else {
      done(answer);
    }
  }
  std::vector<framework::WriteDone> held_;
};

class FakeEventSink final : public framework::EventSink {
 public:
  void Emit(framework::Event event) override { events.push_back(std::move(event)); }
  std::vector<framework::Event> events;
};

}  // namespace berth::testing
