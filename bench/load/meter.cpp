#include "bench/load/meter.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace berth::bench {

void Meter::Scrape() {
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const NodeLoad& node = world_.nodes()[i];
    samples_[i].push_back({world_.now(), node.busy_seconds, node.received});
    while (samples_[i].front().time < world_.now() - kWindow) samples_[i].pop_front();
  }
  for (const auto& [name, pod] : world_.pods()) {
    if (pod.node < 0) continue;
    auto& use = use_[name];
    use.push_back(pod.cores);
    if (static_cast<double>(use.size()) * kInterval > kWindow) use.pop_front();
  }
  std::erase_if(use_, [this](const auto& entry) { return !world_.pods().contains(entry.first); });
}

std::optional<double> Meter::BusyShare(std::size_t node) const {
  const auto& samples = samples_[node];
  if (samples.size() < 2) return std::nullopt;  // a rate needs two samples
  const Sample &first = samples.front(), &last = samples.back();
  return (last.busy_seconds - first.busy_seconds) / (last.time - first.time) / kCores;
}

std::optional<double> Meter::ReceivedPerSecond(std::size_t node) const {
  const auto& samples = samples_[node];
  if (samples.size() < 2) return std::nullopt;
  const Sample &first = samples.front(), &last = samples.back();
  return (last.received - first.received) / (last.time - first.time);
}

std::optional<double> Meter::SumOfReadings(std::size_t node) const {
  const auto& samples = samples_[node];
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
    if (spec.subject == load_metrics::Subject::kPod) {
      AnswerPods(spec, answer);
    } else {
      AnswerNodes(spec, answer);
    }
    measurements.Take(answer);
  }
}

void Meter::AnswerNodes(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const {
  std::vector<load_metrics::SeriesName> names;
  for (std::size_t node = 0; node < samples_.size(); ++node) {
    const auto value = ValueOf(spec, node);
    if (!value) continue;
    answer.samples.emplace_back(names.size(), *value);
    names.push_back({{"instance", World::NodeName(node)}});
  }
  answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
}

// The used cores of each pod, averaged over the window, or its memory.
void Meter::AnswerPods(const load_metrics::SignalSpec& spec, load_metrics::SignalAnswer& answer) const {
  const bool memory = spec.expression.contains("memory_working_set");
  std::vector<load_metrics::SeriesName> names;
  for (const auto& [name, use] : use_) {
    const double sum = std::accumulate(use.begin(), use.end(), 0.0);
    answer.samples.emplace_back(names.size(), memory ? world_.pods().at(name).application->memory_bytes
                                                     : sum / static_cast<double>(use.size()));
    names.push_back({{"namespace", "default"}, {"pod", name}});
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
  if (spec.name.ends_with(": age of samples")) return 0;
  if (spec.name.ends_with(": samples in the window")) return static_cast<double>(samples_[node].size());
  if (spec.name == "cpu") return scaled(BusyShare(node), spec.expression.starts_with("100 *") ? 100 : 1);
  if (spec.name == "memory") return world_.nodes()[node].memory / kMemoryBytes;
  if (spec.name == "network-receive" || spec.name == "network-transmit")
    return scaled(ReceivedPerSecond(node), 1 / kLinkBytes);
  if (spec.name == "disk") return 0.1;
  if (spec.name == "network speed") return kLinkBytes;
  if (spec.name == "network receive")
    return spec.expression.contains("sum_over_time") ? SumOfReadings(node) : ReceivedPerSecond(node);
  throw std::invalid_argument("the simulation does not support the signal " + spec.name);
}

}  // namespace berth::bench
