#include "tools/shadow/shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kubernetes/api/claim_names.hpp"
#include "observability/log/log.hpp"

namespace berth::shadow {
namespace {

constexpr Duration kReleasePeriod = std::chrono::seconds(10);

const api::PodCondition* PodScheduled(const api::Pod& pod) {
  const auto& conditions = pod.status.conditions;
  const auto found = std::ranges::find(conditions, "PodScheduled", &api::PodCondition::type);
  return found == conditions.end() ? nullptr : &*found;
}

std::uint64_t VersionOf(const api::Pod& pod) {
  std::uint64_t version = 0;
  const std::string& text = pod.metadata.resource_version;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

bool NominationChanged(const api::Pod& before, const api::Pod& after) {
  return before.status.nominated_node_name != after.status.nominated_node_name;
}

// True if this change reports that the other scheduler found no node.
bool JustFailed(const api::Pod& before, const api::Pod& after) {
  const api::PodCondition* now = PodScheduled(after);
  if (now == nullptr || now->status != "False") return false;
  if (now->reason != "Unschedulable" && now->reason != "SchedulerError") return false;
  const api::PodCondition* was = PodScheduled(before);
  if (was == nullptr || was->message != now->message || was->reason != now->reason) return true;
  // With the message of the previous attempt, only a nomination to the node that it names is a new failure.
  // Another one announces the node to which the pod is about to be bound, while its claims or volumes are
  // written; a removal is no attempt either.
  const std::string& node = after.status.nominated_node_name;
  return NominationChanged(before, after) && !node.empty() &&
         now->message.find(fmt::format("found a potential placement for pod on node {},", node)) !=
             std::string::npos;
}

}  // namespace

void Shadow::Before(const ports::ClusterChange& change) {
  if (const auto* pod = std::get_if<ports::Change<api::Pod>>(&change)) return BeforePodChange(*pod);
  if (const auto* claim = std::get_if<ports::Change<api::ResourceClaim>>(&change))
    return BeforeClaimChange(*claim);
  Note({clock_.Now(), change});
}

void Shadow::BeforeClaimChange(const ports::Change<api::ResourceClaim>& change) {
  Step step{clock_.Now(), change};
  if (change.after != nullptr && change.after->for_extended_resources && change.after->metadata.controller)
    step.claim_of = change.after->metadata.controller->uid;
  if (const std::string pod_uid = claims_.Note(change); !pod_uid.empty()) {
    step.decision = true;
    step.claim_of = pod_uid;
    if (const auto known = queue_positions_.find(pod_uid); known != queue_positions_.end())
      step.queue_position = known->second;
    if (const api::PodPtr pod = history_.FindAssumed(pod_uid)) step.node = pod->spec.node_name;
  }
  Note(std::move(step));
}

void Shadow::BeforePodChange(const ports::Change<api::Pod>& change) {
  Step step{clock_.Now(), change};
  step.uid = (change.after != nullptr ? change.after : change.before)->metadata.uid;
  const bool waited = change.before != nullptr && change.before->spec.node_name.empty() &&
                      change.after != nullptr && change.before->metadata.uid == change.after->metadata.uid;
  const bool bound = waited && !change.after->spec.node_name.empty();
  if (bound || (waited && (JustFailed(*change.before, *change.after) ||
                           NominationChanged(*change.before, *change.after)))) {
    step.decision = true;
    step.node = bound ? change.after->spec.node_name : change.after->status.nominated_node_name;
    const auto known = queue_positions_.find(step.uid);
    step.queue_position = {change.after->spec.priority,
                           known != queue_positions_.end() ? known->second.arrival : 0};
  }
  if (waited && !bound) step.assumed = AssumedAfter(change);
  if (step.assumed == nullptr && Nominated(change.after)) {
    step.nominated =
        std::make_shared<const cluster::PodInfo>(cluster::PreparePod(change.after, engine_.symbols()));
  }
  const bool late = IsLate(change);
  if (synced_ && waited) Look(change, late);
  TrackQueuePositions(change);
  Note(std::move(step));
}

bool Shadow::Nominated(const api::PodPtr& pod) const {
  return pod != nullptr && pod->spec.node_name.empty() && !pod->terminal() &&
         !pod->status.nominated_node_name.empty() && engine_.FindProfile(pod->spec.scheduler_name) != nullptr;
}

// kube-scheduler assumes a pod when it has decided. Before it writes claims and volumes it announces the node
// as the pod's nomination, without a failure; the binding follows many changes later.
api::PodPtr Shadow::AssumedAfter(const ports::Change<api::Pod>& change) const {
  const auto& [before, after] = change;
  if (!Nominated(after) || JustFailed(*before, *after)) return nullptr;
  if (!NominationChanged(*before, *after)) return history_.FindAssumed(after->metadata.uid);
  auto assumed = std::make_shared<api::Pod>(*after);
  assumed->spec.node_name = after->status.nominated_node_name;
  return assumed;
}

void Shadow::Note(Step step) {
  applying_ = true;
  history_.Note(std::move(step));
}

void Shadow::After() {
  applying_ = false;
  Tick();
}

// Tracks the positions of pods in the other scheduler's queue: by arrival, and again at the end after a
// failure.
void Shadow::TrackQueuePositions(const ports::Change<api::Pod>& change) {
  const auto& [before, after] = change;
  if (before != nullptr && (after == nullptr || before->metadata.uid != after->metadata.uid))
    queue_positions_.erase(before->metadata.uid);
  if (after == nullptr) return;
  if (!after->spec.node_name.empty() || after->terminal()) {
    queue_positions_.erase(after->metadata.uid);
  } else if (engine_.FindProfile(after->spec.scheduler_name) != nullptr) {
    const auto [position, is_new] = queue_positions_.try_emplace(after->metadata.uid, QueuePosition{});
    const bool failed = !is_new && before != nullptr && JustFailed(*before, *after);
    if (is_new || failed) position->second = {after->spec.priority, next_arrival_++};
  }
}

// Resource versions only grow along a watch. After an interruption a list delivers the missed changes in the
// order of names: every pod once, and its later changes have higher versions than the list. If a backup of
// etcd was restored, versions begin again at those of the backup; otherwise all later decisions would be
// late.
bool Shadow::IsLate(const ports::Change<api::Pod>& change) {
  const auto& [before, after] = change;
  if (after == nullptr) return false;
  const std::uint64_t version = VersionOf(*after);
  const bool reverted = before != nullptr && version < VersionOf(*before);  // only by a list
  const bool late = reverted || (version < newest_version_ && !late_.contains(after->metadata.uid));
  if (!late || reverted) {
    newest_version_ = version;
    late_.clear();
  }
  if (late) late_.insert(after->metadata.uid);
  return late;
}

void Shadow::Look(const ports::Change<api::Pod>& change, bool late) {
  const api::Pod& after = *change.after;
  const runtime::Profile* profile = engine_.FindProfile(after.spec.scheduler_name);
  if (profile == nullptr) return;
  Choice reference;
  bool error = false;
  if (!after.spec.node_name.empty()) {
    reference.node = after.spec.node_name;
  } else if (JustFailed(*change.before, after)) {
    const api::PodCondition& condition = *PodScheduled(after);
    reference.message = condition.message;
    reference.nominated = after.status.nominated_node_name;
    error = condition.reason == "SchedulerError";
  } else {
    return;
  }
  // The decision depends on the other members, and the message is about the group.
  const bool member = after.spec.pod_group || engine_.groups().KeyOf(after);
  if (!late && !error && !member) return Compare(change.before, *profile, std::move(reference));
  Comparison comparison;
  comparison.when = clock_.WallNow();
  comparison.pod = after.metadata.Key();
  comparison.profile = profile->name();
  comparison.reference = std::move(reference);
  comparison.outcome = late ? Outcome::kMissed : error ? Outcome::kReferenceError : Outcome::kGroup;
  report_.Add(std::move(comparison));
}

void Shadow::Compare(const api::PodPtr& pod, const runtime::Profile& profile, Choice reference) {
  const MonoTime begin = clock_.Now();
  Open open{.seen = {.pod = cluster::PreparePod(pod, engine_.symbols()),
                     .profile = &profile,
                     .reference = std::move(reference),
                     .queue_position = {pod->spec.priority, 0},
                     .position = history_.end(),
                     .bound_at = history_.end()},
            .comparison = {},
            .due = begin + options_.settling_time};
  if (open.seen.reference.bound()) {
    open.seen.claims = claims_.Take(pod->metadata.uid);
    open.awaits_claims = AwaitsClaims(*pod);
    if (!open.seen.claims.empty() || open.awaits_claims || history_.FindAssumed(pod->metadata.uid) != nullptr)
      open.seen.position = Announcement(*pod, open.seen.reference.node).value_or(open.seen.position);
  }
  if (const auto known = queue_positions_.find(pod->metadata.uid); known != queue_positions_.end())
    open.seen.queue_position.arrival = known->second.arrival;
  const auto nominations = history_.nominations();
  const History::WithoutAssumed pending(history_, pod->metadata.uid);
  open.comparison =
      evaluator_.Compare(open.seen.pod, profile, open.seen.reference, nominations, open.seen.claims);
  open.comparison.when = clock_.WallNow();
  report_.Decided(clock_.Now() - begin);
  if (open.comparison.settled() && !open.awaits_claims) return report_.Add(std::move(open.comparison));
  open_.push_back(std::move(open));
  report_.Waiting(open_.size());
}

bool Shadow::AwaitsClaims(const api::Pod& pod) const {
  const auto& claims = engine_.cache().objects().Of<api::ResourceClaim>();
  return std::ranges::any_of(api::ClaimNamesOf(pod), [&](const std::string& name) {
    const ResourceClaimPtr claim = claims.Find(pod.metadata.ns, name);
    return claim == nullptr || !claim->allocation;
  });
}

std::optional<std::uint64_t> Shadow::Announcement(const api::Pod& pod, std::string_view node) const {
  for (std::uint64_t at = history_.end(); at-- > history_.begin();) {
    const Step& step = history_[at];
    if (step.decision && step.uid == pod.metadata.uid && step.node == node) return at;
  }
  return std::nullopt;
}

void Shadow::CompareWithClaims(Open& open) {
  std::vector<AllocatedClaim> claims = claims_.Take(open.seen.pod.pod->metadata.uid);
  std::ranges::move(claims, std::back_inserter(open.seen.claims));
  if (open.seen.position < history_.begin()) return;  // too long ago
  history_.Show(open.seen.position, std::vector<bool>(history_.end() - open.seen.position, false));
  Comparison comparison = evaluator_.Compare(open.seen.pod, *open.seen.profile, open.seen.reference,
                                             history_.nominations(), open.seen.claims);
  history_.Restore();
  comparison.when = open.comparison.when;
  open.comparison = std::move(comparison);
}

void Shadow::Tick() {
  if (applying_) return;
  const MonoTime now = clock_.Now();
  CompleteWhile([&] { return open_.front().due <= now || open_.size() > options_.waiting; });
  if (now < next_release_) return;
  evaluator_.ReleaseUnused();
  next_release_ = now + kReleasePeriod;
}

std::optional<MonoTime> Shadow::NextDue() const {
  if (open_.empty()) return std::nullopt;
  return open_.front().due;
}

void Shadow::Finish() {
  constexpr Duration kLast = std::chrono::seconds(5);  // before the process may be killed
  if (applying_) return;
  search_until_ = clock_.Now() + kLast;
  CompleteWhile([] { return true; });
}

void Shadow::CompleteWhile(auto&& due) {
  while (!open_.empty() && due()) {
    Open open = std::move(open_.front());
    open_.pop_front();
    Complete(std::move(open));
  }
  report_.Waiting(open_.size());
}

// If most decisions disagree, the search for explanations must not delay the watches.
SearchResult Shadow::Explain(const Open& open) {
  constexpr Duration kFree = std::chrono::seconds(5);
  const MonoTime begin = clock_.Now();
  if (begin >= search_until_ || searched_ > kFree + (begin - began_) / 2) return {};
  SearchResult result = FindExplainingState(open.seen, history_, evaluator_, clock_,
                                            std::min(begin + options_.search, search_until_));
  searched_ += clock_.Now() - begin;
  return result;
}

void Shadow::Complete(Open open) {
  if (open.awaits_claims) CompareWithClaims(open);
  if (open.comparison.settled()) return report_.Add(std::move(open.comparison));
  SearchResult search = Explain(open);
  if (auto& explained = search.explanation) {
    explained->when = open.comparison.when;
    explained->outcome = Outcome::kRaced;
    explained->at_first = OutcomeName(open.comparison.outcome);
    if (!open.comparison.reason.empty())
      explained->at_first += fmt::format(" ({}: {})", open.comparison.plugin, open.comparison.reason);
    open.comparison = *std::move(explained);
  } else if (!search.complete && open.comparison.verdict() == Verdict::kDisagreed) {
    open.comparison.because = "the search for an explanation reached its limit";
  }
  if (open.comparison.verdict() == Verdict::kDisagreed) {
    log::Warning("Decision differs from the other scheduler's", {{"what", ToText(open.comparison)}});
  }
  report_.Add(std::move(open.comparison));
}

}  // namespace berth::shadow
