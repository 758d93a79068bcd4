// Binding cycles: from a decision to a bound pod by Reserve, Permit, PreBind, Bind and PostBind, and the
// rollback if one of them fails (kube-scheduler v1.37.1).
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
  // Time limits for plugins; a plugin that has not completed by then has failed. Permit plugins set their own
  // time-out.
  Duration pre_bind_deadline = std::chrono::minutes(15);
  Duration bind_deadline = std::chrono::minutes(2);
};

// What a binding cycle requires of the scheduler. All methods are called on the loop's thread.
class BindingHost {
 public:
  virtual ~BindingHost() = default;
  virtual MonoTime Now() const = 0;
  // A check for writes that bypass the ApiWriter. The function is called before a write is sent, from any
  // thread and possibly after the host was destroyed; if the write must not be sent, it returns the reason.
  virtual std::function<std::optional<std::string>()> WriteGuard() const = 0;
  virtual void Activate(std::span<const std::string> pods) = 0;
  // Writes the pod's nomination to its status while the pod waits in Permit or PreBind.
  virtual void ShowNomination(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // Permit has succeeded: plugins can no longer reject the pod.
  virtual void OnPermitDone(const framework::QueuedPodPtr& pod) = 0;
  virtual void Bound(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // The pod is bound and the PostBind plugins have run; the attempt is complete.
  virtual void Placed(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // Unreserve has run. The host must forget the assumed pod and requeue it. `while_binding`: other pods may
  // have been rejected because of the assumed pod and must be requeued too.
  virtual void Failed(const framework::QueuedPodPtr& pod, const std::string& node, framework::Status status,
                      bool while_binding) = 0;
};

// All pods between assumption and binding. The loop never blocks: asynchronous plugins complete with a
// message, and each message advances its pod by one step. Scheduler loop only.
class BindingCycles {
 public:
  // Queues a cycle's next step for the loop's thread. `well`: the preceding step succeeded.
  using Post = std::function<void(bool well, std::move_only_function<void()> step)>;

  // `extenders` (null: there are none) with a bind verb replace the Bind plugins.
  BindingCycles(BindingOptions options, BindingHost& host, Post post,
                extenders::Extenders* extenders = nullptr)
      : options_(options), host_(host), post_(std::move(post)), extenders_(extenders) {}
  ~BindingCycles();
  BindingCycles(const BindingCycles&) = delete;
  BindingCycles& operator=(const BindingCycles&) = delete;

  // Starts the cycle of a pod that is assumed on the node. Ends with Bound or Failed, possibly before this
  // returns.
  void Start(const framework::QueuedPodPtr& pod, const runtime::Profile& profile, std::string node,
             framework::CycleState state);

  std::size_t size() const { return cycles_.size(); }
  // Ends all cycles with Failed. Returns the number of cycles whose binding had been requested.
  std::size_t Abandon(const std::string& why);
  // Null if the pod does not wait for Permit.
  framework::WaitingPod* FindWaiting(std::string_view uid);
  void ForEachWaiting(const std::function<void(framework::WaitingPod&)>& visit);
  // Requests cancellation of the pod's PreBind plugins. When they have completed, the binding fails with
  // `message` (that of the first call). Returns false if the pod is not in PreBind.
  bool CancelPreBind(std::string_view uid, std::string message);

  // The earliest deadline of a plugin, and the handling of expired deadlines.
  MonoTime NextDue() const { return deadlines_.empty() ? MonoTime::max() : deadlines_.begin()->first; }
  void Tick();

 private:
  struct Cycle;
  using CyclePtr = std::shared_ptr<Cycle>;
  using Deadlines = std::multimap<MonoTime, CyclePtr>;

  bool ReserveAndPermit(const CyclePtr& cycle);
  void AfterPermit(const CyclePtr& cycle);
  void StartPreBindGroup(const CyclePtr& cycle);
  void OnPreBindDone(const CyclePtr& cycle, std::uint64_t step, framework::Status status);
  void StartBindPoint(const CyclePtr& cycle);
  void StartExtenderBind(const CyclePtr& cycle, std::size_t index);
  void OnExtenderReply(const CyclePtr& cycle, std::uint64_t step, std::size_t index,
                       const extenders::Extender::PendingCall& pending, Expected<extenders::Reply> reply);
  void StartBind(const CyclePtr& cycle, std::size_t plugin);
  void OnBound(const CyclePtr& cycle);
  void OnBindDone(const CyclePtr& cycle, std::uint64_t step, std::size_t plugin, framework::Status status);
  void OnPermitVerdict(const CyclePtr& cycle);  // the wait in Permit has ended
  void OnPointEnd(const CyclePtr& cycle, framework::Code code);
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
