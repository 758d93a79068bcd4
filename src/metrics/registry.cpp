#include "metrics/registry.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

namespace berth::metrics {
namespace {

enum class Kind { kCounter, kGauge, kHistogram };

// One of the four is set. Cells live behind pointers: maps may move, references handed out may not.
struct Cell {
  std::unique_ptr<Counter> counter;
  std::unique_ptr<Gauge> gauge;
  std::unique_ptr<Histogram> histogram;
  Registry::Read read;
};

struct Family {
  Kind kind;
  std::string help;
  std::map<Labels, Cell> cells;
};

prometheus::ClientMetric::Histogram Cumulated(const Histogram& histogram) {
  prometheus::ClientMetric::Histogram out;
  const auto bounds = histogram.Bounds();
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    out.sample_count += histogram.Count(i);
    out.bucket.push_back({out.sample_count, bounds[i]});
  }
  out.sample_count += histogram.Count(bounds.size());
  out.sample_sum = histogram.Sum();
  return out;
}

prometheus::ClientMetric Sample(const Labels& labels, const Cell& cell, Kind kind) {
  prometheus::ClientMetric out;
  for (const auto& [name, value] : labels) out.label.push_back({name, value});
  if (cell.histogram) {
    out.histogram = Cumulated(*cell.histogram);
    return out;
  }
  const double value = cell.read      ? cell.read()
                       : cell.counter ? static_cast<double>(cell.counter->Value())
                                      : static_cast<double>(cell.gauge->Value());
  (kind == Kind::kCounter ? out.counter.value : out.gauge.value) = value;
  return out;
}

prometheus::MetricType TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kCounter:
      return prometheus::MetricType::Counter;
    case Kind::kGauge:
      return prometheus::MetricType::Gauge;
    case Kind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

struct Registry::Impl {
  mutable std::mutex mutex;
  std::map<std::string, Family, std::less<>> families;

  // The cell of that name and those labels, new (all null) if it was not there. The lock is held.
  Cell& Find(Kind kind, std::string_view name, std::string_view help, const Labels& labels) {
    auto found = families.find(name);
    if (found == families.end()) {
      found = families.emplace(std::string(name), Family{kind, std::string(help), {}}).first;
    }
    if (found->second.kind != kind) {
      fmt::print(stderr, "metric {} is used as two different kinds\n", name);
      std::abort();
    }
    return found->second.cells[labels];
  }
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

metrics::Counter& Registry::Counter(std::string_view name, std::string_view help, const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  Cell& cell = impl_->Find(Kind::kCounter, name, help, labels);
  if (!cell.counter) cell.counter = std::make_unique<metrics::Counter>();
  return *cell.counter;
}

metrics::Gauge& Registry::Gauge(std::string_view name, std::string_view help, const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  Cell& cell = impl_->Find(Kind::kGauge, name, help, labels);
  if (!cell.gauge) cell.gauge = std::make_unique<metrics::Gauge>();
  return *cell.gauge;
}

metrics::Histogram& Registry::Histogram(std::string_view name, std::string_view help,
                                        std::span<const double> bounds, const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  Cell& cell = impl_->Find(Kind::kHistogram, name, help, labels);
  if (!cell.histogram) cell.histogram = std::make_unique<metrics::Histogram>(bounds);
  return *cell.histogram;
}

void Registry::CallbackGauge(std::string_view name, std::string_view help, const Labels& labels, Read read) {
  std::scoped_lock lock(impl_->mutex);
  impl_->Find(Kind::kGauge, name, help, labels).read = std::move(read);
}

void Registry::CallbackCounter(std::string_view name, std::string_view help, const Labels& labels,
                               Read read) {
  std::scoped_lock lock(impl_->mutex);
  impl_->Find(Kind::kCounter, name, help, labels).read = std::move(read);
}

void Registry::RemoveCallback(std::string_view name, const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  const auto family = impl_->families.find(name);
  if (family == impl_->families.end()) return;
  const auto cell = family->second.cells.find(labels);
  if (cell == family->second.cells.end()) return;
  cell->second.read = nullptr;
  if (!cell->second.counter && !cell->second.gauge) family->second.cells.erase(cell);
}

std::string Registry::Expose() const {
  std::vector<prometheus::MetricFamily> families;
  {
    std::scoped_lock lock(impl_->mutex);
    for (const auto& [name, family] : impl_->families) {
      if (family.cells.empty()) continue;
      auto& out = families.emplace_back(prometheus::MetricFamily{name, family.help, TypeOf(family.kind), {}});
      for (const auto& [labels, cell] : family.cells) out.metric.push_back(Sample(labels, cell, family.kind));
    }
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

void Registry::Reset() {
  std::scoped_lock lock(impl_->mutex);
  for (auto& [name, family] : impl_->families) {
    for (auto& [labels, cell] : family.cells) {
      if (cell.counter) cell.counter->Reset();
      if (cell.histogram) cell.histogram->Reset();
    }
  }
}

std::vector<double> ExponentialBuckets(double start, double factor, int count) {
  std::vector<double> bounds;
  bounds.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i, start *= factor) bounds.push_back(start);
  return bounds;
}

}  // namespace berth::metrics
