#include "scheduler/record/score_history.hpp"

#include <algorithm>
#include <utility>

namespace berth::record {
namespace {

// A lookup scans the changes: more would make explanations slow, fewer would cause more copies.
constexpr std::size_t kChangesPerPage = 256;
// Assumed number of records that share a page.
constexpr std::size_t kSharers = 64;

RowSet AllRows(std::size_t rows) {
  RowSet all(rows);
  RowSet::Word* words = all.MutableWords();
  std::fill_n(words, rows / RowSet::kWordBits, ~RowSet::Word{0});
  if (const std::size_t rest = rows % RowSet::kWordBits; rest != 0)
    words[rows / RowSet::kWordBits] = (RowSet::Word{1} << rest) - 1;
  return all;
}

ScoresView ViewOf(const Scores& scores) {
  return {.plugin = scores.plugin,
          .weight = scores.weight,
          .uniform = scores.uniform,
          .values = scores.values,
          .parts = scores.parts};
}

ScoreCode CodeFor(const ScoresView& scores, const RowSet& feasible) {
  return scores.values.empty() ? ScoreCode{.lowest = scores.uniform} : NarrowestCode(scores.values, feasible);
}

}  // namespace

// Few allocations: the pages are created and dropped with every decision that is not cached.
struct ScoreSnapshot::OwnPages {
  OwnPages(std::size_t pages_expected, std::size_t words_needed)
      : words(words_needed == 0 ? nullptr : std::make_unique_for_overwrite<std::uint64_t[]>(words_needed)),
        unused(words.get(), words_needed) {
    pages.reserve(pages_expected);
    sheet.pages.reserve(pages_expected);
  }
  std::span<std::uint64_t> Take(std::size_t count) {
    const std::span<std::uint64_t> taken = unused.first(count);
    unused = unused.subspan(count);
    return taken;
  }

  std::unique_ptr<std::uint64_t[]> words;  // of all pages
  std::span<std::uint64_t> unused;
  boost::container::small_vector<Page, kUsualPlugins> pages;
  Sheet sheet;
};

ScoreSnapshot::ScoreSnapshot(std::span<const ScoresView> scores, const RowSet& feasible) {
  boost::container::small_vector<ScoreCode, kUsualPlugins> codes;
  std::size_t words = 0;
  for (const ScoresView& each : scores) {
    codes.push_back(CodeFor(each, feasible));
    words += codes.back().WordsFor(each.values.size());
  }
  const auto own = std::make_shared<OwnPages>(scores.size(), words);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::span<std::uint64_t> packed = own->Take(codes[i].WordsFor(scores[i].values.size()));
    Pack(scores[i].values, codes[i], packed);
    own->pages.push_back({.plugin = scores[i].plugin,
                          .weight = scores[i].weight,
                          .parts = scores[i].parts,
                          .scores = PackedScores(codes[i], packed)});
  }
  Keep(own);
}

ScoreSnapshot::ScoreSnapshot(std::initializer_list<Scores> scores) {
  std::vector<ScoresView> views;
  std::size_t rows = 0;
  for (const Scores& each : scores) {
    views.push_back(ViewOf(each));
    rows = std::max(rows, each.values.size());
  }
  *this = ScoreSnapshot(views, AllRows(rows));
}

ScoreSnapshot ScoreSnapshot::Detached() const {
  if (sheet_ == nullptr) return {};
  std::size_t words = 0;
  for (const auto& page : sheet_->pages) words += page->scores.words().size();
  const auto own = std::make_shared<OwnPages>(sheet_->pages.size(), words);
  for (const auto& page : sheet_->pages) {
    const std::span<std::uint64_t> copied = own->Take(page->scores.words().size());
    std::ranges::copy(page->scores.words(), copied.begin());
    own->pages.push_back({.plugin = page->plugin,
                          .weight = page->weight,
                          .parts = page->parts,
                          .scores = PackedScores(page->scores.code(), copied),
                          .changes = page->changes});
  }
  ScoreSnapshot detached;
  detached.Keep(own);
  detached.version_ = version_;
  return detached;
}

void ScoreSnapshot::Keep(const std::shared_ptr<OwnPages>& own) {
  own->sheet.bytes = sizeof(OwnPages);
  if (own->pages.size() > kUsualPlugins) own->sheet.bytes += own->pages.size() * sizeof(Page);
  for (const Page& page : own->pages) {
    own->sheet.bytes += page.scores.Bytes() + page.changes.size() * sizeof(Page::Change);
    own->sheet.pages.emplace_back(std::shared_ptr<void>(), &page);  // owned by the allocation of the sheet
  }
  sheet_ = std::shared_ptr<const Sheet>(own, &own->sheet);
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
    if (column.page == nullptr) column.page = PageOf(column.now);
    sheet->bytes += (sizeof(*column.page) + column.page->scores.Bytes()) / kSharers;
    sheet->pages.push_back(column.page);
  }
  last_.sheet_ = std::move(sheet);
  return last_;
}

// Changes may concern any row, so that all rows are packed.
std::shared_ptr<ScoreSnapshot::Page> ScoreHistory::PageOf(const Scores& scores) {
  struct OwnPage {
    std::vector<std::uint64_t> words;
    ScoreSnapshot::Page page;
  };
  const std::size_t rows = scores.values.size();
  const ScoreCode code = CodeFor(ViewOf(scores), AllRows(rows));
  const auto own = std::make_shared<OwnPage>();
  own->words.resize(code.WordsFor(rows));
  Pack(scores.values, code, own->words);
  own->page = {.plugin = scores.plugin,
               .weight = scores.weight,
               .parts = scores.parts,
               .scores = PackedScores(code, own->words)};
  own->page.changes.reserve(rows == 0 ? 0 : kChangesPerPage);
  return {own, &own->page};
}

}  // namespace berth::record
