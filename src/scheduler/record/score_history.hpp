// What score plugins said of all rows, as records keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string_view>
#include <vector>

#include "kubernetes/api/cow_ptr.hpp"
#include "scheduler/framework/score_parts.hpp"

namespace berth::record {

// One plugin's part of the totals, after normalisation and before weight: 0 to 100.
struct Scores {
  std::string_view plugin;
  std::int64_t weight = 1;
  std::uint8_t uniform = 0;                        // of every feasible row, if values is empty
  std::vector<std::uint8_t> values;                // by row
  api::CowList<framework::ScorePart> parts = {};  // that it is made of; explanations ask for them
};

// All plugins' scores of one attempt: its own, or a version of some that many records share. Those are
// written once, with a log of changes behind each plugin's, of which a version goes by the first so many.
// Cheap to copy. One thread: that of the writer.
class ScoreSnapshot {
  struct Page {
    struct Change {
      std::uint64_t version;  // the first that has it
      std::uint32_t row;
      std::uint8_t score;
    };
    Scores scores;
    std::vector<Change> changes = {};
  };
  struct Sheet {
    std::vector<std::shared_ptr<const Page>> pages = {};
    std::size_t bytes = 0;  // a record's share of them
  };

 public:
  // One plugin's.
  class OfPlugin {
   public:
    OfPlugin(const Page& page, std::uint64_t version) : page_(page), version_(version) {}
    std::string_view plugin() const { return page_.scores.plugin; }
    std::int64_t weight() const { return page_.scores.weight; }
    bool uniform() const { return page_.scores.values.empty(); }  // the same for all rows
    const api::CowList<framework::ScorePart>& parts() const { return page_.scores.parts; }
    // Takes a look at each change of the version.
    std::uint8_t operator[](std::size_t row) const {
      if (uniform()) return page_.scores.uniform;
      for (const Page::Change& change : page_.changes | std::views::reverse) {
        if (change.row == row && change.version <= version_) return change.score;
      }
      return page_.scores.values[row];
    }

   private:
    const Page& page_;
    std::uint64_t version_;
  };

  ScoreSnapshot() = default;
  ScoreSnapshot(std::vector<Scores> own);  // implicit: that is what it is
  ScoreSnapshot(std::initializer_list<Scores> own) : ScoreSnapshot(std::vector<Scores>(own)) {}

  // By name of the plugin, in the order in which they were given.
  auto plugins() const {
    static const Sheet kNone;
    return (sheet_ == nullptr ? kNone : *sheet_).pages |
           std::views::transform([version = version_](const auto& page) { return OfPlugin(*page, version); });
  }
  // Roughly its own share of what it takes in memory.
  std::size_t Bytes() const { return sheet_ == nullptr ? 0 : sheet_->bytes; }

 private:
  friend class ScoreHistory;
  std::shared_ptr<const Sheet> sheet_;
  std::uint64_t version_ = 0;
};

// Scores that change row by row, and their versions. What one row costs does not depend on how many there
// are; what a version costs does not depend on how many plugins there are.
class ScoreHistory {
 public:
  void Clear();
  // As many as there are already: the number of the new one.
  std::size_t Add(std::string_view plugin, std::int64_t weight);
  void SetAll(std::size_t plugin, std::uint8_t score);
  void SetAll(std::size_t plugin, std::vector<std::uint8_t> by_row);
  // Of one that was not set to the same score for all rows.
  void Set(std::size_t plugin, std::size_t row, std::uint8_t score) {
    Column& column = columns_[plugin];
    if (column.now.values[row] == score) return;
    column.now.values[row] = score;
    if (column.page != nullptr) Note(column, row, score);
  }
  bool uniform(std::size_t plugin) const { return columns_[plugin].now.values.empty(); }
  const Scores& now(std::size_t plugin) const { return columns_[plugin].now; }
  // As they stand.
  const ScoreSnapshot& Version();

 private:
  struct Column {
    Scores now;
    std::shared_ptr<ScoreSnapshot::Page> page = nullptr;  // null: nobody has seen what is new
  };
  void Note(Column& column, std::size_t row, std::uint8_t score);
  void Rewrite(Column& column);

  std::vector<Column> columns_;
  ScoreSnapshot last_;  // without a sheet: it has to be put together again
};

}  // namespace berth::record
