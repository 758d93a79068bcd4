#include "scheduler/framework/verdicts.hpp"

#include <algorithm>

#include "scheduler/framework/filter_outcome.hpp"

namespace berth::framework {

void RowReasons::Add(std::uint32_t row, std::string_view text) {
  // Most nodes share a few texts. Where each node has its own, a longer search would only cost time.
  constexpr std::size_t kLookBack = 8;
  const std::size_t oldest = texts.size() - std::min(texts.size(), kLookBack);
  std::size_t index = texts.size();
  while (index > oldest && texts[index - 1] != text) --index;
  if (index == oldest) {
    index = texts.size() + 1;
    texts.emplace_back(text);
  }
  rows.emplace_back(row, static_cast<std::uint32_t>(index - 1));
}

void FilterOutcome::Reset(const RowSet& candidates) {
  used = 0;
  row_reasons.clear();
  pending.clear();
  unresolvable.Clear();
  errors.clear();
  feasible = candidates;
}

}  // namespace berth::framework
