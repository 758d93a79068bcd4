// Numbers the series of a source, so that the scheduler loop resolves each name once instead of with every
// poll.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/load_metrics/query_answer.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/load_metrics/source_settings.hpp"

namespace berth::load_metrics {

// One thread. A completed result must be delivered to the loop, because later ones build on it. A result that
// turns out to be invalid is dropped before End, without loss.
class SeriesCatalog {
 public:
  // `labels` identify a series, and only they are kept; `patterns` rewrite their values. Both must outlive
  // the catalog.
  SeriesCatalog(const std::vector<std::string>& labels, const std::vector<NodePattern>& patterns)
      : labels_(labels), patterns_(patterns) {}

  // Begins a result. When many series of deleted nodes have accumulated, all series are renumbered.
  void Begin();
  void Add(SignalAnswer& answer, const LabelOf& labels, double value);
  void End(SignalAnswer& answer);

  std::size_t size() const { return numbers_.size(); }

 private:
  std::string Rewritten(const std::string& label, std::string_view value) const;

  const std::vector<std::string>& labels_;
  const std::vector<NodePattern>& patterns_;
  FlatTextMap<std::uint32_t> numbers_;  // by label values
  std::vector<SeriesName> fresh_;
  std::size_t largest_ = 0;  // largest result since the last renumbering
  bool renumbered_ = false;
  std::string key_;
};

}  // namespace berth::load_metrics
