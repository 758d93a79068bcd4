#include "scheduler/plugins/load_aware/load_signal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>

#include "kubernetes/api/requests.hpp"
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;

// Percentiles are computed from values one minute apart.
constexpr std::string_view kResolution = "1m";
// Usage per pod has many series and changes slowly, so it is polled less often.
constexpr Duration kUseWindow = std::chrono::minutes(5);
constexpr Duration kUseInterval = std::chrono::minutes(1);

cluster::ResourceId ResourceOf(const LoadEstimate& estimate, cluster::SymbolTable& symbols) {
  using enum LoadEstimate::From;
  if (estimate.from == kMean || estimate.from == kNone) return {};
  return symbols.InternResource(estimate.resource);
}

std::unique_ptr<WorkloadUsage> HistoryFor(const LoadSignalArgs& args, const LoadAwareArgs& plugin,
                                          framework::Handle& handle) {
  if (args.estimate.from != LoadEstimate::From::kHistory) return nullptr;
  const auto signal = handle.signals.Declare(PodUsageSpecOf(args.estimate.resource, plugin));
  return std::make_unique<WorkloadUsage>(handle, signal);
}

double AmountOf(const api::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  if (found == list.end()) return 0;
  return static_cast<double>(resource == "cpu" ? found->second.MilliValue() : found->second.Value());
}

}  // namespace

load_metrics::SignalSpec SignalSpecOf(const LoadSignalArgs& args, const LoadAwareArgs& plugin) {
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

load_metrics::SignalSpec PodUsageSpecOf(const std::string& resource, const LoadAwareArgs& plugin) {
  return {.name = "use of workloads: " + resource,
          .source = plugin.prometheus_address,
          .expression = UseOf(resource, PromQlDuration(kUseWindow)),
          .window = kUseWindow,
          .hold = plugin.hold_for,
          .subject = load_metrics::Subject::kPod,
          .every = kUseInterval};
}

bool IsShareOfLink(const LoadSignalArgs& args) {
  const auto built_in = BuiltInSignal(args.name);
  return built_in && built_in->query == args.query && args.full == 1 && !TrafficOfPods(args.name, "").empty();
}

load_metrics::SignalSpec PodTrafficSpecOf(const LoadSignalArgs& args, const LoadAwareArgs& plugin) {
  return {.name = "traffic of pods: " + args.name,
          .source = plugin.prometheus_address,
          .expression = TrafficOfPods(args.name, PromQlDuration(kUseWindow)),
          .window = kUseWindow,
          .hold = plugin.hold_for,
          .subject = load_metrics::Subject::kPod,
          .every = kUseInterval};
}

load_metrics::SignalSpec LinkSpeedSpecOf(const LoadSignalArgs& args, Link link, const LoadAwareArgs& plugin) {
  return {.name = args.name + (link == Link::kSlowest ? ": slowest link" : ": fastest link"),
          .source = plugin.prometheus_address,
          .expression = LinkSpeed(args.name, link, PromQlDuration(kUseWindow)),
          .window = kUseWindow,
          .hold = plugin.hold_for,
          .every = kUseInterval};
}

LoadSignal::LoadSignal(const LoadSignalArgs& args, const LoadAwareArgs& plugin, framework::Handle& handle)
    : args_(args),
      hysteresis_(plugin.hysteresis),
      max_estimate_(plugin.max_estimate),
      nodes_(handle.nodes),
      measurements_(handle.signals),
      signal_(measurements_.Declare(SignalSpecOf(args, plugin))),
      resource_(ResourceOf(args.estimate, handle.symbols)),
      history_(HistoryFor(args, plugin, handle)),
      unmeasured_pods_(
          handle, signal_,
          [this](const api::Pod& pod, const cluster::PodUse& use) { return EstimateOf(pod, use); }),
      scale_(100 / args.full) {
  measurements_.Listen(signal_, [this] { OnPoll(); });
  unmeasured_pods_.OnChange([this](Row row) { Refresh(row); });
}

bool LoadSignal::usable() const { return !std::isnan(median_); }

double LoadSignal::EstimateOf(const api::Pod& pod, const cluster::PodUse& use) const {
  using enum LoadEstimate::From;
  const LoadEstimate& estimate = args_.estimate;
  switch (estimate.from) {
    case kNone:
      return 0;
    case kMean:
      return 1;
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
  if (args_.estimate.from == LoadEstimate::From::kMean)
    return estimate * args_.estimate.factor * per_pod_.value() * scale_;
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

// Updates the values that depend on the poll result. The sums of unmeasured_pods_ are up to date: it listens
// to the signal, too, and was constructed before.
void LoadSignal::OnPoll() {
  const load_metrics::Signal& signal = measurements_.signal(signal_);
  median_ = load_metrics::MedianOf(signal.values) * scale_;
  if (args_.estimate.from == LoadEstimate::From::kMean) per_pod_.Learn(signal, nodes_, unmeasured_pods_);
  nodes_.all().ForEach([this](std::size_t row) { Refresh(static_cast<Row>(row)); });
  if (polled_) polled_();
}

void LoadSignal::Refresh(Row row) {
  if (row >= scores_.size()) scores_.resize(nodes_.rows(), 0);
  const double measured = Measured(row);
  const bool known = !std::isnan(measured);
  scores_[row] = usable() ? ScoreOf((known ? measured : median_) + Estimated(row)) : 0;
  known ? unknown_.Remove(row) : unknown_.Add(row);
  if (!args_.threshold) return;
  const bool hot = known && IsHot(measured, row);
  hot ? hot_.Add(row) : hot_.Remove(row);
  const double placed_since = std::min(PercentOf(unmeasured_pods_.PlacedSince(row), row), max_estimate_);
  const bool filled = known && !hot && measured + placed_since > *args_.threshold;
  filled ? filled_.Add(row) : filled_.Remove(row);
}

bool LoadSignal::IsHot(double measured, Row row) const {
  return measured > *args_.threshold || (hot_.Has(row) && measured > *args_.threshold - hysteresis_);
}

// --- recordings ---

// Scores and sets are saved, too: they were computed with the allocatable amounts of the last poll.
LoadSignal::Saved LoadSignal::Save() {
  Saved saved{.history = std::nullopt,
              .unmeasured = unmeasured_pods_.Save(),
              .per_pod = per_pod_.Save(nodes_),
              .median = median_,
              .scores = scores_,
              .unknown = RowsIn(unknown_),
              .hot = RowsIn(hot_),
              .filled = RowsIn(filled_)};
  if (history_ != nullptr) saved.history = history_->Save();
  return saved;
}

berth::Expected<void> LoadSignal::Restore(const Saved& saved) {
  if (saved.history.has_value() != (history_ != nullptr))
    return Invalid("history: expected as the arguments of the signal have it");
  if (history_ != nullptr) BERTH_RETURN_IF_ERROR(history_->Restore(*saved.history));
  BERTH_RETURN_IF_ERROR(unmeasured_pods_.Restore(saved.unmeasured));
  BERTH_RETURN_IF_ERROR(per_pod_.Restore(saved.per_pod, nodes_));
  if (!IsValue(saved.median)) return Invalid("median: expected a number");
  median_ = saved.median;
  if (saved.scores.size() > nodes_.rows() || !AreBetween(0, saved.scores, 100))
    return Invalid("scores: expected numbers from 0 to 100 by row");
  scores_ = saved.scores;
  BERTH_TRY(unknown_, RowSetOf(saved.unknown, nodes_, "unknown"));
  BERTH_TRY(hot_, RowSetOf(saved.hot, nodes_, "hot"));
  BERTH_TRY(filled_, RowSetOf(saved.filled, nodes_, "filled"));
  return {};
}

}  // namespace berth::plugins
