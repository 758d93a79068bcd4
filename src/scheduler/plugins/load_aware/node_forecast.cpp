#include "scheduler/plugins/load_aware/node_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/plugins/load_aware/forecast_query.hpp"
#include "scheduler/plugins/load_aware/load_signal.hpp"
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/saved_rows.hpp"

namespace berth::plugins {

using cluster::Row;

namespace {

// In the units of the node table: milli-cores, bytes.
double InTableUnits(ForecastResource kind, double use) {
  return kind == ForecastResource::kCpu ? 1000 * use : use;
}

// Added before scores are rounded down, because shares of the weights are not exact.
constexpr double kRounding = 0.001;

// In a saved state; measurements are far below it.
constexpr double kMostPercent = 1e12;

double FreePercent(double percent) { return 100 - std::clamp(percent, 0.0, 100.0); }

}  // namespace

NodeForecast::NodeForecast(const LoadAwareArgs& args, framework::Handle& handle)
    : percentile_(args.forecast->percentile),
      nodes_(handle.nodes),
      measurements_(handle.signals),
      workloads_(std::make_unique<WorkloadForecasts>(args.forecast->workload_labels, kMostForecastWorkloads)),
      shapes_(handle.NewBuffer<ShapeCache>()) {
  for (const ForecastResource kind : {ForecastResource::kCpu, ForecastResource::kMemory}) {
    const std::int64_t weight =
        kind == ForecastResource::kCpu ? args.forecast->cpu_weight : args.forecast->memory_weight;
    if (weight == 0) continue;
    weights_ += weight;
    resources_.push_back(MakeResource(kind, args, handle));
    resources_.back().weight = weight;
  }
  total_weight_ = weights_;
  Grow();
  for (Resource& resource : resources_) {
    measurements_.Listen(resource.forecast, [this, &resource] { OnForecasts(resource); });
    measurements_.Listen(resource.busy, [this, &resource] { OnNodeUse(resource); });
    measurements_.Listen(resource.container_use, [this, &resource] { OnNodeUse(resource); });
  }
  nodes_.Observe(*this);
}

NodeForecast::~NodeForecast() { nodes_.Forget(*this); }

NodeForecast::Resource NodeForecast::MakeResource(ForecastResource kind, const LoadAwareArgs& args,
                                                  framework::Handle& handle) {
  const bool cpu = kind == ForecastResource::kCpu;
  Resource resource{
      .kind = kind, .name = cpu ? "cpu" : "memory", .id = cpu ? cluster::kCpu : cluster::kMemory};
  // Shared with the signal of LoadAware if that has the default query.
  resource.busy = measurements_.Declare(SignalSpecOf(*BuiltInSignal(resource.name), args));
  resource.container_use = measurements_.Declare(ContainerUseSpecOf(resource.name, args));
  resource.forecast = measurements_.Declare(ForecastSpecOf(resource.name, args));
  if (handle.metrics == nullptr) return resource;
  const auto gauge = [&](const char* state) {
    return &handle.metrics->Gauge(
        "berth_forecast_workloads",
        "[ALPHA] Workloads in the last result of the forecast query, by state: known, "
        "ignored (beyond the limit).",
        {{"resource", resource.name}, {"state", state}});
  };
  resource.workloads = gauge("known");
  resource.ignored = gauge("ignored");
  return resource;
}

// --- pods ---

std::int64_t NodeForecast::AmountOf(const Resource& resource, const Workload& workload,
                                    const cluster::PodUse& use) {
  const auto& forecast = workload.forecast[static_cast<std::size_t>(resource.kind)];
  if (forecast) return *forecast;
  const std::int64_t request =
      resource.kind == ForecastResource::kCpu ? use.non_zero_milli_cpu : use.non_zero_memory;
  return std::max<std::int64_t>(request, 0);
}

void NodeForecast::OnPodAdded(Row row, const cluster::PlacedPod& pod) {
  WorkloadPtr workload = workloads_->Of(*pod.pod);
  Grow();
  for (Resource& resource : resources_) {
    resource.pods[row] += AmountOf(resource, *workload, pod.use());
    Refresh(resource, row);
  }
  const bool added = pods_.emplace(&pod, ForecastPod{row, std::move(workload)}).second;
  BERTH_CHECK(added, pod.pod->metadata.name, row);
}

// Pods that were in the table before this object are not known here.
void NodeForecast::OnPodRemoved(Row row, const cluster::PlacedPod& pod) {
  const auto found = pods_.find(&pod);
  if (found == pods_.end()) return;
  BERTH_CHECK(found->second.row == row, pod.pod->metadata.name, row, found->second.row);
  for (Resource& resource : resources_) {
    resource.pods[row] -= AmountOf(resource, *found->second.workload, pod.use());
    Refresh(resource, row);
  }
  pods_.erase(found);
}

// The row may have belonged to another node.
void NodeForecast::OnNodeAdded(Row row) {
  Grow();
  for (Resource& resource : resources_) {
    BERTH_DCHECK(resource.pods[row] == 0, row);
    resource.beside[row] = load_metrics::MedianOf(resource.beside);
    if (std::isnan(resource.beside[row])) resource.beside[row] = 0;
    Refresh(resource, row);
  }
}

// --- polls ---

void NodeForecast::OnForecasts(Resource& resource) {
  const load_metrics::Signal& signal = measurements_.signal(resource.forecast);
  const WorkloadForecasts::Taken taken = workloads_->Take(resource.kind, signal.series);
  const std::size_t ignored = taken.ignored + signal.coverage.dropped_series;
  if (ignored > 0 && !std::exchange(resource.ignored_logged, true)) {
    log::Warning("More workloads than the forecast stores; the others count with their requests",
                 {{"resource", resource.name}, {"known", taken.known}, {"ignored", ignored}});
  }
  if (resource.workloads != nullptr) {
    resource.workloads->Set(static_cast<std::int64_t>(taken.known));
    resource.ignored->Set(static_cast<std::int64_t>(ignored));
  }
  SumForecasts(resource);
  RefreshAll(resource);
}

void NodeForecast::SumForecasts(Resource& resource) {
  std::ranges::fill(resource.pods, 0);
  for (const auto& [pod, placed] : pods_)
    resource.pods[placed.row] += AmountOf(resource, *placed.workload, pod->use());
}

void NodeForecast::OnNodeUse(Resource& resource) {
  Grow();
  const load_metrics::Signal& busy = measurements_.signal(resource.busy);
  const load_metrics::Signal& used = measurements_.signal(resource.container_use);
  const auto offered = nodes_.allocatable(resource.id);
  std::ranges::fill(resource.beside, load_metrics::kNoValue);
  nodes_.all().ForEach([&](std::size_t at) {
    const auto row = static_cast<Row>(at);
    const double offer = at < offered.size() ? static_cast<double>(offered[at]) : 0;
    if (offer <= 0) return;
    const double percent = 100 * (busy.At(row) - InTableUnits(resource.kind, used.At(row)) / offer);
    resource.beside[at] = std::isnan(percent) ? percent : std::max(percent, 0.0);
  });
  const double median = load_metrics::MedianOf(resource.beside);
  for (double& percent : resource.beside) {
    if (std::isnan(percent)) percent = std::isnan(median) ? 0 : median;
  }
  RefreshAll(resource);
}

// --- columns ---

void NodeForecast::Grow() {
  const std::size_t rows = nodes_.rows();
  if (blocks_.size() >= BlocksOf(rows) && resources_.front().pods.size() >= rows) return;
  const std::size_t before = resources_.front().pods.size();
  blocks_.resize(BlocksOf(rows));
  for (Resource& resource : resources_) {
    resource.pods.resize(rows, 0);
    resource.beside.resize(rows, 0);
  }
  for (std::size_t row = before; row < rows; ++row) {
    for (const Resource& resource : resources_) Refresh(resource, static_cast<Row>(row));
  }
}

// A node without the resource is full.
NodeForecast::Load NodeForecast::LoadOf(const Resource& resource, Row row) const {
  const auto offered = nodes_.allocatable(resource.id);
  const double offer = row < offered.size() ? static_cast<double>(offered[row]) : 0;
  if (offer <= 0) return {.expected = 100, .per_unit = 0};
  return {.expected = resource.beside[row] + 100 * static_cast<double>(resource.pods[row]) / offer,
          .per_unit = 100 / offer};
}

void NodeForecast::Refresh(const Resource& resource, Row row) {
  const auto axis = static_cast<std::size_t>(&resource - resources_.data());
  const Load load = LoadOf(resource, row);
  const double share = static_cast<double>(resource.weight) / static_cast<double>(total_weight_);
  ForecastBlock& block = blocks_[row / kBlockRows];
  const double base = axis == 0 ? ForecastBlock::At(block.base, row) : 0;
  ForecastBlock::At(block.axes[axis].room, row) = static_cast<float>(base + share * (100 - load.expected));
  ForecastBlock::At(block.axes[axis].points_per_unit, row) = static_cast<float>(share * load.per_unit);
}

void NodeForecast::RefreshAll(const Resource& resource) {
  for (std::size_t row = 0; row < resource.pods.size(); ++row) Refresh(resource, static_cast<Row>(row));
}

void NodeForecast::SetTotalWeight(std::int64_t weight) {
  if (weight == total_weight_) return;
  total_weight_ = weight;
  for (const Resource& resource : resources_) RefreshAll(resource);
}

void NodeForecast::SetBase(Row row, double base) {
  Grow();
  ForecastBlock::At(blocks_[row / kBlockRows].base, row) = static_cast<float>(base + kRounding);
  Refresh(resources_.front(), row);
}

// --- recordings ---

Expected<NodeForecast::Saved> NodeForecast::Save() {
  if (workloads_->size() >= kMostForecastWorkloads)
    return Invalid("forecast: more workloads were met than the forecast stores");
  Saved saved;
  for (const Resource& resource : resources_) {
    RefreshAll(resource);
    saved.push_back(resource.beside);
  }
  return saved;
}

Expected<void> NodeForecast::Restore(const Saved& saved) {
  Grow();
  if (saved.size() != resources_.size()) return Invalid("forecast: expected numbers for each resource");
  for (std::size_t i = 0; i < saved.size(); ++i) {
    Resource& resource = resources_[i];
    if (saved[i].size() != resource.beside.size() || !AreBetween(0, saved[i], kMostPercent))
      return Invalid(fmt::format("forecast: {}: expected percentages by row", resource.name));
    resource.beside = saved[i];
    workloads_->Take(resource.kind, measurements_.signal(resource.forecast).series);
  }
  for (Resource& resource : resources_) {
    SumForecasts(resource);
    RefreshAll(resource);
  }
  return {};
}

// --- decisions ---

const WorkloadPtr& NodeForecast::WorkloadOfAttempt(const framework::Attempt& attempt) const {
  const cluster::PodShapePtr& shape = attempt.pod().shape;
  auto& slots = attempt.Buffer(shapes_).slots;
  constexpr unsigned kAligned = 6;  // shapes are larger than 64 bytes
  ShapeCache::Slot& slot = slots[(reinterpret_cast<std::uintptr_t>(shape.get()) >> kAligned) % slots.size()];
  // A later shape at the same address has another owner.
  if (slot.workload == nullptr || slot.shape.owner_before(shape) || shape.owner_before(slot.shape)) {
    slot.shape = shape;
    slot.workload = workloads_->Of(*attempt.pod().pod);
  }
  return slot.workload;
}

void NodeForecast::Score(const framework::Attempt& attempt, const RowSet& feasible,
                         std::span<std::uint8_t> column) const {
  const Workload& workload = *WorkloadOfAttempt(attempt);
  std::array<float, kForecastResources> own{};
  std::size_t count = 0;
  for (const Resource& resource : resources_)
    own[count++] = static_cast<float>(AmountOf(resource, workload, attempt.pod().use()));
  ScoreForecast(blocks_, std::span(own).first(count), feasible, column);
}

void NodeForecast::AddParts(const framework::Attempt& attempt, const RowSet& feasible,
                            std::vector<framework::ScorePart>& parts) const {
  const std::size_t rows = attempt.nodes().rows();
  for (const Resource& resource : resources_) {
    framework::ScorePart& part = parts.emplace_back(framework::ScorePart{
        .name = resource.name + " forecast",
        .weight = resource.weight,
        .load = std::vector<double>(rows, load_metrics::kNoValue),
        .estimated = std::vector<double>(rows),
        .score = std::vector<double>(rows),
        .note = NoteOn(resource, attempt),
    });
    const auto own =
        static_cast<double>(AmountOf(resource, *WorkloadOfAttempt(attempt), attempt.pod().use()));
    feasible.ForEach([&](std::size_t row) {
      if (row >= resource.pods.size()) return;
      const Load load = LoadOf(resource, static_cast<Row>(row));
      part.load[row] = load.expected + own * load.per_unit;
      part.estimated[row] = part.load[row] - resource.beside[row];
      part.score[row] = FreePercent(part.load[row]);
    });
  }
}

std::string NodeForecast::NoteOn(const Resource& resource, const framework::Attempt& attempt) const {
  const Workload& workload = *WorkloadOfAttempt(attempt);
  const std::int64_t amount = AmountOf(resource, workload, attempt.pod().use());
  constexpr double kMebibyte = 1024.0 * 1024.0;
  const std::string shown = resource.kind == ForecastResource::kCpu
                                ? fmt::format("{}m", amount)
                                : fmt::format("{:.0f}Mi", static_cast<double>(amount) / kMebibyte);
  if (workload.forecast[static_cast<std::size_t>(resource.kind)])
    return fmt::format("the pod counts with {}, percentile {} of the history of {}", shown, percentile_,
                       workload.name);
  if (workload.name.empty())
    return fmt::format("the pod counts with {}, its request: it belongs to no workload", shown);
  return fmt::format("the pod counts with {}, its request: {} has no history", shown, workload.name);
}

}  // namespace berth::plugins
