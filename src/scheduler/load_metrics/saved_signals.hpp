// The content of a SignalTable as a value, for recordings (base/json_fields.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace berth::load_metrics {

// Rows are those of the node table. Names of series are shared by all signals of a source.
struct SavedSignals {
  using Labels = std::vector<std::pair<std::string, std::string>>;

  struct Signal {
    std::uint8_t state = 0;
    bool ever_answered = false;
    MonoTime polled_at;
    std::string error;
    double median = 0;
    std::vector<double> raw;        // by row
    std::vector<Labels> names;      // kPod and kWorkload: of all series, by number
    std::vector<Labels> series;     // kWorkload: with a value
    std::vector<double> of_series;  // their values

    static void VisitFields(auto& self, auto&& visit) {
      visit("state", self.state);
      visit("everAnswered", self.ever_answered);
      visit("polledAt", self.polled_at);
      visit("error", self.error);
      visit("median", self.median);
      visit("raw", self.raw);
      visit("names", self.names);
      visit("series", self.series);
      visit("values", self.of_series);
    }
  };
  std::vector<Signal> signals;               // by SignalId
  std::vector<std::vector<Labels>> sources;  // the names of all series, by number

  static void VisitFields(auto& self, auto&& visit) {
    visit("signals", self.signals);
    visit("sources", self.sources);
  }
};

}  // namespace berth::load_metrics
