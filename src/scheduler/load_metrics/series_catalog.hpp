// Numbers for the series of a source, so that the scheduler's loop looks a name up once and not with every
// poll.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/load_metrics/query_answer.hpp"
#include "scheduler/load_metrics/source_settings.hpp"

namespace berth::load_metrics {

// One thread. An answer that is completed must reach the loop, for later ones build on it; one that turns out
// to be broken is dropped before End, and nothing is lost.
class SeriesCatalog {
 public:
  // `labels` tell one series from another, and are what is kept of it; `patterns` rewrite their values. Both
  // outlive the catalog.
  SeriesCatalog(const std::vector<std::string>& labels, const std::vector<NodePattern>& patterns)
      : labels_(labels), patterns_(patterns) {}

  // Begins an answer. Series of nodes that are long gone are forgotten when they have become many: everything
  // is numbered anew then.
  void Begin();
  void Add(SignalAnswer& answer, const LabelOf& labels, double value);
  void End(SignalAnswer& answer);

  std::size_t size() const { return numbers_.size(); }

 private:
  std::string Rewritten(const std::string& label, std::string_view value) const;

  const std::vector<std::string>& labels_;
  const std::vector<NodePattern>& patterns_;
  boost::unordered_flat_map<std::string, std::uint32_t> numbers_;  // by values of the labels
  std::vector<SeriesName> fresh_;
  std::size_t largest_ = 0;  // answer since the numbers began
  bool renumbered_ = false;
  std::string key_;
};

}  // namespace berth::load_metrics
