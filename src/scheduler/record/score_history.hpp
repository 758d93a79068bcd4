// Scores of all plugins for all rows, as stored in records.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "base/row_set.hpp"
#include "kubernetes/api/cow_ptr.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/record/packed_scores.hpp"

namespace berth::record {

// The scores of one plugin after normalization and before weighting: 0 to 100.
struct Scores {
  std::string_view plugin;
  std::int64_t weight = 1;
  std::uint8_t uniform = 0;                       // the score of every feasible row, if values is empty
  std::vector<std::uint8_t> values;               // by row
  api::CowList<framework::ScorePart> parts = {};  // components; for explanations only
};

// The same without the values' memory.
struct ScoresView {
  std::string_view plugin;
  std::int64_t weight = 1;
  std::uint8_t uniform = 0;
  std::span<const std::uint8_t> values;
  api::CowList<framework::ScorePart> parts = {};
};

// The scores of all plugins in one attempt: owned by the record, or a version of scores that many records
// share. Shared scores are stored once per plugin, with a log of changes; a version applies a prefix of the
// log. Cheap to copy. Belongs to the thread of the writer.
class ScoreSnapshot {
  struct Page {
    // A changed score; `version` is the first version that includes it.
    struct Change {
      std::uint64_t version;
      std::uint32_t row;
      std::uint8_t score;
    };
    std::string_view plugin;
    std::int64_t weight = 1;
    api::CowList<framework::ScorePart> parts = {};
    PackedScores scores = {};
    std::vector<Change> changes = {};
  };
  static constexpr std::size_t kUsualPlugins = 8;  // with scores in one attempt
  struct Sheet {
    boost::container::small_vector<std::shared_ptr<const Page>, kUsualPlugins> pages = {};
    std::size_t bytes = 0;  // a record's share of the memory
  };
  struct OwnPages;

 public:
  // The scores of one plugin.
  class OfPlugin {
   public:
    OfPlugin(const Page& page, std::uint64_t version) : page_(page), version_(version) {}
    std::string_view plugin() const { return page_.plugin; }
    std::int64_t weight() const { return page_.weight; }
    const api::CowList<framework::ScorePart>& parts() const { return page_.parts; }
    // The score of a feasible row. Searches the log of changes; linear in its length.
    std::uint8_t operator[](std::size_t row) const {
      for (const Page::Change& change : page_.changes | std::views::reverse) {
        if (change.row == row && change.version <= version_) return change.score;
      }
      return page_.scores[row];
    }

   private:
    const Page& page_;
    std::uint64_t version_;
  };

  ScoreSnapshot() = default;
  // A copy of these scores. `feasible`: the rows whose scores will be read.
  ScoreSnapshot(std::span<const ScoresView> scores, const RowSet& feasible);
  ScoreSnapshot(std::initializer_list<Scores> scores);  // all rows will be read
  // A copy that shares nothing that the writer changes, for another thread. Linear in the scores and the log.
  ScoreSnapshot Detached() const;

  // The plugins in the order in which they were given.
  auto plugins() const {
    static const Sheet kNone;
    return (sheet_ == nullptr ? kNone : *sheet_).pages |
           std::views::transform([version = version_](const auto& page) { return OfPlugin(*page, version); });
  }
  // The approximate share of memory in bytes.
  std::size_t Bytes() const { return sheet_ == nullptr ? 0 : sheet_->bytes; }

 private:
  friend class ScoreHistory;
  void Keep(const std::shared_ptr<OwnPages>& own);

  std::shared_ptr<const Sheet> sheet_;
  std::uint64_t version_ = 0;
};

// Scores that change row by row, with versions. The cost of a row change does not depend on the number of
// rows; the cost of a version does not depend on the number of plugins.
class ScoreHistory {
 public:
  void Clear();
  // Returns the index of the new plugin.
  std::size_t Add(std::string_view plugin, std::int64_t weight);
  void SetAll(std::size_t plugin, std::uint8_t score);
  void SetAll(std::size_t plugin, std::vector<std::uint8_t> by_row);
  // Requires a plugin that was not set to a uniform score.
  void Set(std::size_t plugin, std::size_t row, std::uint8_t score) {
    Column& column = columns_[plugin];
    if (column.now.values[row] == score) return;
    column.now.values[row] = score;
    if (column.page != nullptr) Note(column, row, score);
  }
  bool uniform(std::size_t plugin) const { return columns_[plugin].now.values.empty(); }
  const Scores& now(std::size_t plugin) const { return columns_[plugin].now; }
  // The current scores as a new version.
  const ScoreSnapshot& Version();

 private:
  struct Column {
    Scores now;
    std::shared_ptr<ScoreSnapshot::Page> page = nullptr;  // null: no version includes the current values yet
  };
  static std::shared_ptr<ScoreSnapshot::Page> PageOf(const Scores& scores);
  void Note(Column& column, std::size_t row, std::uint8_t score);
  void Rewrite(Column& column);

  std::vector<Column> columns_;
  ScoreSnapshot last_;  // without a sheet: must be rebuilt
};

}  // namespace berth::record
