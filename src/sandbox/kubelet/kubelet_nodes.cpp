// The node part of the kubelet: heartbeats, conditions, failures.
#include <algorithm>

#include "sandbox/controllers/fields.hpp"
#include "sandbox/kubelet/kubelet.hpp"
#include "sandbox/kubelet/node_pool.hpp"
#include "sandbox/kubelet/pod_status.hpp"
#include "sandbox/store/guard.hpp"

namespace berth::sandbox {
namespace {

// Heartbeats are spread over time: the interval between the groups of nodes.
constexpr std::chrono::milliseconds kHeartbeatTick{100};
constexpr std::chrono::seconds kStatusPeriod{10};  // a kubelet's nodeStatusUpdateFrequency

bool IsReady(const Object& node) {
  const Document document = node.Parse();
  return IsConditionTrue(ObjectOrEmpty(document.root(), "status"), "Ready");
}

}  // namespace

Kubelet::Kubelet(Verbs& verbs, TimerQueue& timers, const KubeletOptions& options, EventRecorder* events)
    : verbs_(verbs), timers_(timers), options_(options), events_(events) {
  for (const auto& [_, node] : verbs_.store().All(Known().nodes)) {
    OnNode({.version = node->version, .before = nullptr, .after = node, .removed = nullptr});
  }
  verbs_.store().Observe(*this);
  if (options_.lease_every > Duration::zero())
    timers_.After(kHeartbeatTick, [this] { SendHeartbeats(true); });
}

const NodeFailure& Kubelet::FailureAt(const std::string& node) const {
  static const NodeFailure healthy;
  if (failures_.empty()) return healthy;
  const auto found = failures_.find(node);
  return found == failures_.end() ? healthy : found->second;
}

// Sets the kubelet's status of a node created by a client, and updates a node whose failure has changed.
void Kubelet::OnNode(const Change& change) {
  const std::string& name = change.subject().name;
  if (!change.after) {
    failures_.erase(name);
    return;
  }
  const NodeFailure before = FailureAt(name);
  const NodeFailure failure = FailureOf(*change.after);
  if (failure.any())
    failures_[name] = failure;
  else
    failures_.erase(name);
  const auto has_conditions = [&] {
    const Document document = change.after->Parse();
    return FindArray(document.root(), "status.conditions") != nullptr;
  };
  const bool fresh = !change.before;
  if (fresh && !failure.silent && !failure.not_ready) StartStranded(name);
  CheckStatusLater(*change.after);
  if (before == failure && (!fresh || has_conditions())) return;
  if (failure.silent) return;  // a silent kubelet posts nothing
  const bool mended = (before.silent || before.not_ready) && !failure.not_ready;
  timers_.After(Duration::zero(), [this, name, uid = change.after->uid, mended] {
    Post(name, uid);
    if (mended) Resume(name);
  });
}

// Another component has written the conditions, for example because heartbeats were late.
void Kubelet::CheckStatusLater(const Object& node) {
  if (options_.lease_every == Duration::zero() || IsReady(node) || !not_ready_.insert(node.name).second)
    return;
  timers_.After(kStatusPeriod, [this, name = node.name] {
    not_ready_.erase(name);
    const ObjectPtr current = verbs_.store().Get(Known().nodes, name);
    const NodeFailure& failure = FailureAt(name);
    if (!current || failure.silent || failure.not_ready || IsReady(*current)) return;
    Post(name, current->uid);
    Resume(name);
  });
}

// Posts the node's current conditions and renews its lease.
void Kubelet::Post(const std::string& name, const std::string& uid) {
  const ObjectPtr node = verbs_.store().Get(Known().nodes, name);
  if (!node || node->uid != uid || FailureAt(name).silent) return;
  const NodeFailure failure = FailureAt(name);
  verbs_.Rewrite({Known().nodes, "", name}, uid, [&](json::object& document) {
    PostConditions(document, failure, verbs_.clock().WallNow(), true);
  });
  if (options_.lease_every > Duration::zero()) RenewLease(*node);
}

// Completes the work that was left while the node had failed.
void Kubelet::Resume(const std::string& name) {
  std::vector<ObjectPtr> pods;
  for (const auto& [_, pod] : verbs_.store().All(Known().pods)) {
    if (pod->fields[pod_field::kNodeName] == name) pods.push_back(pod);
  }
  for (const auto& pod : pods) {
    const auto& phase = pod->fields[pod_field::kPhase];
    if (pod->deleting) {
      FinishLater(*pod);
    } else if (stranded_.erase(pod->uid) > 0) {
      StartLater(*pod);
    } else if (phase == "Running" && overdue_.erase(pod->uid) > 0) {
      Complete(pod->key, pod->uid);
    } else if (phase == "Running" && HasLostReadiness(pod->Parse().root())) {
      verbs_.Rewrite({Known().pods, pod->ns, pod->name}, pod->uid, [&](json::object& document) {
        SetReady(document, FormatTime(verbs_.clock().WallNow()));
      });
    }
  }
}

// Pods can be bound to a node that does not exist yet.
void Kubelet::StartStranded(const std::string& name) {
  if (stranded_.empty()) return;  // most nodes are created before their pods
  for (const auto& [_, pod] : verbs_.store().All(Known().pods)) {
    if (pod->fields[pod_field::kNodeName] == name && stranded_.erase(pod->uid) > 0) StartLater(*pod);
  }
}

// Every node once per lease interval, spread evenly.
void Kubelet::SendHeartbeats(bool first) {
  const auto& nodes = verbs_.store().All(Known().nodes);
  const auto beats_per_round =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(options_.lease_every / kHeartbeatTick), 1);
  owed_ += nodes.size();
  const std::size_t share = first ? 0 : owed_ / beats_per_round;
  owed_ %= beats_per_round;
  const std::uint64_t status_rounds =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(options_.status_every / options_.lease_every), 1);
  auto node = nodes.lower_bound(next_heartbeat_);
  for (std::size_t i = 0; i < share && !nodes.empty(); ++i) {
    if (node == nodes.end()) {
      node = nodes.begin();
      ++rounds_;
    }
    const ObjectPtr current = (node++)->second;  // the write replaces it
    const NodeFailure& failure = FailureAt(current->name);
    if (failure.silent) continue;
    // Guarded one by one: the heartbeats of the other nodes must go on.
    RunGuarded("a heartbeat", current->name, [&] {
      RenewLease(*current);
      if (rounds_ % status_rounds == status_rounds - 1) Post(current->name, current->uid);
    });
  }
  next_heartbeat_ = node == nodes.end() ? "\x7f" : node->first;
  timers_.After(kHeartbeatTick, [this] { SendHeartbeats(false); });
}

void Kubelet::RenewLease(const Object& node) {
  const Place place{Known().leases, "kube-node-lease", node.name};
  const WallTime now = verbs_.clock().WallNow();
  const ObjectPtr lease = verbs_.store().Get(place.type, place.key());
  if (!lease) {
    Document fresh;
    fresh.root() = NodeLease(node.name, node.uid, now);
    (void)verbs_.Create(place.type, place.ns,
                        std::move(fresh));  // fails only if the namespace is missing
    return;
  }
  verbs_.Rewrite(place, lease->uid, [&](json::object& document) {
    ObjectAt(document, "spec")["renewTime"] = FormatMicroTime(now);
  });
}

}  // namespace berth::sandbox
