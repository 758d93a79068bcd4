#include "scheduler/plugins/trimaran/measured_load.hpp"

#include <cmath>

namespace berth::plugins {

MeasuredLoad::MeasuredLoad(const TrimaranArgs& args, NodeLoad load, framework::Handle& handle)
    : median_if_unmeasured_(args.median_if_unmeasured),
      measurements_(handle.signals),
      average_(measurements_.Declare(LoadSignalOf(args, load, LoadStatistic::kAverage))),
      deviation_(measurements_.Declare(LoadSignalOf(args, load, LoadStatistic::kDeviation))) {
  measurements_.Listen(average_, [this] { OnPoll(); });
  measurements_.Listen(deviation_, [this] { OnPoll(); });
}

void MeasuredLoad::OnPoll() {
  median_average_ = load_metrics::MedianOf(measurements_.signal(average_).values);
  median_deviation_ = load_metrics::MedianOf(measurements_.signal(deviation_).values);
  if (std::isnan(median_deviation_)) median_deviation_ = 0;
}

bool MeasuredLoad::usable() const { return !std::isnan(median_average_); }

double MeasuredLoad::Average(cluster::Row row) const {
  const double value = measurements_.signal(average_).At(row);
  return std::isnan(value) && median_if_unmeasured_ ? median_average_ : value;
}

double MeasuredLoad::Deviation(cluster::Row row) const {
  if (std::isnan(measurements_.signal(average_).At(row))) return median_deviation_;
  const double value = measurements_.signal(deviation_).At(row);
  return std::isnan(value) ? 0 : value;
}

Expected<void> MeasuredLoad::Restore(const Saved& saved) {
  if (std::isinf(saved.median_average) || !std::isfinite(saved.median_deviation))
    return Invalid("expected the median of averages, and a finite one of deviations");
  median_average_ = saved.median_average;
  median_deviation_ = saved.median_deviation;
  return {};
}

double AllocatableOf(const cluster::NodeTable& nodes, NodeLoad load, cluster::Row row) {
  const bool cpu = load == NodeLoad::kCpu;
  const auto column = nodes.allocatable(cpu ? cluster::kCpu : cluster::kMemory);
  const double amount = row < column.size() ? static_cast<double>(column[row]) : 0;
  return cpu ? amount : amount * kMebibytesPerByte;
}

}  // namespace berth::plugins
