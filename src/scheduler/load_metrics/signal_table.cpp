#include "scheduler/load_metrics/signal_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace berth::load_metrics {
namespace {

// Limit of names in log messages; the remaining series are only counted.
constexpr std::size_t kUnmatchedShown = 10;

std::string TextOf(const SeriesName& series) {
  std::string text = "{";
  for (const auto& [label, value] : series) {
    if (text.size() > 1) text += ",";
    text.append(label).append("=\"").append(value).append("\"");
  }
  return text + "}";
}

bool IsInfinite(double value) { return std::isinf(value); }
bool IsFinite(double value) { return std::isfinite(value); }

void AppendChunks(const std::vector<SeriesChunk>& chunks, std::vector<SeriesName>& names) {
  for (const SeriesChunk& chunk : chunks) names.insert(names.end(), chunk->begin(), chunk->end());
}

}  // namespace

double MedianOf(std::span<const double> values) {
  std::vector<double> known;
  for (const double value : values) {
    if (!std::isnan(value)) known.push_back(value);
  }
  if (known.empty()) return kNoValue;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::ranges::nth_element(known, middle);
  return *middle;
}

std::string_view NameOf(SignalState state) {
  switch (state) {
    case SignalState::kWaiting:
      return "waiting";
    case SignalState::kFresh:
      return "fresh";
    case SignalState::kHeld:
      return "held";
    case SignalState::kGone:
      return "gone";
  }
  return "";
}

SignalAnswer AnswerOf(SignalId signal, MonoTime polled_at, std::vector<SeriesValue> series) {
  SignalAnswer answer{
      .signal = signal, .polled_at = polled_at, .renumbered = true, .fresh = nullptr, .samples = {}};
  std::vector<SeriesName> names;
  for (SeriesValue& one : series) {
    answer.samples.emplace_back(names.size(), one.value);
    names.push_back(std::move(one.name));
  }
  answer.fresh = std::make_shared<const std::vector<SeriesName>>(std::move(names));
  return answer;
}

bool SignalSpec::Same(const SignalSpec& other) const {
  const auto same_guard = [](const SignalGuard& a, const SignalGuard& b) {
    return a.expression == b.expression && a.at_most == b.at_most &&
           a.at_least_of_median == b.at_least_of_median;
  };
  return source == other.source && expression == other.expression && merge == other.merge &&
         window == other.window && hold == other.hold && subject == other.subject && every == other.every &&
         access == other.access && series_labels == other.series_labels && max_series == other.max_series &&
         std::ranges::equal(guards, other.guards, same_guard);
}

SignalTable::SignalTable(cluster::NodeTable& nodes) : nodes_(nodes), directory_(nodes) {}

SignalTable::~SignalTable() { nodes_.Forget(*this); }

SignalId SignalTable::Declare(const SignalSpec& spec) {
  const auto known =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.signal.spec.Same(spec); });
  if (known != entries_.end()) {
    for (const GuardUse& use : known->guards) declared_.push_back(use.signal);
    return declared_.emplace_back(static_cast<SignalId>(known - entries_.begin()));
  }
  std::vector<GuardUse> guards;
  for (const SignalGuard& guard : spec.guards) {
    guards.push_back({Declare({.name = guard.name,
                               .source = spec.source,
                               .expression = guard.expression,
                               .hold = spec.hold,
                               .access = spec.access}),
                      guard});
  }
  // Observe the table only if there are signals, so that other configurations pay nothing.
  if (entries_.empty()) nodes_.Observe(*this);
  const auto id = static_cast<SignalId>(entries_.size());
  for (const GuardUse& use : guards) EntryOf(use.signal).guarded.push_back(id);
  Entry& entry = entries_.emplace_back();
  entry.signal.spec = spec;
  entry.source = SourceOf(spec);
  entry.guards = std::move(guards);
  declared_.push_back(id);
  return id;
}

std::size_t SignalTable::SourceOf(const SignalSpec& spec) {
  const auto known = std::ranges::find_if(sources_, [&](const Source& source) {
    return source.name == spec.source && source.access == spec.access;
  });
  if (known != sources_.end()) return static_cast<std::size_t>(known - sources_.begin());
  Source& source = sources_.emplace_back();
  source.name = spec.source;
  source.access = spec.access;
  return sources_.size() - 1;
}

bool SignalTable::Has(const SignalSpec& spec) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.signal.spec.Same(spec); });
}

void SignalTable::DeliverKnownValues(const std::shared_ptr<const void>& owner) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    for (const auto& listener : entry.listeners) {
      if (listener.owner.lock() == owner && HasValues(entry.signal.state)) listener.call();
    }
    for (const auto& listener : entry.pod_listeners) {
      if (listener.owner.lock() != owner) continue;
      SignalAnswer names;
      names.signal = static_cast<SignalId>(i);
      names.polled_at = entry.signal.polled_at;
      names.renumbered = true;
      for (const SeriesChunk& chunk : entry.pod_chunks) {
        names.fresh = chunk;
        listener.call(names);
        names.renumbered = false;
      }
    }
  }
}

void SignalTable::Listen(SignalId id, std::function<void()> listener) {
  EntryOf(id).listeners.push_back({owner_, std::move(listener)});
}

void SignalTable::ListenToPods(SignalId id, AnswerListener listener) {
  EntryOf(id).pod_listeners.push_back({owner_, std::move(listener)});
}

// --- poll results ---

bool SignalTable::AllPolled() const {
  return std::ranges::none_of(entries_,
                              [](const Entry& entry) { return entry.signal.state == SignalState::kWaiting; });
}

SignalCoverage SignalTable::Take(const SignalAnswer& answer) {
  Entry& entry = EntryOf(answer.signal);
  entry.signal.coverage = {.unmatched = {}, .before = entry.signal.state, .after = SignalState::kFresh};
  entry.ever_answered = true;
  entry.signal.state = SignalState::kFresh;
  entry.signal.polled_at = answer.polled_at;
  entry.signal.error.clear();
  switch (entry.signal.spec.subject) {
    case Subject::kNode:
      TakeNodes(entry, answer);
      break;
    case Subject::kPod:
      if (answer.renumbered) entry.pod_chunks.clear();
      if (answer.fresh != nullptr) entry.pod_chunks.push_back(answer.fresh);
      Notify(entry.pod_listeners, answer);
      break;
    case Subject::kWorkload:
      TakeSeries(entry, answer);
      break;
  }
  return entry.signal.coverage;
}

void SignalTable::TakeSeries(Entry& entry, const SignalAnswer& answer) {
  if (answer.renumbered) entry.series_names.clear();
  if (answer.fresh != nullptr)
    entry.series_names.insert(entry.series_names.end(), answer.fresh->begin(), answer.fresh->end());
  std::vector<SeriesValue>& series = entry.signal.series;
  series.clear();
  for (const auto& [number, value] : answer.samples) {
    if (number < entry.series_names.size() && std::isfinite(value))
      series.push_back({entry.series_names[number], value});
  }
  entry.signal.coverage.series = series.size();
  entry.signal.coverage.dropped_series = answer.dropped_series;
  Notify(entry.listeners);
}

void SignalTable::TakeNodes(Entry& entry, const SignalAnswer& answer) {
  Source& source = sources_[entry.source];
  Resolve(source, answer);
  Fill(entry, source, answer, entry.signal.coverage);
  entry.median = MedianOf(entry.raw);
  ShowWithGuarded(entry);
}

SignalCoverage SignalTable::Failed(SignalId id, MonoTime now, std::string why) {
  Entry& entry = EntryOf(id);
  Signal& signal = entry.signal;
  SignalCoverage coverage;
  coverage.before = signal.state;
  signal.error = std::move(why);
  const bool counts = entry.ever_answered && now - signal.polled_at <= signal.spec.hold;
  signal.state = counts ? SignalState::kHeld : SignalState::kGone;
  if (signal.state == SignalState::kGone && coverage.before != SignalState::kGone) ShowWithGuarded(entry);
  coverage.after = signal.state;
  if (signal.spec.subject == Subject::kNode) coverage.nodes = nodes_.node_count();
  signal.coverage = coverage;
  return coverage;
}

SignalCoverage SignalTable::On(const PollResult& result) {
  if (const auto* answer = std::get_if<SignalAnswer>(&result)) return Take(*answer);
  const auto& failed = std::get<FailedPoll>(result);
  return Failed(failed.signal, failed.at, failed.error);
}

// Determines the row of each series. Done once per series and set of nodes, not once per sample.
void SignalTable::Resolve(Source& source, const SignalAnswer& answer) {
  if (answer.renumbered) {
    source.chunks.clear();
    source.row_of.clear();
  }
  const auto append = [&](const SeriesChunk& chunk) {
    for (const SeriesName& series : *chunk) source.row_of.push_back(directory_.Find(series));
  };
  const std::uint64_t generation = directory_.Refresh();
  if (answer.fresh != nullptr) source.chunks.push_back(answer.fresh);
  if (generation != source.resolved_by) {
    source.resolved_by = generation;
    source.row_of.clear();
    for (const SeriesChunk& chunk : source.chunks) append(chunk);
  } else if (answer.fresh != nullptr) {
    append(answer.fresh);
  }
}

void SignalTable::Fill(Entry& entry, const Source& source, const SignalAnswer& answer,
                       SignalCoverage& coverage) const {
  const Merge merge = entry.signal.spec.merge;
  entry.raw.assign(nodes_.rows(), kNoValue);
  std::vector<std::uint32_t> many;  // by row: number of summed values, for the mean
  if (merge == Merge::kMean) many.assign(nodes_.rows(), 0);
  std::vector<std::uint32_t> unmatched;
  for (const auto& [series, value] : answer.samples) {
    const cluster::Row row = series < source.row_of.size() ? source.row_of[series] : cluster::kNoRow;
    if (row == cluster::kNoRow) {
      ++coverage.unmatched_series;
      if (unmatched.size() < kUnmatchedShown) unmatched.push_back(series);
      continue;
    }
    if (!std::isfinite(value)) continue;
    double& kept = entry.raw[row];
    const bool first = std::isnan(kept);
    if (!first) ++coverage.merged;
    if (merge == Merge::kMean) ++many[row];
    if (first) {
      kept = value;
    } else {
      kept = merge == Merge::kMax ? std::max(kept, value) : kept + value;
    }
  }
  for (std::size_t row = 0; row < many.size(); ++row) {
    if (many[row] > 1) entry.raw[row] /= many[row];
  }
  for (const std::uint32_t series : unmatched) {
    std::uint32_t number = series;
    for (const SeriesChunk& chunk : source.chunks) {
      if (number < chunk->size()) {
        coverage.unmatched.push_back(TextOf((*chunk)[number]));
        break;
      }
      number -= static_cast<std::uint32_t>(chunk->size());
    }
  }
}

// --- effective values ---

void SignalTable::ShowWithGuarded(Entry& entry) {
  Show(entry);
  for (const SignalId id : entry.guarded) Show(EntryOf(id));
}

void SignalTable::Show(Entry& entry) {
  if (!HasValues(entry.signal.state)) entry.signal.series.clear();
  SetValues(entry);
  CountNodes(entry);
  Notify(entry.listeners);
}

void SignalTable::SetValues(Entry& entry) const {
  Signal& signal = entry.signal;
  signal.values.assign(entry.raw.size(), kNoValue);
  if (!HasValues(signal.state)) return;
  for (cluster::Row row = 0; row < entry.raw.size(); ++row) {
    if (!std::isnan(entry.raw[row]) && Trusted(entry, row)) signal.values[row] = entry.raw[row];
  }
}

void SignalTable::CountNodes(Entry& entry) const {
  SignalCoverage& coverage = entry.signal.coverage;
  coverage.nodes = nodes_.node_count();
  coverage.measured = coverage.distrusted = 0;
  nodes_.all().ForEach([&](std::size_t row) {
    if (!std::isnan(entry.signal.At(static_cast<cluster::Row>(row)))) {
      ++coverage.measured;
    } else if (row < entry.raw.size() && !std::isnan(entry.raw[row])) {
      ++coverage.distrusted;
    }
  });
}

bool SignalTable::Trusted(const Entry& entry, cluster::Row row) const {
  for (const GuardUse& use : entry.guards) {
    const Entry& guard = entries_[static_cast<std::size_t>(use.signal)];
    if (guard.signal.state == SignalState::kWaiting) return false;  // not yet polled
    if (!HasValues(guard.signal.state) || std::isnan(guard.median)) continue;
    const double value = row < guard.raw.size() ? guard.raw[row] : kNoValue;
    if (std::isnan(value)) return false;
    if (use.guard.at_most && value > *use.guard.at_most) return false;
    if (use.guard.at_least_of_median && value < *use.guard.at_least_of_median * guard.median) return false;
  }
  return true;
}

// --- recordings ---

SavedSignals SignalTable::Save() {
  directory_.NodesChanged();
  SavedSignals saved;
  for (const Entry& entry : entries_) saved.signals.push_back(SaveEntry(entry));
  for (const Source& source : sources_) AppendChunks(source.chunks, saved.sources.emplace_back());
  return saved;
}

SavedSignals::Signal SignalTable::SaveEntry(const Entry& entry) {
  SavedSignals::Signal saved{.state = static_cast<std::uint8_t>(entry.signal.state),
                             .ever_answered = entry.ever_answered,
                             .polled_at = entry.signal.polled_at,
                             .error = entry.signal.error,
                             .median = entry.median,
                             .raw = entry.raw,
                             .names = entry.series_names,
                             .series = {},
                             .of_series = {}};
  AppendChunks(entry.pod_chunks, saved.names);
  for (const SeriesValue& series : entry.signal.series) {
    saved.series.push_back(series.name);
    saved.of_series.push_back(series.value);
  }
  return saved;
}

// The values of signals depend on their guards, so they are set when all signals are restored.
Expected<void> SignalTable::Restore(const SavedSignals& saved) {
  if (saved.signals.size() != entries_.size() || saved.sources.size() != sources_.size()) {
    return Invalid(fmt::format("measurements: expected {} signals of {} sources, as in the configuration",
                               entries_.size(), sources_.size()));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i)
    BERTH_RETURN_IF_ERROR(RestoreEntry(saved.signals[i], entries_[i]));
  for (Entry& entry : entries_) SetValues(entry);
  directory_.NodesChanged();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].chunks = {std::make_shared<const std::vector<SeriesName>>(saved.sources[i])};
    sources_[i].row_of.clear();  // until the next result
  }
  return {};
}

Expected<void> SignalTable::RestoreEntry(const SavedSignals::Signal& saved, Entry& entry) const {
  if (saved.state > static_cast<std::uint8_t>(SignalState::kGone) || saved.raw.size() > nodes_.rows() ||
      saved.series.size() != saved.of_series.size() || std::ranges::any_of(saved.raw, IsInfinite) ||
      IsInfinite(saved.median) || !std::ranges::all_of(saved.of_series, IsFinite)) {
    return Invalid(fmt::format("measurements: {}: expected a state, values by row and values by series",
                               entry.signal.spec.name));
  }
  entry.signal.state = static_cast<SignalState>(saved.state);
  entry.signal.polled_at = saved.polled_at;
  entry.signal.error = saved.error;
  entry.ever_answered = saved.ever_answered;
  entry.median = saved.median;
  entry.raw = saved.raw;
  entry.signal.series.clear();
  for (std::size_t i = 0; i < saved.series.size(); ++i)
    entry.signal.series.push_back({saved.series[i], saved.of_series[i]});
  if (entry.signal.spec.subject == Subject::kPod) {
    entry.pod_chunks = {std::make_shared<const std::vector<SeriesName>>(saved.names)};
  } else {
    entry.series_names = saved.names;
  }
  return {};
}

void SignalTable::OnNodeAdded(cluster::Row) { directory_.NodesChanged(); }

// The row may be reused by another node.
void SignalTable::OnNodeRemoved(cluster::Row row) {
  directory_.NodesChanged();
  for (Entry& entry : entries_) {
    if (row < entry.raw.size()) entry.raw[row] = kNoValue;
    if (row < entry.signal.values.size()) entry.signal.values[row] = kNoValue;
  }
}

}  // namespace berth::load_metrics
