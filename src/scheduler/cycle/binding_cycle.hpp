// From a decision to a bound pod: Reserve, Permit, PreBind, Bind, PostBind, and the way back when one of them
// fails (kube-scheduler v1.37.1).
#pragma once

#include <boost/unordered_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

struct BindingOptions {
  // A plugin that has not answered by then has failed. Permit plugins name their own time-out.
  Duration pre_bind_deadline = std::chrono::minutes(15);
  Duration bind_deadline = std::chrono::minutes(2);
};

// What a binding cycle needs of the scheduler; all calls on the loop's thread.
class BindingHost {
 public:
  virtual ~BindingHost() = default;
  virtual MonoTime Now() const = 0;
  // For what is written past the ApiWriter: asked before it is sent, from any thread, perhaps after the host
  // is gone; says why it must not be sent, if so.
  virtual std::function<std::optional<std::string>()> WriteGuard() const = 0;
  virtual void Activate(std::span<const std::string> pods) = 0;
  // The pod's nomination is to be shown while it waits for something.
  virtual void ShowNomination(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // The cycle is past everything that may reject the pod.
  virtual void OnPermitDone(const framework::QueuedPodPtr& pod) = 0;
  virtual void Bound(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // Bound, and the PostBind plugins have run: the attempt is over.
  virtual void Placed(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // The assumption is to be taken back (Unreserve has run) and the pod queued again. `while_binding`: others
  // have counted on its place since and are to be woken.
  virtual void Failed(const framework::QueuedPodPtr& pod, const std::string& node, framework::Status status,
                      bool while_binding) = 0;
};

// All pods between assumption and binding. The loop never waits: what takes time answers by a message, and
// each message takes its pod one step further. One thread: the loop's.
class BindingCycles {
 public:
  // Has a cycle's next step done on the loop's thread. `well`: what it follows from was good news.
  using Post = std::function<void(bool well, std::move_only_function<void()> step)>;

  // `extenders` (null: there are none) that bind do so in place of the Bind plugins.
  BindingCycles(BindingOptions options, BindingHost& host, Post post,
                extenders::Extenders* extenders = nullptr)
      : options_(options), host_(host), post_(std::move(post)), extenders_(extenders) {}
  ~BindingCycles();
  BindingCycles(const BindingCycles&) = delete;
  BindingCycles& operator=(const BindingCycles&) = delete;

  // The pod is assumed on the node. Ends in Bound or Failed, perhaps before this returns.
  void Start(const framework::QueuedPodPtr& pod, const runtime::Profile& profile, std::string node,
             framework::CycleState state);

  std::size_t size() const { return cycles_.size(); }
  // Ends all cycles in Failed, whatever they wait for; returns how many of them had asked for the binding.
  std::size_t Abandon(const std::string& why);
  // Null if the pod does not wait for Permit.
  framework::WaitingPod* FindWaiting(std::string_view uid);
  void ForEachWaiting(const std::function<void(framework::WaitingPod&)>& visit);
  // Asks the PreBind plugins of the pod to give up; once they have answered the binding fails with `message`
  // (the first one given counts). False if it is not in PreBind (any more).
  bool CancelPreBind(std::string_view uid, std::string message);

  // When the next pod has waited too long, and what happens to it then.
  MonoTime NextDue() const { return deadlines_.empty() ? MonoTime::max() : deadlines_.begin()->first; }
  void Tick();

 private:
  struct Cycle;
  using CyclePtr = std::shared_ptr<Cycle>;
  using Deadlines = std::multimap<MonoTime, CyclePtr>;

  bool ReserveAndPermit(const CyclePtr& cycle);
  void AfterPermit(const CyclePtr& cycle);
  void StartPreBindGroup(const CyclePtr& cycle);
  void PreBindAnswered(const CyclePtr& cycle, std::uint64_t step, framework::Status status);
  void StartBindPoint(const CyclePtr& cycle);
  void StartExtenderBind(const CyclePtr& cycle, std::size_t index);
  void ExtenderAnswered(const CyclePtr& cycle, std::uint64_t step, std::size_t index,
                        const extenders::Extender::Asked& asked, Expected<extenders::Reply> reply);
  void StartBind(const CyclePtr& cycle, std::size_t plugin);
  void BindIsDone(const CyclePtr& cycle);
  void BindAnswered(const CyclePtr& cycle, std::uint64_t step, std::size_t plugin, framework::Status status);
  void Decided(const CyclePtr& cycle);  // Permit's waiting is over
  void PointEnds(const CyclePtr& cycle, framework::Code code);
  void Fail(const CyclePtr& cycle, framework::Status status, bool while_binding);
  void End(const CyclePtr& cycle);
  void SetDeadline(const CyclePtr& cycle, MonoTime due);
  void DropDeadline(const CyclePtr& cycle);

  const BindingOptions options_;
  BindingHost& host_;
  const Post post_;
  extenders::Extenders* const extenders_;
  boost::unordered_map<std::string, CyclePtr> cycles_;  // by UID
  Deadlines deadlines_;
};

}  // namespace berth::cycle
