#include "plugins/load_aware/load_aware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "log/log.hpp"

namespace berth::plugins {

using framework::Row;

framework::Made LoadAware::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const LoadAwareArgs args, ParseLoadAwareArgs(raw));
  return std::make_unique<LoadAware>(args, handle);
}

LoadAware::LoadAware(const LoadAwareArgs& args, framework::Handle& handle)
    : handle_(handle), reject_unknown_(args.reject_without_measurements) {
  for (const LoadSignalArgs& signal : args.signals) {
    Part part{.signal = std::make_unique<LoadSignal>(signal, args, handle),
              .too_high = handle.reasons.Intern(fmt::format("node(s) had too much {} load", signal.name)),
              .unknown = handle.reasons.Intern(fmt::format("node(s) had no {} measurement", signal.name))};
    part.signal->OnRelief([this] {
      if (handle_.services != nullptr) handle_.services->Happened(framework::kMeasurementUpdate, {});
    });
    any_threshold_ |= signal.threshold.has_value();
    parts_.push_back(std::move(part));
  }
}

framework::PreFilterAnswer LoadAware::PreFilter(const framework::Attempt& attempt) const {
  const framework::PodInfo& pod = attempt.pod();
  const auto& controller = pod.pod->metadata.controller;
  const bool nowhere_else =
      (controller != nullptr && controller->kind == "DaemonSet") || pod.selection.limits_names;
  if (!any_threshold_ || nowhere_else) return {.status = framework::Status::Skip(), .nodes = {}};
  return {};
}

// --- filter
// --------------------------------------------------------------------------------------------------

void LoadAware::Filter(const framework::Attempt& attempt, const RowSet& candidates,
                       framework::Rejections& out) const {
  for (const Part& part : parts_) {
    if (part.signal->args().threshold) Reject(part, attempt, candidates, out);
  }
}

void LoadAware::Reject(const Part& part, const framework::Attempt& attempt, const RowSet& candidates,
                       framework::Rejections& out) const {
  const LoadSignal& signal = *part.signal;
  const double threshold = *signal.args().threshold;
  const auto reject = [&](framework::ReasonId reason, auto&& applies) {
    RowSet& rejected = out.Reject(reason, attempt.nodes().rows());
    candidates.ForEach([&](std::size_t row) {
      if (applies(static_cast<Row>(row))) rejected.Add(row);
    });
    if (rejected.Empty()) {
      out.DropLast();
    } else {
      out.unresolvable() |= rejected;
    }
  };
  if (reject_unknown_) reject(part.unknown, [&](Row row) { return std::isnan(signal.Expected(row)); });
  if (!signal.usable()) return;
  const double estimate = signal.EstimateOf(attempt.pod());
  // Comparisons with what is not known are false.
  reject(part.too_high, [&](Row row) {
    return signal.hot().Has(row) || signal.Expected(row) + signal.PercentOf(estimate, row) > threshold;
  });
}

std::vector<framework::EventRegistration> LoadAware::EventsToRegister() const {
  using namespace framework;
  return {EventRegistration(EventResource::kMeasurement, kUpdate),
          EventRegistration(EventResource::kNode, kAdd)};
}

// --- score
// --------------------------------------------------------------------------------------------------

framework::Status LoadAware::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                   framework::ScoreColumn& scores) const {
  std::int64_t weights = 0;
  sums_.assign(attempt.nodes().rows(), 0);
  for (const Part& part : parts_) {
    const LoadSignal& signal = *part.signal;
    if (signal.args().weight == 0 || !signal.usable()) continue;
    weights += signal.args().weight;
    const double weight = static_cast<double>(signal.args().weight);
    feasible.ForEach([&](std::size_t at) {
      sums_[at] += weight * signal.ScoreOf(signal.ExpectedOrMedian(static_cast<Row>(at)));
    });
  }
  if (weights == 0) return {};
  const auto column = scores.Overwrite();
  feasible.ForEach([&](std::size_t row) {
    column[row] = static_cast<std::int64_t>(sums_[row] / static_cast<double>(weights));
  });
  return {};
}

std::vector<framework::ScorePart> LoadAware::ScoreParts(const framework::Attempt& attempt,
                                                        const RowSet& feasible) const {
  std::vector<framework::ScorePart> parts;
  for (const Part& part : parts_) {
    const LoadSignal& signal = *part.signal;
    if (signal.args().weight == 0 || !signal.usable()) continue;
    const std::size_t rows = attempt.nodes().rows();
    framework::ScorePart& shown = parts.emplace_back(framework::ScorePart{
        .name = signal.args().name,
        .weight = signal.args().weight,
        .load = std::vector<double>(rows, framework::kNoValue),
        .score = std::vector<double>(rows),
    });
    feasible.ForEach([&](std::size_t at) {
      const Row row = static_cast<Row>(at);
      shown.load[at] = signal.Expected(row);
      shown.score[at] = signal.ScoreOf(signal.ExpectedOrMedian(row));
    });
  }
  return parts;
}

}  // namespace berth::plugins
