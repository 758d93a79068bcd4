#include "observability/metrics/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/append_format.hpp"

namespace berth::metrics {
namespace {

enum class Kind { kCounter, kGauge, kHistogram };

// Exactly one of the four is set, or several callbacks. Cells are behind pointers: maps may move their
// elements, but references must stay valid.
struct Cell {
  std::unique_ptr<Counter> counter;
  double unit = 1;  // what the counter counts, in the exported unit
  std::unique_ptr<Gauge> gauge;
  std::unique_ptr<Histogram> histogram;
  // By the labels that the owners gave, which may differ from those of the cell. The value is their sum.
  std::map<Labels, Registry::Read> reads;
};

struct Family {
  Kind kind;
  std::string help;
  std::map<Labels, Cell> cells;
  bool of_registry = false;  // a metric about the metrics themselves
};

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kCounter:
      return "counter";
    case Kind::kGauge:
      return "gauge";
    case Kind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

// Go's strconv.FormatFloat(value, 'g', -1, 64): the shortest digits that round-trip.
void AppendNumber(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Inf" : "+Inf";
    return;
  }
  char buffer[400];  // the largest double has 309 digits
  const auto scientific = std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific);
  const char* mark = std::find(buffer, scientific.ptr, 'e') + 1;
  int exponent = 0;
  std::from_chars(*mark == '+' ? mark + 1 : mark, scientific.ptr, exponent);
  if (exponent < -4 || exponent >= 6) {
    out.append(buffer, scientific.ptr);
  } else {
    out.append(buffer, std::to_chars(buffer, std::end(buffer), value, std::chars_format::fixed).ptr);
  }
}

void AppendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\' || (c == '"' && quotes)) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

void AppendHead(std::string& out, std::string_view name, std::string_view help, Kind kind) {
  out += "# HELP ";
  out += name;
  out += ' ';
  AppendEscaped(out, help, false);
  AppendFormat(out, "\n# TYPE {} {}\n", name, KindName(kind));
}

// `le` is empty except for buckets.
void AppendSample(std::string& out, std::string_view name, std::string_view suffix, const Labels& labels,
                  std::string_view le, double value) {
  out += name;
  out += suffix;
  if (!labels.empty() || !le.empty()) {
    char before = '{';
    for (const auto& [label, text] : labels) {
      out += std::exchange(before, ',');
      out += label;
      out += "=\"";
      AppendEscaped(out, text, true);
      out += '"';
    }
    if (!le.empty()) AppendFormat(out, "{}le=\"{}\"", before, le);
    out += '}';
  }
  out += ' ';
  AppendNumber(out, value);
  out += '\n';
}

void AppendHistogram(std::string& out, std::string_view name, const Labels& labels,
                     const Histogram& histogram) {
  const auto bounds = histogram.Bounds();
  std::uint64_t count = 0;
  std::string le;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    count += histogram.Count(i);
    le.clear();
    AppendNumber(le, bounds[i]);
    AppendSample(out, name, "_bucket", labels, le, static_cast<double>(count));
  }
  count += histogram.Count(bounds.size());
  AppendSample(out, name, "_bucket", labels, "+Inf", static_cast<double>(count));
  AppendSample(out, name, "_sum", labels, "", histogram.Sum());
  AppendSample(out, name, "_count", labels, "", static_cast<double>(count));
}

void AppendCell(std::string& out, std::string_view name, const Labels& labels, const Cell& cell) {
  if (cell.histogram) return AppendHistogram(out, name, labels, *cell.histogram);
  double value = 0;
  if (!cell.reads.empty()) {
    for (const auto& [given, read] : cell.reads) value += read();
  } else if (cell.counter) {
    value = static_cast<double>(cell.counter->Value()) * cell.unit;
  } else {
    value = static_cast<double>(cell.gauge->Value());
  }
  AppendSample(out, name, "", labels, "", value);
}

// "[STABLE] ..." -> "STABLE"; empty without a mark.
std::string StabilityOf(std::string_view help) {
  const auto end = help.find(']');
  return help.starts_with('[') && end != help.npos ? std::string(help.substr(1, end - 1)) : std::string();
}

}  // namespace

struct Registry::Impl {
  explicit Impl(RegistryOptions given) : options(std::move(given)) {
    if (options.tells_of_itself) AddSelfMetrics();
  }

  const RegistryOptions options;
  mutable std::mutex mutex;
  std::map<std::string, Family, std::less<>> families{};
  std::uint64_t unexpected_values = 0;
  std::map<std::string, std::uint64_t> levels{};  // families by stability level

  void AddSelfMetrics() {
    OfRegistry("cardinality_enforcement_unexpected_categorizations_total",
               "[ALPHA] The count of unexpected categorizations during cardinality enforcement.", {},
               [this] { return static_cast<double>(unexpected_values); });
    OfRegistry("disabled_metrics_total", "[BETA] The count of disabled metrics.", {},
               [this] { return static_cast<double>(options.disabled.size()); });
    OfRegistry("hidden_metrics_total", "[BETA] The count of hidden metrics.", {},
               [this] { return static_cast<double>(options.hidden.size()); });
  }
  // Adds a metric about the metrics, which is not counted itself.
  void OfRegistry(std::string_view name, std::string_view help, const Labels& labels, Registry::Read read) {
    Family& family =
        families.try_emplace(std::string(name), Family{Kind::kCounter, std::string(help), {}, true})
            .first->second;
    family.cells[labels].reads[labels] = std::move(read);
  }
  void CountLevel(const std::string& level) {
    if (!options.tells_of_itself || level.empty()) return;
    const auto [count, is_new] = levels.try_emplace(level, 0);
    ++count->second;
    if (!is_new) return;
    OfRegistry("registered_metrics_total",
               "[BETA] The count of registered metrics broken by stability level and deprecation version.",
               {{"deprecated_version", ""}, {"stability_level", level}},
               [&number = count->second] { return static_cast<double>(number); });
  }

  // The cell with this name and these labels, new (all null) if it did not exist. The lock must be held.
  Cell& Find(Kind kind, std::string_view name, std::string_view help, Labels labels) {
    auto found = families.find(name);
    if (found == families.end()) {
      found = families.emplace(std::string(name), Family{kind, std::string(help), {}}).first;
      CountLevel(StabilityOf(help));
    }
    if (found->second.kind != kind) {
      fmt::print(stderr, "metric {} is used as two different kinds\n", name);
      std::abort();
    }
    std::ranges::sort(labels);
    unexpected_values += Confine(found->first, labels);
    return found->second.cells[labels];
  }
  void SetCallback(Kind kind, std::string_view name, std::string_view help, Labels labels,
                   Registry::Read read) {
    std::ranges::sort(labels);
    Find(kind, name, help, labels).reads[std::move(labels)] = std::move(read);
  }
  // Returns the number of values that are not allowed.
  std::uint64_t Confine(const std::string& name, Labels& labels) const {
    std::uint64_t unexpected = 0;
    if (options.allowed_values.empty()) return unexpected;
    for (auto& [label, value] : labels) {
      const auto allowed = options.allowed_values.find({name, label});
      if (allowed == options.allowed_values.end() || allowed->second.contains(value)) continue;
      value = "unexpected";
      ++unexpected;
    }
    return unexpected;
  }
  bool Shown(const std::string& name) const {
    return !options.disabled.contains(name) && !options.hidden.contains(name);
  }
};

Registry::Registry(RegistryOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Registry::~Registry() = default;

metrics::Counter& Registry::Counter(std::string_view name, std::string_view help, const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  Cell& cell = impl_->Find(Kind::kCounter, name, help, labels);
  if (!cell.counter) cell.counter = std::make_unique<metrics::Counter>();
  return *cell.counter;
}

metrics::Counter& Registry::NanosecondCounter(std::string_view name, std::string_view help,
                                              const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  Cell& cell = impl_->Find(Kind::kCounter, name, help, labels);
  if (!cell.counter) cell.counter = std::make_unique<metrics::Counter>();
  cell.unit = 1e-9;
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
  impl_->SetCallback(Kind::kGauge, name, help, labels, std::move(read));
}

void Registry::CallbackCounter(std::string_view name, std::string_view help, const Labels& labels,
                               Read read) {
  std::scoped_lock lock(impl_->mutex);
  impl_->SetCallback(Kind::kCounter, name, help, labels, std::move(read));
}

void Registry::RemoveCallback(std::string_view name, const Labels& labels) {
  std::scoped_lock lock(impl_->mutex);
  const auto family = impl_->families.find(name);
  if (family == impl_->families.end()) return;
  Labels given = labels;
  std::ranges::sort(given);
  Labels confined = given;
  impl_->Confine(family->first, confined);
  const auto found = family->second.cells.find(confined);
  if (found == family->second.cells.end()) return;
  Cell& cell = found->second;
  cell.reads.erase(given);
  if (cell.reads.empty() && !cell.counter && !cell.gauge && !cell.histogram)
    family->second.cells.erase(found);
}

std::string Registry::Expose() const {
  std::string text;
  std::scoped_lock lock(impl_->mutex);
  for (const auto& [name, family] : impl_->families) {
    if (family.cells.empty() || !impl_->Shown(name)) continue;
    AppendHead(text, name, family.help, family.kind);
    for (const auto& [labels, cell] : family.cells) AppendCell(text, name, labels, cell);
  }
  return text;
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
