#include "scheduler/plugins/load_aware/load_signal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <limits>

#include "kubernetes/api/requests.hpp"
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;

// Percentiles are computed from values one minute apart.
constexpr std::string_view kResolution = "1m";
// Usage per pod has many series and changes slowly, so it is polled less often.
constexpr Duration kUseWindow = std::chrono::minutes(5);
constexpr Duration kUseInterval = std::chrono::minutes(1);
constexpr std::size_t kBlock = 64;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

load_metrics::SignalSpec SpecOf(const LoadSignalArgs& args, const LoadAwareArgs& plugin) {
  const std::string window = PromQlDuration(args.window);
  load_metrics::SignalSpec spec{
      .name = args.name,
      .source = plugin.prometheus_address,
      .expression = boost::algorithm::replace_all_copy(args.query, "$window", window),
      .hold = plugin.hold_for};
  if (args.query.contains("$window")) spec.window = args.window;
  if (args.percentile) {
    spec.expression = fmt::format("quantile_over_time({}, ({})[{}:{}])", *args.percentile / 100,
                                  spec.expression, PromQlDuration(args.over), kResolution);
    spec.window += args.over;
  }
  // Guards need the metric behind the signal, which is unknown for custom queries.
  const auto built_in = BuiltInSignal(args.name);
  if (built_in && built_in->query == args.query && !GuardMetricOf(args.name).empty())
    spec.guards = GuardsOf(args.name, GuardMetricOf(args.name), window);
  return spec;
}

cluster::ResourceId ResourceOf(const LoadEstimate& estimate, cluster::SymbolTable& symbols) {
  using enum LoadEstimate::From;
  if (estimate.from == kMean || estimate.from == kNone) return {};
  return symbols.InternResource(estimate.resource);
}

std::unique_ptr<WorkloadUsage> HistoryFor(const LoadSignalArgs& args, const LoadAwareArgs& plugin,
                                          framework::Handle& handle) {
  if (args.estimate.from != LoadEstimate::From::kHistory) return nullptr;
  const std::string& resource = args.estimate.resource;
  const auto signal = handle.signals.Declare({.name = "use of workloads: " + resource,
                                              .source = plugin.prometheus_address,
                                              .expression = UseOf(resource, PromQlDuration(kUseWindow)),
                                              .window = kUseWindow,
                                              .hold = plugin.hold_for,
                                              .subject = load_metrics::Subject::kPod,
                                              .every = kUseInterval});
  return std::make_unique<WorkloadUsage>(handle, signal);
}

double AmountOf(const api::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  if (found == list.end()) return 0;
  return static_cast<double>(resource == "cpu" ? found->second.MilliValue() : found->second.Value());
}

}  // namespace

LoadSignal::LoadSignal(const LoadSignalArgs& args, const LoadAwareArgs& plugin, framework::Handle& handle)
    : args_(args),
      hysteresis_(plugin.hysteresis),
      nodes_(handle.nodes),
      measurements_(handle.signals),
      signal_(measurements_.Declare(SpecOf(args, plugin))),
      resource_(ResourceOf(args.estimate, handle.symbols)),
      history_(HistoryFor(args, plugin, handle)),
      unmeasured_pods_(
          handle, signal_,
          [this](const api::Pod& pod, const cluster::PodUse& use) { return EstimateOf(pod, use); }),
      scale_(100 / args.full) {
  measurements_.Listen(signal_, [this] { Measured(); });
  unmeasured_pods_.OnChange([this](Row row) {
    Refresh(row);
    if (changed_) changed_(row);
  });
}

bool LoadSignal::usable() const { return !std::isnan(median_); }

double LoadSignal::EstimateOf(const api::Pod& pod, const cluster::PodUse& use) const {
  using enum LoadEstimate::From;
  const LoadEstimate& estimate = args_.estimate;
  switch (estimate.from) {
    case kNone:
      return 0;
    case kMean:
      return estimate.factor;
    case kRequest:
    case kLimit:
    case kHistory:
      break;
  }
  double amount =
      estimate.from == kLimit ? AmountOf(api::ContainerLimits(pod), estimate.resource) : AmountUsed(pod);
  if (amount > 0) {
    // Otherwise the request is used.
  } else if (resource_ == cluster::kCpu) {
    amount = static_cast<double>(use.non_zero_milli_cpu);
  } else if (resource_ == cluster::kMemory) {
    amount = static_cast<double>(use.non_zero_memory);
  } else if (resource_.known()) {
    amount = static_cast<double>(use.requested.Of(resource_));
  }
  return amount * estimate.factor;
}

double LoadSignal::AmountUsed(const api::Pod& pod) const {
  if (history_ == nullptr) return 0;
  const double used = history_->Of(pod);
  if (std::isnan(used)) return 0;
  return resource_ == cluster::kCpu ? used * 1000 : used;  // cores to milli-cores
}

double LoadSignal::PercentOf(double estimate, Row row) const {
  if (estimate == 0) return 0;
  if (!resource_.known()) return estimate * unmeasured_pods_.PerPod() * scale_;
  const auto offered = nodes_.allocatable(resource_);
  if (row >= offered.size() || offered[row] <= 0) return 0;
  return 100 * estimate / static_cast<double>(offered[row]);
}

// With a target, the best score is at the target. Below it the score decreases to `target` points at an empty
// node, above it to 0 at a full node.
double LoadSignal::ScoreOf(double percent) const {
  const double used = std::clamp(percent, 0.0, 100.0);
  if (args_.prefer_high) return used;
  if (!args_.target) return 100 - used;
  const double target = *args_.target;
  if (percent > 100) return 0;
  return used <= target ? (100 - target) * used / target + target : target * (100 - used) / (100 - target);
}

// Updates the values that depend on the poll result.
void LoadSignal::Measured() {
  median_ = load_metrics::MedianOf(measurements_.signal(signal_).values) * scale_;
  const bool relieved = args_.threshold && FindHot();
  nodes_.all().ForEach([this](std::size_t row) { Refresh(static_cast<Row>(row)); });
  if (changed_) changed_(std::nullopt);
  if (relieved && cooled_down_) cooled_down_();
}

void LoadSignal::Refresh(Row row) {
  if (row >= scores_.size()) {
    const std::size_t blocks = nodes_.rows() / kBlock + 1;
    scores_.resize(blocks * kBlock, 0);
    room_.resize(blocks * kBlock, kNoLimit);
    block_room_.resize(blocks, kNoLimit);
  }
  const double expected = Expected(row);
  const bool known = !std::isnan(expected);
  scores_[row] =
      usable() ? ScoreOf(known ? expected : median_ + PercentOf(unmeasured_pods_.At(row), row)) : 0;
  known ? unknown_.Remove(row) : unknown_.Add(row);
  if (!args_.threshold) return;
  const bool closed = known && (hot_.Has(row) || expected > *args_.threshold);
  closed ? closed_.Add(row) : closed_.Remove(row);
  SetRoom(row, closed ? kNoLimit : RoomFor(expected, row));
}

void LoadSignal::SetRoom(Row row, double room) {
  const double before = std::exchange(room_[row], room);
  double& least = block_room_[row / kBlock];
  if (room <= least) {
    least = room;
  } else if (before == least) {
    const auto block = room_.begin() + row / kBlock * kBlock;
    least = *std::min_element(block, block + kBlock);
  }
}

double LoadSignal::RoomFor(double expected, Row row) const {
  if (std::isnan(expected)) return kNoLimit;
  const double per_unit = PercentOf(1, row);
  return per_unit > 0 ? (*args_.threshold - expected) / per_unit : kNoLimit;
}

void LoadSignal::AddTooHigh(double estimate, const RowSet& candidates, RowSet& out) const {
  out |= closed_;
  for (std::size_t block = 0; block < block_room_.size(); ++block) {
    if (block_room_[block] >= estimate) continue;
    for (std::size_t row = block * kBlock; row < (block + 1) * kBlock; ++row) {
      if (room_[row] < estimate) out.Add(row);
    }
  }
  out &= candidates;
}

// Returns true if a node is no longer hot.
bool LoadSignal::FindHot() {
  RowSet hot(nodes_.rows());
  nodes_.all().ForEach([&](std::size_t at) {
    const double percent = measurements_.signal(signal_).At(static_cast<Row>(at)) * scale_;
    if (percent > *args_.threshold || (hot_.Has(at) && percent > *args_.threshold - hysteresis_)) hot.Add(at);
  });
  RowSet relieved = std::exchange(hot_, std::move(hot));
  relieved -= hot_;
  return !relieved.Empty();
}

}  // namespace berth::plugins
