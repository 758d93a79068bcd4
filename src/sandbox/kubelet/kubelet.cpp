#include "sandbox/kubelet/kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/fields.hpp"
#include "sandbox/kubelet/devices/prepare_claims.hpp"
#include "sandbox/kubelet/pod_status.hpp"

namespace berth::sandbox {
namespace {

constexpr std::chrono::seconds kFirstBackOff{10};
constexpr std::chrono::minutes kLastBackOff{5};
constexpr std::chrono::seconds kPrepareRetry{10};  // a kubelet's back-off after a pod failed to start
constexpr std::int64_t kTerminatedBySignal = 143;  // the exit code after SIGTERM
constexpr unsigned kIpsPerNode = 254;
// A load test must not spend its time on events.
constexpr double kEventBurst = 1000;
constexpr double kEventsPerSecond = 50;

Place PlaceOf(const std::string& pod_key) {
  const auto slash = pod_key.find('/');
  return {Known().pods, pod_key.substr(0, slash), pod_key.substr(slash + 1)};
}

bool HasFinalizers(const Object& pod) {
  const Document document = pod.Parse();
  return !ArrayOrEmpty(document.root(), "metadata.finalizers").empty();
}

}  // namespace

void Kubelet::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().pods) OnPod(change);
  if (&type == &Known().nodes) OnNode(change);
}

void Kubelet::OnPod(const Change& change) {
  const ObjectPtr& pod = change.after;
  TrackIp(change);
  if (!pod || pod->fields[pod_field::kNodeName].empty()) {
    if (!pod) {
      overdue_.erase(change.removed->uid);
      stranded_.erase(change.removed->uid);
    }
    return;
  }
  const bool was_bound = change.before && !change.before->fields[pod_field::kNodeName].empty();
  const bool was_deleting = change.before && change.before->deleting;
  if (!was_bound && pod->fields[pod_field::kPhase] == "Pending") StartLater(*pod);
  // A pod that is created as Running comes from a loaded file: it continues.
  if (!change.before && pod->fields[pod_field::kPhase] == "Running") {
    const Document document = pod->Parse();
    const auto runs_for = RunPlanOf(document.root(), options_.job_time).runs_for;
    if (runs_for) timers_.After(*runs_for, [this, key = pod->key, uid = pod->uid] { Complete(key, uid); });
  }
  // A second deletion can shorten the grace period.
  if (pod->deleting && (!was_deleting || StopTime(*pod) < StopTime(*change.before))) FinishLater(*pod);
}

Duration Kubelet::StopTime(const Object& pod) const {
  const Document document = pod.Parse();
  const json::value* grace = FindPath(document.root(), "metadata.deletionGracePeriodSeconds");
  if (grace == nullptr || !grace->is_int64()) return options_.pod_stop;
  // Compared as seconds, because a client's number may be too large for a Duration.
  const auto longest = std::chrono::ceil<std::chrono::seconds>(options_.pod_stop);
  const std::chrono::seconds seconds(std::max<std::int64_t>(grace->get_int64(), 0));
  return seconds < longest ? Duration(seconds) : options_.pod_stop;
}

void Kubelet::FinishLater(const Object& pod) {
  timers_.After(StopTime(pod), [this, key = pod.key, uid = pod.uid] { Finish(key, uid); });
}

void Kubelet::StartLater(const Object& pod) {
  timers_.After(options_.pod_start, [this, key = pod.key, uid = pod.uid] { Start(key, uid); });
}

void Kubelet::Start(const std::string& key, const std::string& uid) {
  const ObjectPtr pod = verbs_.store().Get(Known().pods, key);
  if (!pod || pod->uid != uid || pod->deleting) return;
  const std::string& phase = pod->fields[pod_field::kPhase];
  if (phase != "Pending" && phase != "Running") return;
  const std::string& node_name = pod->fields[pod_field::kNodeName];
  const NodeFailure& failure = FailureAt(node_name);
  if (failure.silent || failure.not_ready || !verbs_.store().Get(Known().nodes, node_name)) {
    stranded_.insert(uid);  // until the node is there
    return;
  }
  if (phase == "Pending") {
    if (const auto why = PrepareClaims(verbs_.store(), *pod)) return AwaitClaims(*pod, *why);
  }
  RunPlan plan;
  const std::string ip = NextPodIp(node_name);
  verbs_.Rewrite(PlaceOf(key), uid, [&](json::object& document) {
    plan = RunPlanOf(document, options_.job_time);
    SetRunning(document, FormatTime(verbs_.clock().WallNow()), ip);
  });
  RecordEvent(*pod, "Started", "Started containers");
  if (plan.runs_for) timers_.After(*plan.runs_for, [this, key, uid] { Complete(key, uid); });
}

// The pod stays in ContainerCreating; a kubelet tries again after ten seconds.
void Kubelet::AwaitClaims(const Object& pod, const std::string& why) {
  verbs_.Rewrite(PlaceOf(pod.key), pod.uid, [&](json::object& document) {
    SetCreating(document, FormatTime(verbs_.clock().WallNow()));
  });
  RecordEvent(pod, "FailedPrepareDynamicResources",
              fmt::format("Failed to prepare dynamic resources: prepare dynamic resources: {}", why),
              "Warning");
  timers_.After(kPrepareRetry, [this, key = pod.key, uid = pod.uid] { Start(key, uid); });
}

void Kubelet::Complete(const std::string& key, const std::string& uid) {
  const ObjectPtr pod = verbs_.store().Get(Known().pods, key);
  if (!pod || pod->uid != uid || pod->fields[pod_field::kPhase] != "Running") return;
  if (FailureAt(pod->fields[pod_field::kNodeName]).silent) {
    overdue_.insert(uid);
    return;
  }
  const Document document = pod->Parse();
  const std::int64_t exit_code = RunPlanOf(document.root(), options_.job_time).exit_code;
  const std::string& policy = pod->fields[pod_field::kRestartPolicy];
  const bool restarts = policy != "Never" && (exit_code != 0 || policy != "OnFailure");
  if (restarts && !pod->deleting) return Restart(*pod, exit_code);
  verbs_.Rewrite(PlaceOf(key), uid, [&](json::object& changed) {
    SetEnded(changed, FormatTime(verbs_.clock().WallNow()), exit_code);
  });
}

void Kubelet::Restart(const Object& pod, std::int64_t exit_code) {
  std::int64_t restarts = 0;
  verbs_.Rewrite(PlaceOf(pod.key), pod.uid, [&](json::object& document) {
    restarts = SetCrashed(document, FormatTime(verbs_.clock().WallNow()), exit_code);
  });
  RecordEvent(pod, "BackOff", "Back-off restarting failed container", "Warning");
  const Duration wait =
      std::min<Duration>(kFirstBackOff * (1 << std::min<std::int64_t>(restarts - 1, 10)), kLastBackOff);
  timers_.After(wait, [this, key = pod.key, uid = pod.uid] { Start(key, uid); });
}

// The containers have stopped. Confirms the deletion like a kubelet, with grace period 0.
void Kubelet::Finish(const std::string& key, const std::string& uid) {
  const ObjectPtr pod = verbs_.store().Get(Known().pods, key);
  if (!pod || pod->uid != uid || FailureAt(pod->fields[pod_field::kNodeName]).silent) return;
  const std::string& phase = pod->fields[pod_field::kPhase];
  if (phase == "Running") RecordEvent(*pod, "Killing", "Stopping containers");
  // A pod that stays for its finalizers has its final phase. For others the write would be lost work.
  if (phase != "Succeeded" && phase != "Failed" && HasFinalizers(*pod)) {
    verbs_.Rewrite(PlaceOf(key), uid, [&](json::object& changed) {
      SetEnded(changed, FormatTime(verbs_.clock().WallNow()), kTerminatedBySignal);
    });
  }
  DeleteOptions options;
  options.grace_period_seconds = 0;
  options.uid = uid;
  (void)verbs_.Delete(PlaceOf(key), options);  // already gone, or replaced by another pod
}

std::string Kubelet::NextPodIp(const std::string& node) {
  unsigned& number = last_ip_[node];
  const std::size_t subnet = std::hash<std::string>()(node) % 65536;
  const ObjectPtr object = verbs_.store().Get(Known().nodes, node);
  const Document document = object->Parse();
  const auto cidr = FindString(document.root(), "spec.podCIDR");  // 10.a.b.0/24
  const auto last_dot = cidr.rfind('.');
  const std::string prefix = last_dot == std::string_view::npos
                                 ? fmt::format("10.{}.{}", subnet >> 8, subnet & 255)
                                 : std::string(cidr.substr(0, last_dot));
  std::string ip;
  for (unsigned tries = 0; tries < kIpsPerNode; ++tries) {
    ip = fmt::format("{}.{}", prefix, number++ % kIpsPerNode + 1);
    if (!ip_holders_.contains(ip)) return ip;
  }
  return ip;  // more pods than addresses
}

void Kubelet::TrackIp(const Change& change) {
  const Object& pod = change.subject();
  const std::string& ip = pod.fields[pod_field::kPodIp];
  if (ip.empty()) return;
  const std::string& phase = pod.fields[pod_field::kPhase];
  if (change.after && phase != "Succeeded" && phase != "Failed") {
    ip_holders_.try_emplace(ip, pod.uid);
  } else if (const auto holder = ip_holders_.find(ip);
             holder != ip_holders_.end() && holder->second == pod.uid) {
    ip_holders_.erase(holder);
  }
}

void Kubelet::RecordEvent(const Object& pod, std::string_view reason, const std::string& message,
                          std::string_view type) {
  if (events_ == nullptr) return;
  const MonoTime now = verbs_.clock().Now();
  const double seconds = std::chrono::duration<double>(now - event_tokens_at_).count();
  event_tokens_ = std::min(kEventBurst, event_tokens_ + seconds * kEventsPerSecond);
  event_tokens_at_ = now;
  if (event_tokens_ < 1) return;
  event_tokens_ -= 1;
  events_->Record(pod, type, reason, message, "kubelet", pod.fields[pod_field::kNodeName]);
}

}  // namespace berth::sandbox
