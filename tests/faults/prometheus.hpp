// A Prometheus of the simulated cluster with the loads of its nodes, and its faults.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "scheduler/load_metrics/query_client.hpp"
#include "tests/faults/machine.hpp"

namespace berth::faults {

enum class MeasurementFault {
  kNone,
  kNoResponse,   // until the scheduler's timeout
  kServerError,  // 503
  kBadReply,     // a document that is cut off
  kNoServer,     // connection refused
  kGaps,         // some nodes are missing, others with every query
  kNoSeries,     // every node is missing
  kNotANumber,   // some values are NaN
};
inline constexpr int kMeasurementFaults = 7;  // beside kNone

// A configuration file with LoadAware: nodes that are hot, or without a measurement, are rejected.
std::string MeasuredConfiguration();
std::vector<load_metrics::SourceSettings> MetricSources();
inline constexpr std::chrono::seconds kMeasurementHold{20};
// The time for which a scheduler uses a measurement when newer ones are missing: after kMeasurementHold it
// learns from the next query that fails.
inline constexpr std::chrono::seconds kMeasurementUse = kMeasurementHold + std::chrono::seconds(10);

// The true loads. A node is hot for 12 s now and then, until `end`; afterwards no node is.
class NodeLoads {
 public:
  NodeLoads(std::uint64_t seed, Duration end) : seed_(seed), end_(end) {}
  bool IsHot(std::size_t node, Duration time) const;

 private:
  const std::uint64_t seed_;
  const Duration end_;
};

// The last measurement of a node that has arrived at a process.
struct Reading {
  bool hot = false;
  Duration at{};
};

// The connections of one process. On the machine's loop.
class PrometheusClient {
 public:
  // The arguments must outlive it.
  PrometheusClient(Machine& machine, const NodeLoads& loads, std::uint64_t seed,
                   std::function<MeasurementFault()> fault);
  // For a Poller, which this object must outlive.
  load_metrics::SourceParts Parts();
  std::optional<Reading> ReadingOf(std::string_view node) const;

 private:
  class Transport;
  struct Answer {
    Duration delay{};
    Expected<http::ClientResponse> response;
    std::map<std::string, bool> hot{};  // by node; what the response says
  };
  Answer AnswerTo(const http::ClientRequest& request);
  Answer Vector(MeasurementFault fault);
  void Arrived(const Answer& answer);

  Machine& machine_;
  const NodeLoads& loads_;
  Random random_;
  const std::function<MeasurementFault()> fault_;
  std::map<std::string, Reading, std::less<>> readings_;
};

}  // namespace berth::faults
