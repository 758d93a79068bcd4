#include "scheduler/load_metrics/series_catalog.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace berth::load_metrics {
namespace {

// Renumbers when there are more series than four times the largest result plus this number: most of them are
// stale then.
constexpr std::size_t kSlack = 1024;
// std::regex recurses; longer values are not node names.
constexpr std::size_t kRewrittenMax = 512;

}  // namespace

void SeriesCatalog::Begin() {
  if (numbers_.size() <= 4 * largest_ + kSlack) return;
  numbers_.clear();
  fresh_.clear();
  largest_ = 0;
  renumbered_ = true;
}

void SeriesCatalog::Add(SignalAnswer& answer, const LabelOf& labels, double value) {
  key_.clear();
  for (const std::string& label : labels_) {
    key_ += labels(label);
    key_ += '\0';
  }
  const auto [known, first] = numbers_.emplace(key_, static_cast<std::uint32_t>(numbers_.size()));
  if (first) {
    SeriesName name;
    for (const std::string& label : labels_) {
      if (const std::string_view text = labels(label); !text.empty())
        name.emplace_back(label, Rewritten(label, text));
    }
    fresh_.push_back(std::move(name));
  }
  answer.samples.emplace_back(known->second, value);
}

void SeriesCatalog::End(SignalAnswer& answer) {
  largest_ = std::max(largest_, answer.samples.size());
  answer.renumbered = std::exchange(renumbered_, false);
  if (fresh_.empty()) return;
  answer.fresh = std::make_shared<const std::vector<SeriesName>>(std::exchange(fresh_, {}));
}

std::string SeriesCatalog::Rewritten(const std::string& label, std::string_view value) const {
  std::string text(value);
  if (text.size() > kRewrittenMax) return text;
  for (const NodePattern& pattern : patterns_) {
    std::smatch match;
    if (pattern.label == label && std::regex_match(text, match, pattern.regex))
      return match.format(pattern.replacement);
  }
  return text;
}

}  // namespace berth::load_metrics
