// Counts of all comparisons, and the latest ones that did not agree.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "tools/shadow/comparison.hpp"

namespace berth::shadow {

// Bounded: keeps the last `keep` disagreements, a quarter of that of explained ones, and a hundred causes
// (plugin and reason); further causes are counted together. Add, Decided and Waiting must be called by one
// thread; the others are thread-safe.
class Report {
 public:
  Report(std::size_t keep, const Clock& clock, metrics::Registry& metrics);

  void Add(Comparison comparison);
  // Records the time that Berth took to decide about one pod.
  void Decided(Duration took);
  // Sets the number of pending comparisons.
  void Waiting(std::size_t count);

  std::uint64_t Count(Outcome outcome) const;  // of all profiles
  std::uint64_t Count(Verdict verdict) const;
  std::vector<Comparison> Disagreements() const;  // the oldest first
  std::vector<Comparison> Explained() const;

  std::string Text() const;
  // The lines of the text with the agreement, for a log.
  std::vector<std::string> Summary() const;
  std::string Json() const;

 private:
  using Counts = std::array<std::uint64_t, kOutcomes>;
  using Cause = std::pair<std::string, std::string>;  // plugin and reason

  void CountCause(const Comparison& comparison);
  std::vector<std::string> SummaryOf(const std::string& profile, const Counts& counts) const;
  static std::uint64_t Sum(const Counts& counts, Verdict verdict);

  const std::size_t keep_;
  const Clock& clock_;
  metrics::Registry& metrics_;
  metrics::Histogram& decision_seconds_;
  metrics::Histogram& score_gap_;
  metrics::Gauge& waiting_;
  const WallTime since_;

  mutable std::mutex mutex_;
  std::map<std::string, Counts> profiles_;
  std::map<Cause, std::uint64_t> causes_;
  std::deque<Comparison> disagreements_, explained_;
};

}  // namespace berth::shadow
