#include "scheduler/plugins/network_traffic/network_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_fields.hpp"
#include "scheduler/plugins/encode_later.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"
#include "scheduler/plugins/load_metrics/tutorial_log.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;
using load_metrics::SignalSpec;

// Scale of the fraction of a link's speed as an integer.
constexpr double kWholeLink = 1e6;

SignalSpec TrafficOf(const NetworkTrafficArgs& args) {
  const Duration range = std::chrono::minutes(args.time_range_in_minutes);
  const std::string window = PromQlDuration(range);
  const std::string metric =
      fmt::format(R"(node_network_receive_bytes_total{{device="{}"}})", args.network_interface);
  SignalSpec spec{
      .name = "network receive", .source = args.prometheus_address, .expression = {}, .window = range};
  if (args.mode == NetworkTrafficArgs::Mode::kClassic) {
    spec.expression = fmt::format("max by ($node) (sum_over_time({}[{}]))", metric, window);
  } else {
    spec.expression = fmt::format("max by ($node) (rate({}[{}]))", metric, window);
    spec.guards = GuardsOf(spec.name, metric, window);
  }
  return spec;
}

SignalSpec SpeedOf(const NetworkTrafficArgs& args) {
  return {.name = "network speed",
          .source = args.prometheus_address,
          .expression = fmt::format(R"(max by ($node) (node_network_speed_bytes{{device="{}"}} > 0))",
                                    args.network_interface)};
}

// Converts as Go does, but limited so that a hundred times the result does not overflow.
std::int64_t Whole(double value) {
  constexpr double kMost = 9e16;
  return static_cast<std::int64_t>(std::clamp(value, 0.0, kMost));
}

}  // namespace

framework::Factory NetworkTraffic::Factory(std::string name) {
  return [name](const framework::RawArgs& raw, framework::Handle& handle) -> framework::PluginOrError {
    BERTH_TRY(const NetworkTrafficArgs args, ParseNetworkTrafficArgs(raw));
    log::Info(fmt::format(
        "[NetworkTraffic] args received. NetworkInterface: {}; TimeRangeInMinutes: {}, Address: {}",
        args.network_interface, args.time_range_in_minutes, args.prometheus_address));
    if (args.mode == NetworkTrafficArgs::Mode::kRate) {
      log::Info(
          "[NetworkTraffic] mode rate: nodes are compared by bytes per second, not by the sum of counter "
          "readings, which grows with the age of a node; \"mode: classic\" in the arguments brings that "
          "back");
    }
    return std::make_unique<NetworkTraffic>(name, args, handle);
  };
}

NetworkTraffic::NetworkTraffic(std::string_view name, const NetworkTrafficArgs& args,
                               framework::Handle& handle)
    : name_(name),
      classic_(args.mode == NetworkTrafficArgs::Mode::kClassic),
      nodes_(handle.nodes),
      measurements_(handle.signals),
      traffic_(measurements_.Declare(TrafficOf(args))),
      speed_(classic_ ? traffic_ : measurements_.Declare(SpeedOf(args))) {
  // Listens before Measured, which reads its result.
  if (!classic_)
    unmeasured_pods_.emplace(handle, traffic_, [](const api::Pod&, const cluster::PodUse&) { return 1.0; });
  measurements_.Listen(traffic_, [this] { Measured(); });
  if (!classic_) measurements_.Listen(speed_, [this] { Measured(); });
}

// Updates the values that depend on the poll result.
void NetworkTraffic::Measured() {
  const load_metrics::Signal& traffic = measurements_.signal(traffic_);
  const load_metrics::Signal& speed = measurements_.signal(speed_);
  if (unmeasured_pods_) per_pod_.Learn(traffic, nodes_, *unmeasured_pods_);
  by_share_ = !classic_;
  nodes_.all().ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    if (!std::isnan(traffic.At(row)) && std::isnan(speed.At(row))) by_share_ = false;
  });
  std::vector<double> loads(nodes_.rows(), load_metrics::kNoValue);
  nodes_.all().ForEach([&](std::size_t row) { loads[row] = LoadOf(static_cast<Row>(row), traffic.At(row)); });
  median_ = load_metrics::MedianOf(loads);
}

// The compared value: bytes, or the fraction of the link's speed.
double NetworkTraffic::LoadOf(Row row, double bytes) const {
  return by_share_ ? std::min(kWholeLink * bytes / measurements_.signal(speed_).At(row), kWholeLink) : bytes;
}

framework::Status NetworkTraffic::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                        framework::ScoreColumn& scores) const {
  if (std::isnan(median_)) return {};
  const load_metrics::Signal& traffic = measurements_.signal(traffic_);
  const bool lines = LogsEachNode(feasible);
  const auto column = scores.Overwrite();
  feasible.ForEach([&](std::size_t at) {
    const Row row = static_cast<Row>(at);
    const double measured = traffic.At(row);
    const double estimated = unmeasured_pods_ ? unmeasured_pods_->At(row) * per_pod_.value() : 0;
    const double load = LoadOf(row, measured + estimated);
    column[row] = Whole(std::isnan(load) ? median_ : load);
    if (lines && !std::isnan(measured)) {
      log::Info(fmt::format("[NetworkTraffic] node '{}' bandwidth: {}", attempt.nodes().name(row),
                            Whole(measured)));
    }
  });
  return {};
}

framework::Status NetworkTraffic::Normalize(const framework::Attempt& attempt, const RowSet& feasible,
                                            framework::ScoreColumn& scores) const {
  std::int64_t highest = by_share_ && !std::isnan(median_) ? Whole(kWholeLink) : 0;
  if (highest == 0) {
    feasible.ForEach([&](std::size_t row) { highest = std::max(highest, scores.At(row)); });
  }
  if (highest == 0) {
    scores.SetAll(framework::kMaxScore);
    return {};
  }
  const auto column = scores.Mutable();
  feasible.ForEach([&](std::size_t row) {
    column[row] = framework::kMaxScore - column[row] * framework::kMaxScore / highest;
  });
  if (LogsEachNode(feasible)) {
    std::string line = "[NetworkTraffic] Nodes final score: [";
    feasible.ForEach([&](std::size_t row) {
      line += fmt::format("{}{{{} {}}}", line.ends_with('[') ? "" : " ",
                          attempt.nodes().name(static_cast<Row>(row)), column[row]);
    });
    log::Info(line + "]");
  }
  return {};
}

// --- recordings ---

Expected<framework::StateEncoder> NetworkTraffic::SaveState() {
  Saved saved{
      .unmeasured = std::nullopt, .per_pod = per_pod_.Save(nodes_), .median = median_, .by_share = by_share_};
  if (unmeasured_pods_) saved.unmeasured = unmeasured_pods_->Save();
  return EncodeLater(std::move(saved));
}

Expected<void> NetworkTraffic::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  if (saved.unmeasured.has_value() != unmeasured_pods_.has_value())
    return Invalid("unmeasured: expected in the mode rate only");
  if (unmeasured_pods_) BERTH_RETURN_IF_ERROR(unmeasured_pods_->Restore(*saved.unmeasured));
  if (!IsValue(saved.median)) return Invalid("median: expected a number");
  median_ = saved.median;
  by_share_ = saved.by_share;
  return per_pod_.Restore(saved.per_pod, nodes_);
}

}  // namespace berth::plugins
