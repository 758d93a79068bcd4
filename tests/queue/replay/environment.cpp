#include "environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/framework/requeue.hpp"

namespace berth::replay {
namespace {

using framework::ClusterEvent;
using framework::QueuedPod;
using framework::QueuedPodPtr;
using std::chrono::milliseconds;

const char* const kProfiles[] = {"default-scheduler", "second"};

std::string KeyOf(const std::string& uid) { return "default/" + uid.substr(0, 1); }

std::int64_t Millis(MonoTime time) {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

// Labels of events must live as long as the metrics that use them.
const char* Kept(const std::string& label) {
  static std::set<std::string> kept;
  return kept.insert(label).first->c_str();
}

std::string Sorted(std::vector<std::string> names, const char* separator) {
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, separator));
}

std::string Line(std::string_view place, const QueuedPod& pod) {
  std::string text = fmt::format("{} attempts={} unschedulable={} errors={} since={}", place, pod.attempts,
                                 pod.unschedulable_count, pod.consecutive_errors, Millis(pod.timestamp));
  if (place == "backoff") text += fmt::format(" expiry={}", Millis(pod.backoff_expiry));
  if (pod.first_attempt_ready != MonoTime{})
    text += fmt::format(" first={}", Millis(pod.first_attempt_ready));
  if (pod.flushed != MonoTime{}) text += fmt::format(" flushed={}", Millis(pod.flushed));
  if (pod.was_flushed) text += " after-flush";
  if (!pod.rejectors.empty()) text += " rejectors=" + Sorted(pod.rejectors, ",");
  if (!pod.pending.empty()) text += " pending=" + Sorted(pod.pending, ",");
  if (pod.gated()) text += " gate=" + pod.gated_by;
  const auto label = [&](const char* key) {
    const std::string* value = pod.info.pod->metadata.labels.Find(key);
    return value ? *value : "";
  };
  return text + fmt::format(" labels={}{} nominated={}", label("l"), label("hold"),
                            pod.info.pod->status.nominated_node_name);
}

// Group by group, as the original's members are listed.
std::vector<QueuedPodPtr> ByGroup(std::vector<QueuedPodPtr> members) {
  std::ranges::stable_sort(members, {},
                           [](const QueuedPodPtr& pod) { return *pod->info.pod->spec.pod_group; });
  return members;
}

std::string GroupLine(std::string_view place, const framework::QueuedGroup& group) {
  std::string text =
      fmt::format("{} attempts={} unschedulable={} errors={} since={}", place, group.attempts,
                  group.unschedulable_count, group.consecutive_errors, Millis(group.timestamp));
  if (place == "backoff") text += fmt::format(" expiry={}", Millis(group.backoff_expiry));
  if (group.first_attempt_ready != MonoTime{})
    text += fmt::format(" first={}", Millis(group.first_attempt_ready));
  if (group.was_flushed) text += " after-flush";
  if (group.gated()) text += " gate=" + group.gated_by;
  text += fmt::format(" priority={} members=", group.priority);
  for (const QueuedPodPtr& pod : ByGroup(group.members)) text += pod->info.pod->metadata.uid + " ";
  return text;
}

}  // namespace

Environment::Environment(queue::QueueOptions options, std::int64_t start_millis,
                         const std::vector<FakePlugin>& plugins) {
  clock_.Advance(MonoTime(milliseconds(start_millis)) - clock_.Now());
  for (const auto* name : kProfiles)
    profiles_.push_back(BuildProfile(name, plugins, clock_, cluster_.handle()));
  queue_ = std::make_unique<queue::SchedulingQueue>(options, clock_, *this, cluster_.groups(), metrics_);
}

std::string Environment::Apply(const Operation& op) {
  Advance(milliseconds(1));
  if (op.kind == "add") {
    Add(op.object);
  } else if (op.kind == "update") {
    Update(op.object);
  } else if (op.kind == "delete") {
    Delete(op.pod);
  } else if (op.kind == "pop") {
    return Pop();
  } else if (op.kind == "done") {
    queue_->Done(op.pod);
  } else if (op.kind == "drop") {
    queue_->Done(op.pod);
    held_.erase(op.pod);
  } else if (op.kind == "requeue") {
    Requeue(op);
  } else if (op.kind == "nominate") {
    Nominate(held_.at(op.pod), op.nominate);
  } else if (op.kind == "place") {
    queue_->nominator().Delete(op.pod);
  } else if (op.kind == "bind") {
    Bind(op.pod);
  } else if (op.kind == "event") {
    Deliver(op.event);
  } else if (op.kind == "activate") {
    Activate(op.pods);
  } else if (op.kind == "end") {
    End(op);
  } else if (op.group != nullptr) {
    PutGroup(op.group);
  } else if (op.kind == "group-delete") {
    RemoveGroup("default/" + op.name);
  } else if (op.kind == "composite-delete") {
    RemoveGroup(cluster::CompositeKey("default", op.name));
  } else if (op.kind == "step") {
    Advance(milliseconds(op.millis));
  } else {
    throw std::runtime_error("unknown operation " + op.kind);
  }
  return "";
}

void Environment::PutGroup(const api::PodGroupPtr& group) {
  const std::string key = cluster::KeyOf(*group);
  const bool known = cluster_.groups().FindObject(key) != nullptr;
  cluster_.groups().PutObject(group);
  known ? queue_->OnGroupUpdated(key) : queue_->OnGroupAdded(key);
}

void Environment::RemoveGroup(const std::string& key) {
  const auto root = cluster_.groups().RootOf(key);
  cluster_.groups().RemoveObject(key);
  if (root) queue_->OnGroupDeleted(*root);
}

// --- the queue's callbacks, implemented as in core ---

bool Environment::Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const {
  return profiles_.front()->Less(a, b);
}

framework::Status Environment::PreEnqueue(const QueuedPod& pod) const {
  return profiles_[pod.profile]->RunPreEnqueue(pod.info, pod.gated_by);
}

bool Environment::IsAnyRegistered(const ClusterEvent& event) const {
  return std::ranges::any_of(profiles_, [&](const auto& profile) { return profile->IsRegistered(event); });
}

bool Environment::IsRegisteredBy(std::uint32_t profile, const std::string& plugin,
                                 const ClusterEvent& event) const {
  return profiles_[profile]->IsRegistered(event, std::span(&plugin, 1));
}

framework::Requeue Environment::EvaluateHint(const QueuedPod& pod, const ClusterEvent& event,
                                             const framework::EventObjects& objects) const {
  return profiles_[pod.profile]->EvaluateHint(event, objects, pod.info, pod.rejectors, pod.pending);
}

// --- operations ---

void Environment::Advance(Duration by) {
  const MonoTime target = clock_.Now() + by;
  while (queue_->NextDue() <= target) {
    clock_.Advance(queue_->NextDue() - clock_.Now());
    queue_->Tick();
  }
  clock_.Advance(target - clock_.Now());
}

void Environment::Add(const api::PodPtr& pod) {
  uids_.insert(pod->metadata.uid);
  objects_[pod->metadata.uid] = pod;
  queue_->Add(Prepare(pod), ProfileOf(*pod));
}

void Environment::Update(const api::PodPtr& pod) {
  const api::PodPtr before = std::exchange(objects_.at(pod->metadata.uid), pod);
  const auto events = cycle::PodEvents(*before, *pod, framework::EventResource::kTargetPod);
  queue_->Update(Prepare(pod), ProfileOf(*pod), events, {before, pod});
}

void Environment::Delete(const std::string& uid) {
  const auto deleted = objects_.extract(uid);
  queue_->Delete(*deleted.mapped());
}

std::string Environment::Pop() {
  const queue::Popped popped = queue_->Pop();
  if (popped.group != nullptr) {
    attempted_ = popped.group;
    std::string uids;
    for (const QueuedPodPtr& pod : ByGroup(attempted_->members)) {
      held_[pod->info.pod->metadata.uid] = pod;
      uids += pod->info.pod->metadata.uid + " ";
    }
    return uids;
  }
  if (popped.pod == nullptr) return "";
  const std::string& uid = popped.pod->info.pod->metadata.uid;
  held_[uid] = popped.pod;
  return uid;
}

void Environment::End(const Operation& op) {
  const framework::QueuedGroupPtr group = std::exchange(attempted_, nullptr);
  for (const QueuedPodPtr& pod : group->members) {
    const std::string& uid = pod->info.pod->metadata.uid;
    if (std::ranges::find(op.pods, uid) == op.pods.end() || !objects_.contains(uid)) continue;
    Operation failure = op;
    failure.pod = uid;
    failure.nominate = std::nullopt;
    Requeue(failure);
  }
  queue_->EndGroup(*group, op.outcome == "scheduled"  ? queue::GroupOutcome::kScheduled
                           : op.outcome == "rejected" ? queue::GroupOutcome::kRejected
                                                      : queue::GroupOutcome::kError);
}

void Environment::Requeue(const Operation& op) {
  QueuedPodPtr pod = held_.extract(op.pod).mapped();
  if (const api::PodPtr& latest = objects_.at(op.pod); latest != pod->info.pod) {
    pod = std::make_shared<QueuedPod>(*pod);
    pod->info = Prepare(latest);
  }
  pod->rejectors = op.rejectors;
  pod->pending = op.pending;
  pod->gated_by.clear();
  queue_->Requeue(pod);
  Nominate(pod, op.nominate);
}

void Environment::Nominate(const QueuedPodPtr& pod, const std::optional<std::string>& node) {
  std::optional<cluster::NodeNameId> id;
  if (node) id = node->empty() ? cluster::NodeNameId{} : words_.node_names.Intern(*node);
  queue_->nominator().Set(pod, id);
}

void Environment::Bind(const std::string& uid) {
  auto bound = std::make_shared<api::Pod>(*objects_.at(uid));
  bound->spec.node_name = "n1";
  queue_->Done(uid);
  objects_.erase(uid);
  held_.erase(uid);
  queue_->Delete(*bound);
  queue_->MoveAll(cycle::kAssignedPodAdded, {nullptr, std::move(bound)});
}

void Environment::Deliver(const Event& event) {
  const framework::EventResource resource = ResourceNamed(event.resource);
  framework::EventObjects objects{ObjectOf(resource, event.before), ObjectOf(resource, event.after)};
  if (!event.target.empty()) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.uid = event.target;
    objects.after = std::move(pod);
  }
  queue::SchedulingQueue::Concerned concerned;
  if (event.up_to)
    concerned = [limit = *event.up_to](const QueuedPod& pod) { return pod.info.priority() <= limit; };
  queue_->MoveAll({resource, event.action, Kept(event.label)}, objects, concerned);
}

void Environment::Activate(const std::vector<std::string>& uids) {
  std::vector<std::string> keys;
  for (const std::string& uid : uids) keys.push_back(KeyOf(uid));
  queue_->Activate(keys);
}

cluster::PodInfo Environment::Prepare(const api::PodPtr& pod) { return cluster::PreparePod(pod, words_); }

std::uint32_t Environment::ProfileOf(const api::Pod& pod) const {
  return pod.spec.scheduler_name == kProfiles[0] ? 0 : 1;
}

// --- visible state ---

State Environment::Read() const {
  State seen;
  queue_->ForEach([&](const QueuedPod& pod, const char* place) {
    const bool member = pod.info.pod->spec.pod_group && place != std::string_view("incomplete");
    seen["pod " + pod.info.pod->metadata.uid] = Line(member ? "member" : place, pod);
  });
  queue_->ForEachGroup([&](const framework::QueuedGroup& group, const char* place) {
    seen["group " + group.object->metadata.name] = GroupLine(place, group);
  });
  for (const auto& [uid, pod] : held_) seen["held " + uid] = Line("held", *pod);
  std::string in_flight;
  for (const std::string& uid : uids_) {
    if (queue_->IsInFlight(uid)) in_flight += (in_flight.empty() ? "" : " ") + uid;
  }
  if (!in_flight.empty()) seen["inflight"] = in_flight;
  std::map<std::string, std::vector<std::string>> nominated;
  for (const auto& [uid, nomination] : queue_->nominator().all())
    nominated[std::string(words_.node_names.Text(nomination.node))].push_back(uid);
  for (const auto& [node, uids] : nominated) seen["nominated " + node] = Sorted(uids, " ");
  ReadMetrics(seen);
  return seen;
}

// `name{a="x",b="y"} 3` of the compared families becomes "short x y" -> "3"; in the recorded sequences the
// queue label precedes the event label.
void Environment::ReadMetrics(State& seen) const {
  static const std::map<std::string_view, std::string> kFamilies{
      {"scheduler_pending_pods", "pending"},
      {"scheduler_queue_incoming_pods_total", "incoming"},
      {"scheduler_queue_incoming_entities_total", "entities"},
      {"scheduler_unschedulable_pods", "rejected"},
      {"scheduler_inflight_events", "events"}};
  const std::string text = metrics_.Expose();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const auto family = kFamilies.find(line.substr(0, line.find('{')));
    const std::string_view value = line.substr(line.rfind(' ') + 1);
    if (line.starts_with('#') || family == kFamilies.end() || value == "0") continue;
    std::vector<std::string> labels;
    for (std::size_t quote = line.find('"'); quote != line.npos;) {
      const std::size_t closing = line.find('"', quote + 1);
      labels.emplace_back(line.substr(quote + 1, closing - quote - 1));
      quote = line.find('"', closing + 1);
    }
    if (family->second == "incoming" || family->second == "entities") std::swap(labels[0], labels[1]);
    std::string key = family->second;
    for (const std::string& label : labels) key += " " + label;
    seen[key] = value;
  }
}

}  // namespace berth::replay
