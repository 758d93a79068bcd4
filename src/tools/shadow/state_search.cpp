#include "tools/shadow/state_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace berth::shadow {
namespace {

constexpr std::uint64_t kBack = 512;  // earlier steps that the other scheduler may not have observed
constexpr std::uint64_t kSoon = 16;
constexpr std::uint64_t kForward = 512;  // later steps that it may have observed first
constexpr std::uint64_t kEach = 128;     // up to this distance every moment is tried, beyond it some
constexpr std::size_t kViews = 2000;     // maximum per version of the pod
constexpr std::size_t kVersions = 3;

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
        until_(std::min(history.end(), seen.position + kForward)) {}
  ~Search() { history_.Restore(); }

  std::optional<Comparison> Run() {
    for (const cluster::PodInfo& pod : Versions()) {
      pod_ = &pod;
      tried_.clear();
      TryAll();
      if (found_) break;
    }
    return std::move(found_);
  }

 private:
  using Knew = std::function<bool(std::uint64_t, const Step&)>;

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
    for (std::uint64_t distance = 1; distance < kBack; distance = Next(distance)) {
      AtDistance(distance, [&](std::uint64_t moment) {
        TryAt(moment);
        TryAllBefore(moment);
        TryOthersAt(moment);
      });
    }
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
  }

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
    const auto with = [&](auto&& known) {
      Try([&](std::uint64_t at, const Step& step) { return step.decision ? known(at, step) : at < moment; });
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

  void Try(const Knew& knew) {
    if (found_ || tried_.size() == kViews || clock_.Now() > deadline_) return;
    std::vector<bool> happened(history_.end() - from_, false);
    for (std::uint64_t at = from_; at < until_; ++at) {
      const Step& step = history_[at];
      const bool own = step.uid == seen_.pod.pod->metadata.uid && at >= seen_.position;
      happened[at - from_] = !own && knew(at, step);
    }
    if (!tried_.insert(happened).second) return;
    history_.Show(from_, happened);
    Comparison comparison =
        evaluator_.Compare(*pod_, *seen_.profile, seen_.reference, history_.nominations());
    if (!comparison.settled()) return;
    comparison.because = Difference(happened) + (comparison.because.empty() ? "" : "; ") + comparison.because;
    found_ = std::move(comparison);
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
  std::optional<Comparison> found_;
};

}  // namespace

std::optional<Comparison> FindExplainingState(const ObservedDecision& seen, History& history,
                                              Evaluator& evaluator, const Clock& clock, MonoTime until) {
  if (seen.position < history.begin()) return std::nullopt;  // too long ago
  return Search(seen, history, evaluator, clock, until).Run();
}

}  // namespace berth::shadow
