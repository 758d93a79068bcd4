// Random results of queries for load measurements, for tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tools/replay/fake_recorded_scheduler.hpp"

namespace berth::replay {

// Numbers series as the poller does: those of nodes for all signals together, others by signal.
class FakeMeasurements {
 public:
  FakeMeasurements(Recorded& recorded, std::mt19937_64& random) : recorded_(recorded), random_(random) {}

  // Passes the next result of any signal to the scheduler; some fail, and some results lack some series.
  void Measure(const std::vector<std::string>& nodes, const std::vector<std::string>& pods) {
    const load_metrics::SignalTable& signals = recorded_.signals();
    if (signals.size() == 0) return;
    const auto id = static_cast<load_metrics::SignalId>(random_() % signals.size());
    if (random_() % 8 == 0) {
      const Duration later = std::chrono::minutes(random_() % 2 == 0 ? 0 : 10);
      return recorded_.Measure(load_metrics::FailedPoll{id, recorded_.now() + later, "timeout"});
    }
    using enum load_metrics::Subject;
    const load_metrics::Subject subject = signals.signal(id).spec.subject;
    Catalog& catalog = catalogs_[subject == kNode ? UINT32_MAX : static_cast<std::uint32_t>(id)];
    load_metrics::SignalAnswer answer{
        .signal = id, .polled_at = recorded_.now(), .fresh = nullptr, .samples = {}};
    if (random_() % 10 == 0) {
      catalog = {};
      answer.renumbered = true;
    }
    std::vector<load_metrics::SeriesName> fresh;
    const auto add = [&](const load_metrics::SeriesName& series) {
      if (random_() % 6 == 0) return;
      const auto [known, is_new] = catalog.emplace(series, catalog.size());
      if (is_new) fresh.push_back(series);
      answer.samples.emplace_back(known->second, std::uniform_real_distribution<double>(0, 1)(random_));
    };
    if (subject == kNode) {
      for (const std::string& node : nodes) add({{"node", node}});
    } else if (subject == kPod) {
      for (const std::string& pod : pods) add({{"namespace", "default"}, {"pod", pod}});
    } else {
      for (int i = 0; i < 3; ++i)
        add({{"namespace", "default"}, {"kind", "ReplicaSet"}, {"name", "set" + std::to_string(i)}});
    }
    if (!fresh.empty()) {
      answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(fresh));
    }
    recorded_.Measure(answer);
  }

 private:
  using Catalog = std::map<load_metrics::SeriesName, std::uint32_t>;

  Recorded& recorded_;
  std::mt19937_64& random_;
  std::map<std::uint32_t, Catalog> catalogs_;
};

}  // namespace berth::replay
