#include "scheduler/equivalence_cache/equivalence_cache.hpp"

#include <algorithm>

#include "scheduler/cluster/row_log.hpp"

namespace berth::equivalence_cache {

using framework::Attempt;
using framework::FilterOutcome;
using framework::Normalization;
using framework::ResultDependency;
using runtime::PreFilterOutcome;

// --- verdicts ---

PreFilterOutcome EquivalenceClass::RunPreFilter(const Attempt& attempt) const {
  const bool stands = node_changes_ == attempt.nodes().node_changes();
  return profile_.RunPreFilter(attempt, stands ? &reusable_pre_filter_ : nullptr);
}

bool EquivalenceClass::Evaluate(const Attempt& attempt, const PreFilterOutcome& pre_filter) {
  const cluster::NodeTable& nodes = attempt.nodes();
  // With more changed rows, evaluating all rows is cheaper.
  const std::uint64_t worthwhile = nodes.rows() / 8;
  const std::uint64_t seen = std::exchange(pod_changes_, nodes.pod_changes().count());
  changed_.Resize(nodes.rows());
  changed_.Clear();
  const bool can_follow =
      node_changes_ == nodes.node_changes() && skipped_filters_ == pre_filter.skipped_filters &&
      pod_changes_ - seen <= worthwhile &&
      nodes.pod_changes().ForEachSince(seen, [&](cluster::Row row) { changed_.Add(row); });
  return (can_follow && EvaluateChangedRows(attempt, pre_filter)) || Rebuild(attempt, pre_filter);
}

bool EquivalenceClass::Rebuild(const Attempt& attempt, const PreFilterOutcome& pre_filter) {
  node_changes_ = 0;
  ranked_ = false;
  kept_ = false;
  const auto filters = profile_.filters();
  first_by_row_ = filters.size();
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (pre_filter.skipped_filters.Has(i)) continue;
    const ResultDependency basis = filters[i]->FilterDependency(attempt.pod());
    if (basis == ResultDependency::kEverything) return false;
    if (basis == ResultDependency::kRow) first_by_row_ = i;
  }
  profile_.RunFiltersFrom(0, attempt, pre_filter, attempt.nodes().all(), verdicts_);
  if (!verdicts_.errors.empty() || !verdicts_.row_reasons.empty() || !verdicts_.pending.empty()) return false;
  reaching_ = attempt.nodes().all();
  for (const FilterOutcome::Rejection& rejection : verdicts_.all()) {
    if (rejection.plugin < first_by_row_) reaching_ -= rejection.rows;
  }
  skipped_filters_ = pre_filter.skipped_filters;
  reusable_pre_filter_ = profile_.ReusablePreFilter(attempt.pod(), pre_filter);
  node_changes_ = attempt.nodes().node_changes();
  return true;
}

// Returns false if all rows must be evaluated again.
bool EquivalenceClass::EvaluateChangedRows(const Attempt& attempt, const PreFilterOutcome& pre_filter) {
  changed_ &= reaching_;
  if (changed_.Empty()) return true;
  profile_.RunFiltersFrom(first_by_row_, attempt, pre_filter, changed_, again_);
  if (!again_.errors.empty() || !again_.row_reasons.empty() || !again_.pending.empty()) return false;
  to_score_ |= changed_;
  if (again_.used == 0 && changed_.IsSubsetOf(verdicts_.feasible)) return true;
  return TakeVerdicts();
}

// Replaces the verdicts of changed rows by the new ones. Returns false if a reason is new: the order of a
// plugin's reasons cannot be determined from some rows only.
bool EquivalenceClass::TakeVerdicts() {
  FilterOutcome& known = verdicts_;
  kept_ = false;
  const auto by_plugin = [](const FilterOutcome::Rejection& rejection) { return rejection.plugin; };
  for (const FilterOutcome::Rejection& rejection : again_.all()) {
    const auto all = known.all();
    const auto same = [&](const auto& one) {
      return one.plugin == rejection.plugin && one.reason == rejection.reason;
    };
    if (std::ranges::any_of(all, same)) continue;
    if (std::ranges::find(all, rejection.plugin, by_plugin) != all.end()) return false;
  }
  for (std::size_t i = 0; i < known.used; ++i) known.rejections[i].rows -= changed_;
  for (const FilterOutcome::Rejection& rejection : again_.all()) {
    const auto begin = known.rejections.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(known.used);
    const auto place = std::find_if(begin, end, [&](const auto& one) {
      return one.plugin > rejection.plugin ||
             (one.plugin == rejection.plugin && one.reason == rejection.reason);
    });
    if (place != end && place->plugin == rejection.plugin) {
      place->rows |= rejection.rows;
    } else {
      known.rejections.insert(place, rejection);
      ++known.used;
    }
  }
  const auto end = known.rejections.begin() + static_cast<std::ptrdiff_t>(known.used);
  const auto left = std::stable_partition(known.rejections.begin(), end,
                                          [](const auto& rejection) { return !rejection.rows.Empty(); });
  known.used = static_cast<std::size_t>(left - known.rejections.begin());
  known.unresolvable -= changed_;
  known.unresolvable |= again_.unresolvable;
  known.feasible -= changed_;
  known.feasible |= again_.feasible;
  joined_or_left_ = true;
  return true;
}

void EquivalenceClass::RecordVerdicts(record::AttemptRecord& record) {
  if (!std::exchange(kept_, true)) {
    kept_feasible_ = verdicts_.feasible;
    kept_unresolvable_ = verdicts_.unresolvable;
    kept_rejections_.clear();
    for (const FilterOutcome::Rejection& rejection : verdicts_.all()) {
      kept_rejections_.push_back(
          {profile_.filters()[rejection.plugin]->Name(), rejection.reason, rejection.rows});
    }
  }
  record.feasible = kept_feasible_;
  record.unresolvable = kept_unresolvable_;
  record.rejections = kept_rejections_;
}

// --- scores ---

bool EquivalenceClass::Rank(const Attempt& attempt) {
  const runtime::ReusableResult* reusable = ranked_ ? &reusable_pre_scores_ : nullptr;
  const bool fine = profile_.RunPreScores(attempt, verdicts_.feasible, skipped_now_, reusable).ok();
  const bool can_follow = ranked_ && skipped_now_ == skipped_scores_;
  ranked_ = fine && ((can_follow && ScoreChanged(attempt)) || ScoreAll(attempt));
  to_score_.Clear();
  joined_or_left_ = false;
  return ranked_;
}

bool EquivalenceClass::ScoreAll(const Attempt& attempt) {
  std::int64_t highest = 0;
  parts_.clear();
  for (std::size_t i = 0; i < profile_.scores().size(); ++i) {
    if (skipped_now_.Has(i)) continue;
    const auto& [plugin, weight] = profile_.scores()[i];
    const ResultDependency basis = plugin->ScoreDependency(attempt.pod());
    highest += weight * framework::kMaxScore;
    if (basis == ResultDependency::kEverything || plugin->normalization() == Normalization::kOwn ||
        highest > INT32_MAX)
      return false;
    Part& part = parts_.emplace_back();
    part.index = i;
    part.how = plugin->normalization();
    part.by_row = basis == ResultDependency::kRow;
    part.weight = static_cast<std::int32_t>(weight);
  }
  std::ranges::sort(parts_, {},
                    [&](const Part& part) { return profile_.scores()[part.index].plugin->Name(); });
  history_.Clear();
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    Part& part = parts_[place];
    history_.Add(profile_.scores()[part.index].plugin->Name(), part.weight);
    if (!profile_.RunRawScore(part.index, attempt, verdicts_.feasible, part.raw).ok() || !Normalize(place))
      return false;
    // the scores are equal to the raw scores
    if (part.how == Normalization::kNone && !history_.uniform(place)) part.raw = {};
  }
  CollectColumns();
  skipped_scores_ = skipped_now_;
  reusable_pre_scores_ = profile_.ReusablePreScores(attempt.pod(), skipped_now_);
  best_.Reset(attempt.nodes().rows());
  best_.SetAll(verdicts_.feasible, totalled_);
  return true;
}

// normalization the raw scores of all feasible rows. Returns false if a result is not a valid score.
bool EquivalenceClass::Normalize(std::size_t place) {
  const Part& part = parts_[place];
  framework::ScoreColumn& scores = answer_;
  scores = part.raw;
  if (part.how != Normalization::kNone) {
    framework::NormalizeByMaximum(verdicts_.feasible, part.how == Normalization::kByMaximumReversed, scores);
  }
  if (!scores.ShrinkToScores(verdicts_.feasible)) return false;
  if (scores.uniform()) {
    history_.SetAll(place, static_cast<std::uint8_t>(scores.uniform_value()));
  } else {
    const auto bytes = scores.bytes();
    history_.SetAll(place, {bytes.begin(), bytes.end()});
  }
  return true;
}

// Returns false if all rows must be scored again.
bool EquivalenceClass::ScoreChanged(const Attempt& attempt) {
  scored_rows_.clear();
  to_score_.ForEach([&](std::size_t row) {
    if (verdicts_.feasible.Has(row)) {
      scored_rows_.push_back(row);
    } else {
      best_.Set(row, TournamentTree::kExcluded);
      to_score_.Remove(row);
    }
  });
  if (scored_rows_.empty() && !joined_or_left_) return true;
  bool all_moved = false;
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    const Part& part = parts_[place];
    if (!part.by_row && !joined_or_left_) continue;
    const bool counted = !history_.uniform(place);
    if (!ScoreRows(place, attempt)) return false;
    all_moved = all_moved || (part.how != Normalization::kNone && (counted || !history_.uniform(place)));
  }
  if (all_moved) {
    CollectColumns();
    best_.SetAll(verdicts_.feasible, totalled_);
  } else {
    for (const std::size_t row : scored_rows_) best_.Set(row, Total(row));
  }
  return true;
}

bool EquivalenceClass::ScoreRows(std::size_t place, const Attempt& attempt) {
  Part& part = parts_[place];
  if (!profile_.RunRawScore(part.index, attempt, to_score_, answer_).ok()) return false;
  const bool was_uniform = part.how == Normalization::kNone ? history_.uniform(place) : part.raw.uniform();
  if (was_uniform && !(answer_.uniform() && answer_.uniform_value() == part.raw.uniform_value()))
    return false;
  if (part.how != Normalization::kNone) {
    if (!was_uniform) {
      const auto raw = part.raw.Mutable();
      for (const std::size_t row : scored_rows_) raw[row] = answer_.At(row);
    }
    return Normalize(place);  // the maximum may have changed
  }
  if (history_.uniform(place)) return true;
  bool all_valid = true;
  for (const std::size_t row : scored_rows_) {
    const std::int64_t score = answer_.At(row);
    all_valid = all_valid && framework::IsScore(score);
    history_.Set(place, row, static_cast<std::uint8_t>(score));
  }
  return all_valid;
}

void EquivalenceClass::CollectColumns() {
  totalled_.clear();
  column_bytes_ = parts_.size() * sizeof(Part);
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    const Part& part = parts_[place];
    if (!history_.uniform(place)) {
      const std::vector<std::uint8_t>& values = history_.now(place).values;
      totalled_.push_back({values, part.weight});
      column_bytes_ += 2 * values.size();  // twice: records keep a packed copy, of at most this size
    }
    if (!part.raw.uniform()) column_bytes_ += part.raw.values().size_bytes() + part.raw.bytes().size();
  }
}

std::int32_t EquivalenceClass::Total(std::size_t row) const {
  std::int32_t total = 0;
  for (const TournamentTree::Part& part : totalled_) total += part.weight * part.scores[row];
  return total;
}

void EquivalenceClass::KeepScores(record::AttemptRecord& record) {
  record.scored = true;
  record.base_total = profile_.scores().empty() ? 1 : 0;
  record.scores = history_.Version();
}

std::size_t EquivalenceClass::Bytes() const {
  const std::size_t rows = reaching_.words().size() * RowSet::kWordBits;
  const std::size_t by_row = sizeof(std::int32_t) + sizeof(std::uint8_t);  // total and last score
  return sizeof(*this) + rows * by_row + rows / 8 * (6 + verdicts_.rejections.size()) + column_bytes_;
}

// --- entries ---

namespace {
constexpr std::size_t kShapes = 512;
constexpr std::uint64_t kPause = 256;  // number of decisions before a dropped entry is tried again
}  // namespace

EquivalenceClass* EquivalenceCache::Lookup(const cluster::PodShapePtr& shape,
                                           const runtime::Profile& profile) {
  ++decisions_;
  const auto [found, added] = entries_.try_emplace(shape.get());
  Entry& entry = found->second;
  const bool again = !added && entry.profile == &profile;
  entry.met = decisions_;
  if (!again) {
    Drop(entry);
    entry.shape = shape;
    entry.profile = &profile;
    if (entries_.size() > kShapes) ForgetOldShapes();
    return nullptr;
  }
  if (entry.known == nullptr) {
    if (decisions_ < entry.not_before) return nullptr;
    if (!MakeRoom()) {
      entry.not_before = decisions_ + kPause;
      return nullptr;
    }
    entry.known = std::make_unique<EquivalenceClass>(profile);
    ++known_;
  }
  const std::size_t bytes = entry.known->Bytes();
  bytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
  return entry.known.get();
}

void EquivalenceCache::Invalidate(const cluster::PodShapePtr& shape) {
  Entry& entry = entries_.at(shape.get());
  Drop(entry);
  entry.not_before = decisions_ + kPause;
}

void EquivalenceCache::ReleaseUnused() {
  boost::unordered::erase_if(entries_, [&](auto& item) {
    Entry& entry = item.second;
    if (entry.met > released_ || entry.shape.use_count() > 1) return false;
    Drop(entry);
    return true;
  });
  released_ = decisions_;
}

void EquivalenceCache::Drop(Entry& entry) {
  if (entry.known == nullptr) return;
  entry.known.reset();
  bytes_ -= std::exchange(entry.bytes, 0);
  --known_;
}

// Makes room for one more entry. Drops the least recently used one, unless all entries are in use in turn and
// too many: then the existing ones are kept, because dropping them would make all lookups fail.
bool EquivalenceCache::MakeRoom() {
  while (bytes_ > max_bytes_) {
    Entry* oldest = nullptr;
    for (auto& [shape, entry] : entries_) {
      if (entry.known != nullptr && (oldest == nullptr || entry.met < oldest->met)) oldest = &entry;
    }
    if (oldest == nullptr || decisions_ - oldest->met < 2 * known_) return false;
    Drop(*oldest);
  }
  return true;
}

void EquivalenceCache::ForgetOldShapes() {
  std::vector<std::uint64_t> met;
  met.reserve(entries_.size());
  for (const auto& [shape, entry] : entries_) met.push_back(entry.met);
  const auto middle = met.begin() + static_cast<std::ptrdiff_t>(met.size() / 2);
  std::ranges::nth_element(met, middle);
  boost::unordered::erase_if(entries_, [&](auto& item) {
    if (item.second.met >= *middle) return false;
    Drop(item.second);
    return true;
  });
}

}  // namespace berth::equivalence_cache
