#include "tools/shadow/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json_text.hpp"

namespace berth::shadow {
namespace {

constexpr std::size_t kCauses = 100;
constexpr std::array<double, 10> kGaps{0, 1, 2, 5, 10, 25, 50, 100, 250, 500};

std::string Share(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.2f} %",
                     whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void Push(std::deque<Comparison>& ring, Comparison comparison, std::size_t keep) {
  if (keep == 0) return;
  if (ring.size() == keep) ring.pop_front();
  ring.push_back(std::move(comparison));
}

}  // namespace

Report::Report(std::size_t keep, const Clock& clock, metrics::Registry& metrics)
    : keep_(keep),
      clock_(clock),
      metrics_(metrics),
      decision_seconds_(metrics.Histogram(
          "berth_shadow_decision_seconds",
          "[ALPHA] Time in seconds in which Berth evaluated a decision of the other scheduler.",
          metrics::ExponentialBuckets(0.000005, 2, 14))),
      score_gap_(metrics.Histogram("berth_shadow_score_gap",
                                   "[ALPHA] Difference between the best total score and that of the other "
                                   "scheduler's node, for feasible nodes.",
                                   kGaps)),
      waiting_(metrics.Gauge("berth_shadow_waiting",
                             "[ALPHA] Comparisons that wait for further cluster changes.")),
      since_(clock.WallNow()) {}

void Report::Add(Comparison comparison) {
  metrics_
      .Counter("berth_shadow_comparisons_total",
               "[ALPHA] Compared decisions of the other scheduler, by outcome.",
               {{"profile", comparison.profile}, {"outcome", std::string(OutcomeName(comparison.outcome))}})
      .Add();
  const Outcome outcome = comparison.outcome;
  const Verdict verdict = comparison.verdict();
  if (comparison.reference.bound() && verdict != Verdict::kNotCompared && outcome != Outcome::kInfeasible &&
      outcome != Outcome::kError)
    score_gap_.Observe(static_cast<double>(comparison.candidate_total - comparison.reference_total));
  const std::scoped_lock lock(mutex_);
  ++profiles_[comparison.profile][static_cast<std::size_t>(outcome)];
  if (verdict == Verdict::kDisagreed) {
    CountCause(comparison);
    Push(disagreements_, std::move(comparison), keep_);
  } else if (verdict == Verdict::kExplained) {
    Push(explained_, std::move(comparison), keep_ / 4);
  }
}

void Report::CountCause(const Comparison& comparison) {
  Cause cause{comparison.plugin, comparison.outcome == Outcome::kInfeasible || !comparison.plugin.empty()
                                     ? comparison.reason
                                     : std::string(OutcomeName(comparison.outcome))};
  if (causes_.size() >= kCauses && !causes_.contains(cause)) cause = {"", "others"};
  ++causes_[cause];
  metrics_
      .Counter("berth_shadow_disagreements_total",
               "[ALPHA] Decisions of the other scheduler with which Berth disagrees, by plugin and reason.",
               {{"plugin", cause.first}, {"reason", cause.second}})
      .Add();
}

void Report::Decided(Duration took) {
  decision_seconds_.Observe(std::chrono::duration<double>(took).count());
}

void Report::Waiting(std::size_t count) { waiting_.Set(static_cast<std::int64_t>(count)); }

std::uint64_t Report::Count(Outcome outcome) const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& [profile, counts] : profiles_) count += counts[static_cast<std::size_t>(outcome)];
  return count;
}

std::uint64_t Report::Count(Verdict verdict) const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& [profile, counts] : profiles_) count += Sum(counts, verdict);
  return count;
}

std::vector<Comparison> Report::Disagreements() const {
  const std::scoped_lock lock(mutex_);
  return {disagreements_.begin(), disagreements_.end()};
}

std::vector<Comparison> Report::Explained() const {
  const std::scoped_lock lock(mutex_);
  return {explained_.begin(), explained_.end()};
}

std::uint64_t Report::Sum(const Counts& counts, Verdict verdict) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    if (VerdictOf(static_cast<Outcome>(i)) == verdict) sum += counts[i];
  }
  return sum;
}

std::vector<std::string> Report::SummaryOf(const std::string& profile, const Counts& counts) const {
  std::vector<std::string> lines;
  std::uint64_t compared = 0;
  for (const Verdict verdict : {Verdict::kAgreed, Verdict::kExplained, Verdict::kDisagreed})
    compared += Sum(counts, verdict);
  lines.push_back(fmt::format("profile {}: {} decisions compared", profile, compared));
  for (std::size_t v = 0; v < kVerdicts; ++v) {
    const auto verdict = static_cast<Verdict>(v);
    const std::uint64_t sum = Sum(counts, verdict);
    if (verdict == Verdict::kNotCompared && sum == 0) continue;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      if (VerdictOf(outcome) == verdict && counts[i] > 0)
        parts.push_back(fmt::format("{} {}", OutcomeName(outcome), counts[i]));
    }
    std::string line = fmt::format("  {:<13}{:>9}", VerdictName(verdict), sum);
    if (verdict != Verdict::kNotCompared) line += fmt::format(" {:>9}", Share(sum, compared));
    if (!parts.empty()) line += fmt::format("  {}", fmt::join(parts, ", "));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> Report::Summary() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [profile, counts] : profiles_) {
    for (std::string& line : SummaryOf(profile, counts)) lines.push_back(std::move(line));
  }
  if (lines.empty()) lines.emplace_back("no decision of another scheduler was observed");
  for (const auto& [cause, count] : causes_)
    lines.push_back(
        fmt::format("  {:>9} x {}{}{}", count, cause.first, cause.first.empty() ? "" : ": ", cause.second));
  return lines;
}

std::string Report::Text() const {
  std::string text =
      fmt::format("Comparison of the other scheduler's decisions with Berth's, from {} to {}\n\n",
                  FormatTime(since_), FormatTime(clock_.WallNow()));
  for (const std::string& line : Summary()) text += line + "\n";
  const auto list = [&](std::string_view title, const std::vector<Comparison>& comparisons) {
    if (comparisons.empty()) return;
    text += fmt::format("\n{}, latest first:\n", title);
    for (auto one = comparisons.rbegin(); one != comparisons.rend(); ++one)
      text += "  " + ToText(*one) + "\n";
  };
  list("Disagreements", Disagreements());
  list("Explained", Explained());
  return text;
}

std::string Report::Json() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> profiles, causes;
  for (const auto& [profile, counts] : profiles_) {
    std::string one = "{\"profile\":";
    AppendJsonString(one, profile);
    for (std::size_t v = 0; v < kVerdicts; ++v) {
      const auto verdict = static_cast<Verdict>(v);
      one += fmt::format(",\"{}\":{}", VerdictName(verdict), Sum(counts, verdict));
    }
    std::vector<std::string> outcomes;
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      if (counts[i] > 0)
        outcomes.push_back(fmt::format("\"{}\":{}", OutcomeName(static_cast<Outcome>(i)), counts[i]));
    }
    profiles.push_back(one + fmt::format(",\"outcomes\":{{{}}}}}", fmt::join(outcomes, ",")));
  }
  for (const auto& [cause, count] : causes_) {
    std::string one = "{\"plugin\":";
    AppendJsonString(one, cause.first);
    one += ",\"reason\":";
    AppendJsonString(one, cause.second);
    causes.push_back(one + fmt::format(",\"count\":{}}}", count));
  }
  const auto list = [](const std::deque<Comparison>& comparisons) {
    std::vector<std::string> lines;
    for (const Comparison& one : comparisons) lines.push_back(ToJson(one));
    return fmt::format("{}", fmt::join(lines, ",\n"));
  };
  return fmt::format(
      "{{\"since\":\"{}\",\"until\":\"{}\",\n\"profiles\":[{}],\n\"causes\":[{}],\n\"disagreements\":[{}],\n"
      "\"explained\":[{}]}}\n",
      FormatTime(since_), FormatTime(clock_.WallNow()), fmt::join(profiles, ",\n"), fmt::join(causes, ",\n"),
      list(disagreements_), list(explained_));
}

}  // namespace berth::shadow
