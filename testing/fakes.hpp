// Fakes of the ports that record all calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/ports/ports.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::testing {

// Answers every write immediately with `answer`; with `hold` answers wait until Release.
class FakeApiWriter final : public ports::ApiWriter {
 public:
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    bindings.push_back(std::move(binding));
    Finish(std::move(done));
  }
  void PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) override {
    patches.push_back(std::move(patch));
    Finish(std::move(done));
  }
  void DeletePod(ports::PodDeletion deletion, ports::WriteDone done) override {
    deletions.push_back(std::move(deletion));
    Finish(std::move(done));
  }
  // Answered immediately, with `version` if `answer` is a success.
  void ClaimVolume(ports::VolumeClaimed write, ports::VersionDone done) override {
    volumes.push_back(std::move(write));
    FinishVersion(std::move(done));
  }
  void SelectNode(ports::NodeSelected write, ports::VersionDone done) override {
    selections.push_back(std::move(write));
    FinishVersion(std::move(done));
  }
  void ChangeClaim(ports::ClaimChange change, ports::VersionDone done) override {
    claims.push_back(std::move(change));
    FinishVersion(std::move(done));
  }
  // Answered immediately, with the name "created-<number>", the UID "uid-created-<number>" and `version`.
  void CreateClaim(ports::NewClaim claim, ports::ClaimDone done) override {
    created_claims.push_back(std::move(claim));
    if (!answer) return done(std::unexpected(answer.error()));
    const std::string name = "created-" + std::to_string(created_claims.size());
    done(ports::CreatedClaim{name, "uid-" + name, version});
  }
  void DeleteClaim(ports::ClaimDeletion deletion, ports::WriteDone done) override {
    deleted_claims.push_back(std::move(deletion));
    Finish(std::move(done));
  }
  void PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) override {
    group_patches.push_back(std::move(patch));
    Finish(std::move(done));
  }
  void Release() {
    for (ports::WriteDone& done : std::exchange(held_, {})) done(answer);
  }

  Expected<void> answer;
  bool hold = false;
  std::vector<ports::Binding> bindings;
  std::vector<ports::PodStatusPatch> patches;
  std::vector<ports::PodDeletion> deletions;
  std::string version;
  std::vector<ports::VolumeClaimed> volumes;
  std::vector<ports::NodeSelected> selections;
  std::vector<ports::ClaimChange> claims;
  std::vector<ports::NewClaim> created_claims;
  std::vector<ports::ClaimDeletion> deleted_claims;
  std::vector<ports::PodGroupStatusPatch> group_patches;

 private:
  void FinishVersion(ports::VersionDone done) {
    if (answer) return done(version);
    done(std::unexpected(answer.error()));
  }
  void Finish(ports::WriteDone done) {
    if (hold) {
      held_.push_back(std::move(done));
    } else {
      done(answer);
    }
  }
  std::vector<ports::WriteDone> held_;
};

// Keeps the events.
class FakeEventSink final : public ports::EventSink {
 public:
  void Emit(ports::Event event) override { events.push_back(std::move(event)); }
  std::vector<ports::Event> events;
};

// A scheduler loop that the test runs.
class FakeLoop final : public framework::LoopExecutor {
 public:
  using Work = std::move_only_function<void()>;
  MonoTime Now() const override { return MonoTime(now_); }
  WallTime WallNow() const override { return WallTime(std::chrono::hours(24 * 20000)) + now_; }
  void Post(Work work) override { posted_.push_back(std::move(work)); }
  MonoTime PostAfter(Duration delay, Work work) override {
    const MonoTime due(now_ + delay);
    PostAt(due, std::move(work));
    return due;
  }
  void PostAt(MonoTime due, Work work) override { timers_.emplace(due.time_since_epoch(), std::move(work)); }
  framework::Poster poster() const override {
    return [this](Work work) { const_cast<FakeLoop*>(this)->Post(std::move(work)); };
  }

  // Runs the posted functions, and those that they post.
  void Run() {
    while (!posted_.empty()) {
      for (Work& work : std::exchange(posted_, {})) work();
    }
  }
  void Pass(Duration time) {
    Run();
    const Duration end = now_ + time;
    while (!timers_.empty() && timers_.begin()->first <= end) {
      auto due = timers_.extract(timers_.begin());
      now_ = due.key();
      due.mapped()();
      Run();
    }
    now_ = end;
  }

 private:
  std::vector<Work> posted_;
  std::multimap<Duration, Work> timers_;
  Duration now_{};
};

// The services of a scheduler. Only FindWaitingPod finds waiting pods.
class FakeServices final : public framework::SchedulerServices {
 public:
  void RunBlocking(std::move_only_function<void()> work) override { work(); }
  api::PodPtr FindPod(const api::ObjectMeta&) const override {
    return pod_exists ? std::make_shared<const api::Pod>() : nullptr;
  }
  framework::WaitingPod* FindWaitingPod(std::string_view uid) override {
    const auto found = waiting.find(uid);
    return found == waiting.end() ? nullptr : found->second;
  }
  void ForEachWaitingPod(const std::function<void(framework::WaitingPod&)>&) override {}
  bool IsPreempting(std::string_view) const override { return false; }
  void PublishEvent(const framework::ClusterEvent& event, const framework::EventObjects&) override {
    published.emplace_back(event.label);
  }
  void Activate(std::span<const std::string>) override {}
  void ActivateMembers(const std::string&) override {}

  bool pod_exists = true;
  std::map<std::string, framework::WaitingPod*, std::less<>> waiting;  // by UID; not owned
  std::vector<std::string> published;                                  // labels of the events
};

}  // namespace berth::testing
