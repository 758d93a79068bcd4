#include "scheduler/plugins/load_aware/load_aware.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_fields.hpp"
#include "kubernetes/api/owners.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cluster/node_selection.hpp"
#include "scheduler/plugins/encode_later.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"

namespace berth::plugins {

using cluster::Row;

framework::PluginOrError LoadAware::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const LoadAwareArgs args, ParseLoadAwareArgs(raw));
  return std::make_unique<LoadAware>(args, handle);
}

LoadAware::LoadAware(const LoadAwareArgs& args, framework::Handle& handle)
    : handle_(handle),
      reject_unknown_(args.reject_without_measurements),
      forecast_(args.forecast ? std::make_unique<NodeForecast>(args, handle) : nullptr) {
  for (const LoadSignalArgs& signal : args.signals) {
    Part part{
        .signal = std::make_unique<LoadSignal>(signal, args, handle),
        .hot = handle.reasons.Intern(fmt::format("node(s) had too much {} load (measured)", signal.name)),
        .filled = handle.reasons.Intern(fmt::format(
            "node(s) had too much {} load (measured, plus estimated for pods placed since)", signal.name)),
        .unknown = handle.reasons.Intern(fmt::format("node(s) had no {} measurement", signal.name))};
    part.signal->OnPolled([this] { OnPolled(); });
    any_threshold_ |= signal.threshold.has_value();
    parts_.push_back(std::move(part));
  }
  OnPolled();
  handle_.nodes.Observe(*this);
}

LoadAware::~LoadAware() { handle_.nodes.Forget(*this); }

framework::PreFilterResult LoadAware::PreFilter(const framework::Attempt& attempt) const {
  const cluster::PodInfo& pod = attempt.pod();
  const bool nowhere_else = api::IsOfDaemonSet(pod.pod->metadata) || pod.selection().limits_names;
  if (!any_threshold_ || nowhere_else) return {.status = framework::Status::Skip(), .nodes = {}};
  return {};
}

// --- filter ---

void LoadAware::Filter(const framework::Attempt& attempt, const RowSet& candidates,
                       framework::Rejections& out) const {
  for (const Part& part : parts_) {
    if (part.signal->args().threshold) Reject(part, attempt, candidates, out);
  }
}

void LoadAware::Reject(const Part& part, const framework::Attempt& attempt, const RowSet& candidates,
                       framework::Rejections& out) const {
  const LoadSignal& signal = *part.signal;
  const auto reject = [&](framework::ReasonId reason, auto&& fill) {
    RowSet& rejected = out.Reject(reason, attempt.nodes().rows());
    fill(rejected);
    if (rejected.Empty()) {
      out.DropLast();
    } else {
      out.unresolvable() |= rejected;
    }
  };
  if (reject_unknown_) {
    reject(part.unknown, [&](RowSet& rejected) {
      rejected |= signal.usable() ? signal.unknown() : candidates;
      rejected &= candidates;
    });
  }
  if (!signal.usable()) return;
  const auto reject_those = [&](framework::ReasonId reason, const RowSet& closed) {
    if (closed.Empty()) return;
    reject(reason, [&](RowSet& rejected) {
      rejected |= closed;
      rejected &= candidates;
    });
  };
  reject_those(part.hot, signal.hot());
  reject_those(part.filled, signal.filled());
}

std::vector<framework::EventRegistration> LoadAware::EventsToRegister() const {
  using namespace framework;
  const auto new_node = [this](const cluster::PodInfo&, const api::Node*, const api::Node*) {
    return reject_unknown_ ? Hint::kSkip : Hint::kQueue;  // a new node is not measured
  };
  return {WhenPluginStateChanges(this), WhenNode(kAdd, new_node)};
}

// --- requeueing ---

bool LoadAware::Rejects(const Part& part, Row row) const {
  const LoadSignal& signal = *part.signal;
  if (!signal.args().threshold) return false;
  if (!signal.usable()) return reject_unknown_;
  return signal.hot().Has(row) || signal.filled().Has(row) || (reject_unknown_ && signal.unknown().Has(row));
}

void LoadAware::RefreshClosed(Row row) {
  const bool closed = std::ranges::any_of(parts_, [&](const Part& part) { return Rejects(part, row); });
  if (closed) {
    closed_.Add(row);
    opened_.Remove(row);
  } else if (closed_.Has(row)) {
    closed_.Remove(row);
    opened_.Add(row);
    // Not at once: an update of a pod removes the pod from its row and adds it again.
    publish_opened_.Post();
  }
}

void LoadAware::PublishOpened() {
  opened_ &= handle_.nodes.all();
  if (opened_.Empty()) return;
  opened_.Clear();
  handle_.scheduler.PublishEvent(framework::kMeasurementUpdate, framework::StateChangeOf(this));
}

// --- score ---

framework::Status LoadAware::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                   framework::ScoreColumn& scores) const {
  if (forecast_ != nullptr) {  // it depends on the pod
    forecast_->Score(attempt, feasible, scores.OverwriteBytes(framework::kMaxScore));
    return {};
  }
  if (weights_ == 0) return {};
  const auto column = scores.OverwriteBytes(framework::kMaxScore);
  std::copy_n(scores_.begin(), std::min(scores_.size(), column.size()), column.begin());
  return {};
}

void LoadAware::UpdateWeights() {
  weights_ = 0;
  for (const Part& part : parts_) {
    if (part.signal->usable()) weights_ += part.signal->args().weight;
  }
  if (forecast_ != nullptr) forecast_->SetTotalWeight(TotalWeight());
}

void LoadAware::OnPolled() {
  UpdateWeights();
  handle_.nodes.all().ForEach([this](std::size_t at) { RefreshRow(static_cast<Row>(at)); });
}

void LoadAware::RefreshRow(Row row) {
  RefreshScore(row);
  if (any_threshold_) RefreshClosed(row);
}

void LoadAware::RefreshScore(Row row) {
  if (TotalWeight() == 0) return;
  double sum = 0;
  for (const Part& part : parts_) {
    if (part.signal->usable())
      sum += static_cast<double>(part.signal->args().weight) * part.signal->Score(row);
  }
  if (forecast_ != nullptr) {
    forecast_->SetBase(row, sum / static_cast<double>(TotalWeight()));
    return;
  }
  if (row >= scores_.size()) scores_.resize(handle_.nodes.rows(), 0);
  // signal scores are 0 to 100
  scores_[row] = static_cast<std::uint8_t>(sum / static_cast<double>(weights_));
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
        .load = std::vector<double>(rows, load_metrics::kNoValue),
        .estimated = std::vector<double>(rows),
        .score = std::vector<double>(rows),
    });
    feasible.ForEach([&](std::size_t at) {
      const Row row = static_cast<Row>(at);
      shown.load[at] = signal.Expected(row);
      shown.estimated[at] = signal.Estimated(row);
      shown.score[at] = signal.Score(row);
    });
  }
  if (forecast_ != nullptr) forecast_->AddParts(attempt, feasible, parts);
  return parts;
}

// --- recordings ---

// opened_ is empty: the event is published before a state is saved.
Expected<framework::StateEncoder> LoadAware::SaveState() {
  Saved saved;
  for (const Part& part : parts_) saved.signals.push_back(part.signal->Save());
  saved.closed = RowsIn(closed_);
  if (forecast_ != nullptr) {
    BERTH_TRY(saved.forecast, forecast_->Save());
  }
  return EncodeLater(std::move(saved));
}

Expected<void> LoadAware::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  if (saved.signals.size() != parts_.size() || saved.forecast.has_value() != (forecast_ != nullptr))
    return Invalid("signals: expected as in the arguments");
  for (std::size_t i = 0; i < parts_.size(); ++i)
    BERTH_RETURN_IF_ERROR(parts_[i].signal->Restore(saved.signals[i]));
  BERTH_TRY(closed_, RowSetOf(saved.closed, handle_.nodes, "closed"));
  opened_.Clear();
  if (forecast_ != nullptr) BERTH_RETURN_IF_ERROR(forecast_->Restore(*saved.forecast));
  UpdateWeights();
  handle_.nodes.all().ForEach([this](std::size_t row) { RefreshScore(static_cast<Row>(row)); });
  return {};
}

}  // namespace berth::plugins
