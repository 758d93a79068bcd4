#include "scheduler/record/score_history.hpp"

#include <utility>

namespace berth::record {
namespace {

// A lookup scans the changes: more would make explanations slow, fewer would cause more copies.
constexpr std::size_t kChangesPerPage = 256;
// Assumed number of records that share a page.
constexpr std::size_t kSharers = 64;

}  // namespace

ScoreSnapshot::ScoreSnapshot(std::vector<Scores> own) {
  // One allocation for all pages: they are created and dropped with every decision that is not cached.
  struct Own {
    std::vector<Page> pages;
    Sheet sheet;
  };
  const auto all = std::make_shared<Own>();
  all->pages.reserve(own.size());
  all->sheet.pages.reserve(own.size());
  for (Scores& scores : own) {
    all->sheet.bytes += sizeof(Page) + scores.values.size();
    const Page& page = all->pages.emplace_back(Page{std::move(scores)});
    all->sheet.pages.emplace_back(std::shared_ptr<void>(), &page);  // owned by the allocation of the sheet
  }
  sheet_ = std::shared_ptr<const Sheet>(all, &all->sheet);
}

void ScoreHistory::Clear() {
  columns_.clear();
  last_.sheet_.reset();
}

std::size_t ScoreHistory::Add(std::string_view plugin, std::int64_t weight) {
  columns_.push_back({.now = {.plugin = plugin, .weight = weight, .values = {}}});
  last_.sheet_.reset();
  return columns_.size() - 1;
}

void ScoreHistory::SetAll(std::size_t plugin, std::uint8_t score) {
  Column& column = columns_[plugin];
  if (column.now.values.empty() && column.now.uniform == score) return;
  column.now.uniform = score;
  column.now.values.clear();
  Rewrite(column);
}

void ScoreHistory::SetAll(std::size_t plugin, std::vector<std::uint8_t> by_row) {
  columns_[plugin].now.values = std::move(by_row);
  Rewrite(columns_[plugin]);
}

void ScoreHistory::Note(Column& column, std::size_t row, std::uint8_t score) {
  if (column.page->changes.size() == kChangesPerPage) return Rewrite(column);
  column.page->changes.push_back({last_.version_ + 1, static_cast<std::uint32_t>(row), score});
}

void ScoreHistory::Rewrite(Column& column) {
  column.page.reset();
  last_.sheet_.reset();
}

const ScoreSnapshot& ScoreHistory::Version() {
  ++last_.version_;
  if (last_.sheet_ != nullptr) return last_;
  auto sheet = std::make_shared<ScoreSnapshot::Sheet>();
  sheet->pages.reserve(columns_.size());
  for (Column& column : columns_) {
    if (column.page == nullptr) {
      column.page = std::make_shared<ScoreSnapshot::Page>(ScoreSnapshot::Page{column.now});
      column.page->changes.reserve(column.now.values.empty() ? 0 : kChangesPerPage);
    }
    sheet->bytes += (sizeof(*column.page) + column.now.values.size()) / kSharers;
    sheet->pages.push_back(column.page);
  }
  last_.sheet_ = std::move(sheet);
  return last_;
}

}  // namespace berth::record
