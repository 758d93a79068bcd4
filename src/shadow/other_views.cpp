#include "shadow/other_views.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace berth::shadow {
namespace {

constexpr std::uint64_t kBack = 512;     // steps that may have been unknown to the other
constexpr std::uint64_t kForward = 512;  // steps that it may have known before they were seen
constexpr std::size_t kViews = 80;

class Search {
 public:
  Search(const Seen& seen, History& history, Judge& judge)
      : seen_(seen),
        history_(history),
        judge_(judge),
        from_(std::max(history.begin(), seen.position - std::min(seen.position, kBack))),
        until_(std::min(history.end(), seen.position + kForward)) {}
  ~Search() { history_.Restore(); }

  std::optional<Comparison> Run() {
    const std::uint64_t now = seen_.position;
    // Bindings under way when it decided, and what it could not yet know.
    TryAt(now);
    for (std::uint64_t ahead = 1; now + ahead < until_; ahead *= 2)
      Try([&](std::uint64_t at, const Step& step) { return at < now || (step.binds && at <= now + ahead); });
    for (std::uint64_t back = 1; now >= from_ + back; back = Next(back)) {
      TryAt(now - back);
      Try([&](std::uint64_t at, const Step&) { return at < now - back; });
    }
    for (std::uint64_t ahead = 1; now + ahead <= until_; ahead = Next(ahead)) {
      TryAt(now + ahead);
      Try([&](std::uint64_t at, const Step&) { return at < now + ahead; });
    }
    return std::move(found_);
  }

 private:
  using Knew = std::function<bool(std::uint64_t, const Step&)>;

  static std::uint64_t Next(std::uint64_t distance) { return distance + (distance + 1) / 2; }

  // Everything that came before `moment`, and of the bindings those that ...
  void TryAt(std::uint64_t moment) {
    const auto with = [&](auto&& binding) {
      Try([&](std::uint64_t at, const Step& step) { return step.binds ? binding(at, step) : at < moment; });
    };
    // had their turn before,
    with([&](std::uint64_t, const Step& step) { return step.turn.Before(seen_.turn); });
    // were seen before,
    with([&](std::uint64_t at, const Step&) { return at < seen_.position; });
    // had their turn before or were seen before,
    with([&](std::uint64_t at, const Step& step) {
      return at < seen_.position || step.turn.Before(seen_.turn);
    });
    // did not take the place of this one.
    with([&](std::uint64_t at, const Step& step) {
      return at < moment || (step.node != seen_.theirs.node && at < seen_.position);
    });
    with([&](std::uint64_t, const Step& step) { return step.node != seen_.theirs.node; });
  }

  void Try(const Knew& knew) {
    if (found_ || views_ == kViews) return;
    std::vector<bool> happened(history_.end() - from_, false);
    for (std::uint64_t at = from_; at < until_; ++at) {
      const Step& step = history_[at];
      const bool own = step.uid == seen_.pod.pod->metadata.uid && at >= seen_.position;
      happened[at - from_] = !own && knew(at, step);
    }
    if (std::ranges::find(tried_, happened) != tried_.end()) return;
    ++views_;
    history_.Show(from_, happened);
    Comparison comparison =
        judge_.Compare(seen_.pod, *seen_.profile, seen_.theirs, history_.nominations().All());
    const bool agrees = comparison.verdict() == Verdict::kAgreed || comparison.outcome == Outcome::kSampled;
    if (agrees) {
      comparison.because =
          Difference(happened) + (comparison.because.empty() ? "" : "; ") + comparison.because;
      found_ = std::move(comparison);
    }
    tried_.push_back(std::move(happened));
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

  const Seen& seen_;
  History& history_;
  Judge& judge_;
  const std::uint64_t from_, until_;
  std::size_t views_ = 0;
  std::vector<std::vector<bool>> tried_;
  std::optional<Comparison> found_;
};

}  // namespace

std::optional<Comparison> FindExplainingView(const Seen& seen, History& history, Judge& judge) {
  if (seen.position < history.begin()) return std::nullopt;  // too long ago
  return Search(seen, history, judge).Run();
}

}  // namespace berth::shadow
