#include "bench/load/meter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace berth::bench {
namespace {

// The signals "deviation" are computed from rates one minute apart.
constexpr double kResolution = 60;
constexpr double kHistoryStep = 60;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of all values, as stddev_over_time.
double DeviationOf(std::span<const double> values) {
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// "cpu utilization", "memory deviation", ...
bool IsOfTrimaran(std::string_view signal) {
  return (signal.starts_with("cpu ") || signal.starts_with("memory ")) &&
         (signal.ends_with(" average") || signal.ends_with(" utilization") || signal.ends_with(" deviation"));
}

}  // namespace

void Meter::Scrape() {
  const double kept = kLongWindow + kWindow + faults_.delay;
  std::bernoulli_distribution lost(faults_.lost);
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (faults_.lost > 0 && lost(random_)) continue;
    const NodeLoad& node = world_.nodes()[i];
    std::vector<Sample>& samples = samples_[i];
    samples.push_back({world_.now(), node.busy_seconds, node.received, node.memory, node.disk_seconds});
    // Twice as many are kept, so that few are moved.
    if (samples.front().time < world_.now() - 2 * kept)
      std::erase_if(samples, [&](const Sample& sample) { return sample.time < world_.now() - kept; });
  }
  for (const auto& [name, pod] : world_.pods()) {
    if (pod.node < 0) continue;
    auto& use = use_[name];
    use.push_back(pod.cores);
    if (static_cast<double>(use.size()) * kInterval > kWindow) use.pop_front();
  }
  std::erase_if(use_, [this](const auto& entry) { return !world_.pods().contains(entry.first); });
  if (world_.now() - recorded_ >= kHistoryStep) RecordHistory();
}

void Meter::RecordHistory() {
  recorded_ = world_.now();
  std::map<std::string, Record> records;
  for (const auto& [name, pod] : world_.pods()) {
    const auto use = use_.find(name);
    if (use == use_.end() || static_cast<double>(use->second.size()) * kInterval < kWindow) continue;
    Record& record = records[pod.application->name];
    record.time = world_.now();
    record.cores.push_back(*UseOf(name, false));
    record.memory = pod.application->memory_bytes;
  }
  for (auto& [application, record] : records) history_[application].push_back(std::move(record));
  for (auto& [application, history] : history_) {
    while (!history.empty() && history.front().time < world_.now() - 2 * kPeriod) history.pop_front();
  }
}

std::optional<double> Meter::UseOf(const std::string& pod, bool memory) const {
  const auto use = use_.find(pod);
  if (use == use_.end()) return std::nullopt;
  if (memory) return world_.pods().at(pod).application->memory_bytes;
  return std::accumulate(use->second.begin(), use->second.end(), 0.0) /
         static_cast<double>(use->second.size());
}

std::span<const Meter::Sample> Meter::Within(const std::vector<Sample>& samples, double window,
                                             double ago) const {
  const double end = world_.now() - ago - faults_.delay;
  const auto first = std::ranges::lower_bound(samples, end - window, {}, &Sample::time);
  const auto last = std::ranges::upper_bound(first, samples.end(), end, {}, &Sample::time);
  return {first, last};
}

std::optional<double> Meter::BusyShare(std::size_t node, double window, double ago) const {
  const auto samples = Within(samples_[node], window, ago);
  if (samples.size() < 2) return std::nullopt;  // a rate needs two samples
  const Sample &first = samples.front(), &last = samples.back();
  return (last.busy_seconds - first.busy_seconds) / (last.time - first.time) / kCores;
}

std::optional<double> Meter::ReceivedPerSecond(std::size_t node) const {
  const auto samples = Within(samples_[node], kWindow);
  if (samples.size() < 2) return std::nullopt;
  const Sample &first = samples.front(), &last = samples.back();
  return (last.received - first.received) / (last.time - first.time);
}

double Meter::DiskShare(std::size_t node) const {
  const auto samples = Within(samples_[node], kWindow);
  if (samples.size() < 2) return kDiskOfSystem;
  const Sample &first = samples.front(), &last = samples.back();
  return kDiskOfSystem + (last.disk_seconds - first.disk_seconds) / (last.time - first.time);
}

std::optional<double> Meter::AgeOfSamples(std::size_t node) const {
  const auto samples = Within(samples_[node], kWindow);
  return samples.empty() ? std::nullopt : std::optional(world_.now() - samples.back().time);
}

std::optional<double> Meter::SumOfReadings(std::size_t node) const {
  const auto samples = Within(samples_[node], kWindow);
  if (samples.empty()) return std::nullopt;
  return std::accumulate(samples.begin(), samples.end(), 0.0,
                         [](double sum, const Sample& sample) { return sum + sample.received; });
}

void Meter::AnswerAll(load_metrics::SignalTable& measurements, MonoTime now) const {
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    load_metrics::SignalAnswer answer{.signal = static_cast<load_metrics::SignalId>(i),
                                      .polled_at = now,
                                      .renumbered = true,
                                      .fresh = nullptr,
                                      .samples = {}};
    const load_metrics::SignalSpec& spec = measurements.signal(answer.signal).spec;
    switch (spec.subject) {
      case load_metrics::Subject::kNode:
        AnswerNodes(spec, answer);
        break;
      case load_metrics::Subject::kPod:
        AnswerPods(spec, answer);
        break;
      case load_metrics::Subject::kWorkload:
        if (std::fmod(world_.now(), Seconds(spec.every)) >= kInterval) continue;
        AnswerWorkloads(spec, answer);
        break;
    }
    measurements.Take(answer);
  }
}

void Meter::AnswerNodes(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const {
  std::vector<load_metrics::SeriesName> names;
  const bool of_containers = spec.name.starts_with("use of containers");
  const std::vector<double> used =
      of_containers ? ContainerUse(spec.name.ends_with("memory")) : std::vector<double>();
  for (std::size_t node = 0; node < samples_.size(); ++node) {
    const auto value = of_containers ? std::optional(used[node]) : ValueOf(spec, node);
    if (!value) continue;
    answer.samples.emplace_back(names.size(), *value);
    names.push_back({{"instance", World::NodeName(node)}});
  }
  answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
}

std::vector<double> Meter::ContainerUse(bool memory) const {
  std::vector<double> used(samples_.size());
  for (const auto& [name, use] : use_) {
    const TaskManager& pod = world_.pods().at(name);
    if (pod.node >= 0) used[static_cast<std::size_t>(pod.node)] += *UseOf(name, memory);
  }
  return used;
}

// The used cores of each pod, averaged over the window, or its memory.
void Meter::AnswerPods(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const {
  const bool memory = spec.expression.contains("memory_working_set");
  std::vector<load_metrics::SeriesName> names;
  for (const auto& [name, use] : use_) {
    answer.samples.emplace_back(names.size(), *UseOf(name, memory));
    names.push_back({{"namespace", "default"}, {"pod", name}});
  }
  answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
}

// The percentile of the usage within the horizon one period ago; of an application without pods then, within
// the last horizon.
void Meter::AnswerWorkloads(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const {
  const bool memory = spec.name.ends_with("memory");
  std::vector<load_metrics::SeriesName> names;
  for (const auto& [application, history] : history_) {
    std::vector<double> cores;
    const auto add_since = [&](double start) {
      for (const Record& record : history) {
        if (record.time >= start && record.time < start + kHorizon)
          cores.insert(cores.end(), record.cores.begin(), record.cores.end());
      }
    };
    add_since(world_.now() - kPeriod);
    if (cores.empty()) add_since(world_.now() - kHorizon);
    if (cores.empty()) continue;
    const double rank = kPercentile / 100 * static_cast<double>(cores.size() - 1);
    const auto at = cores.begin() + static_cast<std::ptrdiff_t>(rank);
    std::ranges::nth_element(cores, at);
    answer.samples.emplace_back(names.size(), memory ? history.back().memory : *at);
    names.push_back({{"namespace", "default"}, {"owner_kind", "Deployment"}, {"owner_name", application}});
  }
  answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
}

double Meter::LowestOf(const load_metrics::SignalSpec& spec, std::size_t node, double now) const {
  auto& nodes = recent_[spec.name];
  nodes.resize(samples_.size());
  std::deque<double>& values = nodes[node];
  values.push_back(now);
  if (values.size() > kLowestSamples) values.pop_front();
  return *std::ranges::min_element(values);
}

std::optional<double> Meter::ValueOf(const load_metrics::SignalSpec& spec, std::size_t node) const {
  const auto scaled = [](std::optional<double> value, double by) {
    return value ? std::optional(*value * by) : value;
  };
  constexpr std::string_view kLowest = ": lowest";
  if (spec.name.ends_with(kLowest)) {
    load_metrics::SignalSpec now = spec;
    now.name.resize(now.name.size() - kLowest.size());
    now.expression.clear();
    const auto value = ValueOf(now, node);
    return value ? std::optional(LowestOf(spec, node, *value)) : value;
  }
  if (spec.name.ends_with(": age of samples")) return AgeOfSamples(node);
  if (spec.name.ends_with(": samples in the window"))
    return static_cast<double>(Within(samples_[node], kWindow).size());
  if (IsOfTrimaran(spec.name)) return TrimaranValueOf(spec.name, node);
  if (spec.name == "cpu") return scaled(BusyShare(node), spec.expression.starts_with("100 *") ? 100 : 1);
  if (spec.name == "memory") return world_.nodes()[node].memory / kMemoryBytes;
  if (spec.name == "network-receive" || spec.name == "network-transmit")
    return scaled(ReceivedPerSecond(node), 1 / kLinkBytes);
  if (spec.name == "disk") return DiskShare(node);
  if (spec.name == "network speed") return kLinkBytes;
  if (spec.name == "network receive")
    return spec.expression.contains("sum_over_time") ? SumOfReadings(node) : ReceivedPerSecond(node);
  throw std::invalid_argument("the simulation does not support the signal " + spec.name);
}

std::optional<double> Meter::TrimaranValueOf(std::string_view signal, std::size_t node) const {
  const bool cpu = signal.starts_with("cpu ");
  const bool deviation = signal.ends_with(" deviation");
  if (cpu && !deviation) {
    const auto share = BusyShare(node, kLongWindow);
    return share ? std::optional(100 * *share) : share;
  }
  std::vector<double> percents;
  if (cpu) {
    for (double ago = 0; ago < kLongWindow; ago += kResolution) {
      if (const auto share = BusyShare(node, kWindow, ago)) percents.push_back(100 * *share);
    }
  } else {
    for (const Sample& sample : Within(samples_[node], kLongWindow))
      percents.push_back(100 * sample.memory / kMemoryBytes);
  }
  if (percents.empty()) return std::nullopt;
  return deviation ? DeviationOf(percents) : MeanOf(percents);
}

}  // namespace berth::bench
