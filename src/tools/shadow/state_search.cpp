#include "tools/shadow/state_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_set>

#include "scheduler/devices/node_match.hpp"

namespace berth::shadow {
namespace {

constexpr std::uint64_t kBack = 512;  // earlier steps that the other scheduler may not have observed
constexpr std::uint64_t kSoon = 16;
// Later steps that it may have observed first. A pod with claims needs six, most of them after its decision.
constexpr std::uint64_t kForward = 1024;
constexpr std::uint64_t kEach = 128;  // up to this distance every moment is tried, beyond it some
constexpr std::size_t kViews = 2000;  // maximum per version of the pod
constexpr std::size_t kVersions = 3;

constexpr std::int64_t kPlaceable =
    std::numeric_limits<std::int32_t>::max();  // more than any number of nodes
constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

// How far the decisions are apart, to compare states of one search; kFar if there is no measure. If both
// schedulers find no node, they are closer than if Berth finds one.
std::int64_t Distance(const Comparison& comparison) {
  switch (comparison.outcome) {
    case Outcome::kWorse:
      return comparison.candidate_total - comparison.reference_total;
    case Outcome::kPlaceable:
      return kPlaceable + static_cast<std::int64_t>(comparison.feasible);
    case Outcome::kCounts:
    case Outcome::kMessage:
      return DifferenceOfCounts(comparison.reference.message, comparison.candidate.message);
    default:
      return kFar;
  }
}

// True if the claim has devices for this node. An allocation without a node selector is usable on all nodes.
bool HasDevicesFor(const std::shared_ptr<const api::ResourceClaim>& claim, const api::Node& node) {
  if (claim == nullptr || !claim->allocation) return false;
  const api::NodeSelector* selector = claim->allocation->node_selector.identity();
  if (selector == nullptr) return true;
  return devices::NodeMatch("", false, selector).Matches(node).value_or(false);
}

// True if the step changes the node, what is on it, or which of its devices are allocated.
bool Concerns(const Step& step, const api::NodePtr& shared) {
  if (shared == nullptr) return false;
  const std::string& node = shared->metadata.name;
  if (step.decision) return step.node == node;
  if (const auto* pod = std::get_if<ports::Change<api::Pod>>(&step.change)) {
    const auto on = [&](const api::PodPtr& version) {
      return version != nullptr && version->spec.node_name == node;
    };
    return on(pod->before) || on(pod->after);
  }
  if (const auto* claim = std::get_if<ports::Change<api::ResourceClaim>>(&step.change))
    return HasDevicesFor(claim->before, *shared) || HasDevicesFor(claim->after, *shared);
  const auto* change = std::get_if<ports::Change<api::Node>>(&step.change);
  return change != nullptr &&
         (change->after != nullptr ? change->after : change->before)->metadata.name == node;
}

// True if the step changes what is on some node, or which pods will be, or an object other than a pod.
bool ConcernsAnyNode(const Step& step) {
  const auto* pod = std::get_if<ports::Change<api::Pod>>(&step.change);
  if (pod == nullptr || step.nominated != nullptr || step.assumed != nullptr || step.replaced != nullptr)
    return true;
  const auto placed = [](const api::PodPtr& version) {
    return version != nullptr &&
           !(version->spec.node_name.empty() && version->status.nominated_node_name.empty());
  };
  return placed(pod->before) || placed(pod->after);
}

class Search {
 public:
  Search(const ObservedDecision& seen, History& history, Evaluator& evaluator, const Clock& clock,
         MonoTime deadline)
      : seen_(seen),
        history_(history),
        evaluator_(evaluator),
        clock_(clock),
        deadline_(deadline),
        from_(std::max(history.begin(), seen.position - std::min(seen.position, kBack))),
        until_(std::min(history.end(), std::max(seen.position, seen.bound_at) + kForward)) {}
  ~Search() { history_.Restore(); }

  SearchResult Run() {
    for (const cluster::PodInfo& pod : Versions()) {
      pod_ = &pod;
      tried_.clear();
      closest_.reset();
      TryAll();
      if (found_) break;
    }
    return {std::move(found_), !out_of_time_};
  }

 private:
  // Whether a state contains the step at this position.
  using Applies = std::function<bool(std::uint64_t, const Step&)>;

  // A state in which the decisions differ.
  struct State {
    std::vector<bool> happened;  // by step from from_
    std::string reference, candidate;
    std::int64_t distance = kFar;
  };

  static std::uint64_t Next(std::uint64_t distance) { return distance + (distance + 1) / 2; }

  // The pod as last observed, and as it was while it was nominated to another node.
  std::vector<cluster::PodInfo> Versions() const {
    std::vector<cluster::PodInfo> versions{seen_.pod};
    for (std::uint64_t at = seen_.position; at-- > from_ && versions.size() < kVersions;) {
      const Step& step = history_[at];
      if (step.uid != seen_.pod.pod->metadata.uid) continue;
      const api::PodPtr& before = std::get<ports::Change<api::Pod>>(step.change).before;
      if (before == nullptr ||
          before->status.nominated_node_name == versions.back().pod->status.nominated_node_name)
        continue;
      versions.push_back(evaluator_.Prepare(before));
    }
    return versions;
  }

  void TryAll() {
    const std::uint64_t now = seen_.position;
    TryAt(now);
    // With its own decisions that were not observed yet, and without later changes of others.
    for (std::uint64_t ahead = 1; now + ahead < until_; ahead *= 2)
      Try([&](std::uint64_t at, const Step& step) {
        return at < now || (step.decision && at <= now + ahead);
      });
    if (!OnlyNumbersDiffer()) TryAroundClosest();
    for (std::uint64_t distance = 1; distance < kBack; distance = Next(distance)) {
      AtDistance(distance, [&](std::uint64_t moment) {
        TryAt(moment);
        TryAllBefore(moment);
        TryOthersAt(moment);
      });
    }
    TryAroundClosest();
    // In an almost full cluster a node has room for a short time only.
    for (std::uint64_t distance = 1; distance < kEach; ++distance) {
      AtDistance(distance, [&](std::uint64_t moment) {
        TryQueueOrderAt(moment);
        TryAllBefore(moment);
        if (distance <= kSoon) TryAt(moment);
        if (distance <= kSoon) TryOthersAt(moment);
      });
    }
    // A single step out of its order.
    for (std::uint64_t distance = 1; distance <= kSoon; ++distance) {
      for (const std::uint64_t moved : {now + distance, now - std::min(distance, now)})
        Try([&](std::uint64_t at, const Step&) { return (at < now) != (at == moved); });
    }
    TryAroundClosest();
  }

  // Starts from the state in which the decisions are closest. Applies or omits single steps of the two nodes,
  // and continues from the best of these states until none is closer: several bindings to these two nodes may
  // be out of order, or several releases of their devices. If neither scheduler finds a node, the messages
  // count nodes: the steps near the decision are tried, whichever node they concern.
  void TryAroundClosest() {
    while (closest_) {
      const State from = *closest_;
      const api::NodePtr reference = history_.FindNode(from.reference);
      const api::NodePtr candidate = history_.FindNode(from.candidate);
      const bool numbers = OnlyNumbersDiffer();
      for (std::size_t i = 0; i < from.happened.size() && !Ended(); ++i) {
        const Step& step = history_[from_ + i];
        if (IsOwn(from_ + i, step)) continue;
        if (numbers ? !IsNear(from_ + i) || !ConcernsAnyNode(step)
                    : !Concerns(step, reference) && !Concerns(step, candidate))
          continue;
        std::vector<bool> happened = from.happened;
        happened[i] = !happened[i];
        TryState(std::move(happened));
      }
      if (closest_->happened == from.happened) return;
    }
  }

  // True if in the closest state neither scheduler finds a node.
  bool OnlyNumbersDiffer() const {
    return closest_ && closest_->reference.empty() && closest_->distance < kPlaceable;
  }

  bool IsNear(std::uint64_t at) const { return at + kEach >= seen_.position && at < seen_.position + kEach; }

  // The moments at that distance before and after the observed decision, within the recorded range.
  void AtDistance(std::uint64_t distance, auto&& look) {
    const std::uint64_t now = seen_.position;
    if (now >= from_ + distance) look(now - distance);
    if (now + distance <= until_) look(now + distance);
  }

  void TryAllBefore(std::uint64_t moment) {
    Try([&](std::uint64_t at, const Step&) { return at < moment; });
  }

  // Nodes and pods are delivered by different watches.
  void TryOthersAt(std::uint64_t moment) {
    Try([&](std::uint64_t at, const Step& step) {
      return at < (step.uid.empty() ? moment : seen_.position);
    });
    Try([&](std::uint64_t at, const Step& step) {
      if (step.decision) return step.queue_position.Before(seen_.queue_position);
      return at < (step.uid.empty() ? moment : seen_.position);
    });
  }

  // All changes before `moment`, and of the other scheduler's decisions those earlier in its queue.
  void TryQueueOrderAt(std::uint64_t moment) {
    Try([&](std::uint64_t at, const Step& step) {
      return step.decision ? step.queue_position.Before(seen_.queue_position) : at < moment;
    });
  }

  // The same, with different sets of the other scheduler's decisions:
  void TryAt(std::uint64_t moment) {
    TryQueueOrderAt(moment);
    const auto with = [&](auto&& applied) {
      Try([&](std::uint64_t at, const Step& step) {
        return step.decision ? applied(at, step) : at < moment;
      });
    };
    // those with an earlier arrival, regardless of priority: pods with higher priority arrived too late;
    with([&](std::uint64_t, const Step& step) {
      return step.queue_position.arrival < seen_.queue_position.arrival;
    });
    // those with an earlier or slightly later arrival and an earlier queue position;
    with([&](std::uint64_t, const Step& step) {
      return step.queue_position.arrival < seen_.queue_position.arrival + kSoon &&
             step.queue_position.Before(seen_.queue_position);
    });
    // those observed before this decision;
    with([&](std::uint64_t at, const Step&) { return at < seen_.position; });
    // those with an earlier queue position or observed before;
    with([&](std::uint64_t at, const Step& step) {
      return at < seen_.position || step.queue_position.Before(seen_.queue_position);
    });
    // those observed before or soon after;
    with([&](std::uint64_t at, const Step&) { return at < seen_.position + kSoon; });
    // those that did not use this pod's node.
    with([&](std::uint64_t at, const Step& step) {
      return at < moment || (step.node != seen_.reference.node && at < seen_.position);
    });
    with([&](std::uint64_t, const Step& step) { return step.node != seen_.reference.node; });
  }

  // No further state is tried.
  bool Ended() const { return found_ || out_of_time_ || tried_.size() == kViews; }

  void Try(const Applies& applies) {
    if (Ended()) return;
    std::vector<bool> happened(history_.end() - from_, false);
    for (std::uint64_t at = from_; at < until_; ++at) {
      const Step& step = history_[at];
      happened[at - from_] = !IsOwn(at, step) && applies(at, step);
    }
    TryState(std::move(happened));
  }

  // True for the observed decision and what followed from it, which no state contains. The pod may have been
  // assumed before, if its binding failed.
  bool IsOwn(std::uint64_t at, const Step& step) const {
    const std::string& uid = seen_.pod.pod->metadata.uid;
    return (step.uid == uid || step.claim_of == uid) && (at >= seen_.position || step.assumed != nullptr);
  }

  void TryState(std::vector<bool> happened) {
    if (Ended()) return;
    if (clock_.Now() > deadline_) {
      out_of_time_ = true;
      return;
    }
    if (!tried_.insert(happened).second) return;
    history_.Show(from_, happened);
    Comparison comparison =
        evaluator_.Compare(*pod_, *seen_.profile, seen_.reference, history_.nominations(), seen_.claims);
    if (comparison.settled()) {
      comparison.because =
          Difference(happened) + (comparison.because.empty() ? "" : "; ") + comparison.because;
      found_ = std::move(comparison);
      return;
    }
    const std::int64_t distance = Distance(comparison);
    if (!closest_ || distance < closest_->distance) {
      closest_ = {.happened = std::move(happened),
                  .reference = comparison.reference.node,
                  .candidate = comparison.candidate.node,
                  .distance = distance};
    }
  }

  // Describes how the state differs from the one at the time of the observation.
  std::string Difference(const std::vector<bool>& happened) const {
    std::vector<std::string> without, with;
    for (std::uint64_t at = from_; at < until_; ++at) {
      const bool was = at < seen_.position;
      if (happened[at - from_] == was) continue;
      (was ? without : with).push_back(history_[at].Text());
    }
    const auto list = [](std::vector<std::string>& steps) {
      constexpr std::size_t kNamed = 3;
      const std::size_t count = steps.size();
      if (count > kNamed) steps.resize(kNamed);
      std::string text = fmt::format("{}", fmt::join(steps, ", "));
      if (count > kNamed) text += fmt::format(" and {} more", count - kNamed);
      return text;
    };
    std::string text = "decided";
    if (!without.empty()) text += " before it observed " + list(without);
    if (!with.empty())
      text += (without.empty() ? " after it had observed " : ", after it had observed ") + list(with);
    return text;
  }

  const ObservedDecision& seen_;
  History& history_;
  Evaluator& evaluator_;
  const Clock& clock_;
  const MonoTime deadline_;
  const std::uint64_t from_, until_;
  const cluster::PodInfo* pod_ = nullptr;
  std::unordered_set<std::vector<bool>> tried_;
  std::optional<State> closest_;
  std::optional<Comparison> found_;
  bool out_of_time_ = false;
};

}  // namespace

SearchResult FindExplainingState(const ObservedDecision& seen, History& history, Evaluator& evaluator,
                                 const Clock& clock, MonoTime until) {
  if (seen.position < history.begin()) return {};  // too long ago
  return Search(seen, history, evaluator, clock, until).Run();
}

}  // namespace berth::shadow
