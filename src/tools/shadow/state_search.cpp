#include "tools/shadow/state_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace berth::shadow {
namespace {

constexpr std::uint64_t kBack = 512;  // steps that may have been unknown to the other
constexpr std::uint64_t kSoon = 16;
constexpr std::uint64_t kForward = 512;  // steps that it may have known before they were seen
constexpr std::uint64_t kEach = 128;     // so far every moment is tried, further away some
constexpr std::size_t kViews = 2000;     // of each version of the pod
constexpr std::size_t kVersions = 3;

class Search {
 public:
  Search(const ObservedDecision& seen, History& history, Evaluator& judge, const Clock& clock, MonoTime deadline)
      : seen_(seen),
        history_(history),
        evaluator_(judge),
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

  // The pod as it was seen last, and as it was while it was nominated to another node.
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
    // What it had decided itself and nobody had seen yet, and what it could not yet know.
    for (std::uint64_t ahead = 1; now + ahead < until_; ahead *= 2)
      Try([&](std::uint64_t at, const Step& step) {
        return at < now || (step.decision && at <= now + ahead);
      });
    for (std::uint64_t away = 1; away < kBack; away = Next(away)) {
      OnBothSides(away, [&](std::uint64_t moment) {
        TryAt(moment);
        TryAllBefore(moment);
        TryOthersAt(moment);
      });
    }
    // Where nearly everything is full a node is free for a moment only.
    for (std::uint64_t away = 1; away < kEach; ++away) {
      OnBothSides(away, [&](std::uint64_t moment) {
        TryTurnsAt(moment);
        TryAllBefore(moment);
        if (away <= kSoon) TryAt(moment);
        if (away <= kSoon) TryOthersAt(moment);
      });
    }
    // A single one out of its order.
    for (std::uint64_t away = 1; away <= kSoon; ++away) {
      for (const std::uint64_t moved : {now + away, now - std::min(away, now)})
        Try([&](std::uint64_t at, const Step&) { return (at < now) != (at == moved); });
    }
  }

  // The moments so many steps before and after the one in which the choice was seen, as far as they are known.
  void OnBothSides(std::uint64_t away, auto&& look) {
    const std::uint64_t now = seen_.position;
    if (now >= from_ + away) look(now - away);
    if (now + away <= until_) look(now + away);
  }

  void TryAllBefore(std::uint64_t moment) {
    Try([&](std::uint64_t at, const Step&) { return at < moment; });
  }

  // Nodes and pods come by different watches.
  void TryOthersAt(std::uint64_t moment) {
    Try([&](std::uint64_t at, const Step& step) {
      return at < (step.uid.empty() ? moment : seen_.position);
    });
    Try([&](std::uint64_t at, const Step& step) {
      if (step.decision) return step.turn.Before(seen_.turn);
      return at < (step.uid.empty() ? moment : seen_.position);
    });
  }

  // Everything that came before `moment`, and of the other's decisions those that had their turn before.
  void TryTurnsAt(std::uint64_t moment) {
    Try([&](std::uint64_t at, const Step& step) {
      return step.decision ? step.turn.Before(seen_.turn) : at < moment;
    });
  }

  // The same, and of the other's decisions those that ...
  void TryAt(std::uint64_t moment) {
    TryTurnsAt(moment);
    const auto with = [&](auto&& known) {
      Try([&](std::uint64_t at, const Step& step) { return step.decision ? known(at, step) : at < moment; });
    };
    // came before, whatever their priority: the more important ones came too late to be first,
    with([&](std::uint64_t, const Step& step) { return step.turn.arrival < seen_.turn.arrival; });
    // ... or some of them did,
    with([&](std::uint64_t, const Step& step) {
      return step.turn.arrival < seen_.turn.arrival + kSoon && step.turn.Before(seen_.turn);
    });
    // were seen before,
    with([&](std::uint64_t at, const Step&) { return at < seen_.position; });
    // had their turn before or were seen before,
    with([&](std::uint64_t at, const Step& step) {
      return at < seen_.position || step.turn.Before(seen_.turn);
    });
    // were soon seen,
    with([&](std::uint64_t at, const Step&) { return at < seen_.position + kSoon; });
    // did not take the place of this one.
    with([&](std::uint64_t at, const Step& step) {
      return at < moment || (step.node != seen_.theirs.node && at < seen_.position);
    });
    with([&](std::uint64_t, const Step& step) { return step.node != seen_.theirs.node; });
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
    Comparison comparison = evaluator_.Compare(*pod_, *seen_.profile, seen_.theirs, history_.nominations());
    if (!comparison.settled()) return;
    comparison.because =
        Difference(happened) + (comparison.because.empty() ? "" : "; ") + comparison.because;
    found_ = std::move(comparison);
  }

  // In which the view differs from what was known when the choice was seen.
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
    if (!without.empty()) text += " before it knew of " + list(without);
    if (!with.empty())
      text += (without.empty() ? " knowing already of " : ", knowing already of ") + list(with);
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

std::optional<Comparison> FindExplainingView(const ObservedDecision& seen, History& history, Evaluator& judge,
                                             const Clock& clock, MonoTime until) {
  if (seen.position < history.begin()) return std::nullopt;  // too long ago
  return Search(seen, history, judge, clock, until).Run();
}

}  // namespace berth::shadow
