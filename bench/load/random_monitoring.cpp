#include "bench/load/random_monitoring.hpp"

#include <algorithm>
#include <memory>

namespace berth::bench {
namespace {

using load_metrics::SignalId;
using load_metrics::Subject;
using namespace std::chrono_literals;

constexpr Duration kWindow = 5min;  // of rates, and of Prometheus' lookback
constexpr Duration kPollInterval = 15s;
constexpr Duration kUndisturbed = kWindow + 100s;
constexpr double kNodeCores = 64;

}  // namespace

RandomMonitoring::RandomMonitoring(load_metrics::SignalTable& measurements, const Clock& clock,
                                   std::mt19937_64& random)
    : measurements_(measurements),
      clock_(clock),
      random_(random),
      faulty_(Chance(0.6)),
      scrape_interval_(std::chrono::seconds(15 * (1 + static_cast<int>(random() % 4)))),
      full_(measurements.size(), 1),
      delivered_(measurements.size()),
      asked_(measurements.size()),
      next_poll_(clock.Now() + Seconds(1, 5)) {}

void RandomMonitoring::AddNode(const std::string& name, bool is_new) {
  Node node;
  const MonoTime now = clock_.Now();
  node.load.resize(measurements_.size());
  node.aim.resize(measurements_.size());
  ChangeLoad(node);
  node.load = node.aim;
  node.scraped = node.load;
  node.next_scrape = now + Seconds(0, static_cast<int>(scrape_interval_ / 1s));
  if (is_new) {
    node.disturbed_at = now;
  } else {
    for (Duration age = kWindow; age > Duration{}; age -= scrape_interval_) node.scrapes.push_back(now - age);
  }
  nodes_[name] = std::move(node);
}

void RandomMonitoring::RemoveNode(const std::string& name) {
  nodes_.erase(name);
  for (Delivered& delivered : delivered_) delivered.percent.erase(name);
}

void RandomMonitoring::Advance() {
  const MonoTime now = clock_.Now();
  for (auto& [name, node] : nodes_) {
    if (now >= node.next_aim) ChangeLoad(node);
    for (std::size_t i = 0; i < node.load.size(); ++i) node.load[i] += 0.2 * (node.aim[i] - node.load[i]);
    if (now >= node.next_scrape) Scrape(node);
  }
  if (faulty_ && Chance(0.001)) Restart();
  if (faulty_ && Chance(0.003)) down_until_ = now + Seconds(20, 200);
  if (now >= next_poll_) Poll();
  Deliver();
}

// Idle, busy or hot; all signals of a node have similar loads.
void RandomMonitoring::ChangeLoad(Node& node) {
  node.next_aim = clock_.Now() + Seconds(20, 180);
  const double level = std::uniform_real_distribution<double>(0, 1)(random_);
  const double lowest = level < 0.5 ? 0 : level < 0.75 ? 40 : 75;
  for (double& aim : node.aim) aim = lowest + std::uniform_real_distribution<double>(0, 35)(random_);
}

void RandomMonitoring::Scrape(Node& node) {
  const MonoTime now = clock_.Now();
  node.next_scrape = now + scrape_interval_;
  if (faulty_ && Chance(0.005)) node.dead_until = now + Seconds(30, 400);
  if (now < node.dead_until || (faulty_ && Chance(0.02))) {
    node.disturbed_at = now;
    return;
  }
  node.scrapes.push_back(now);
  for (std::size_t i = 0; i < node.load.size(); ++i) node.scraped[i] = node.load[i] + node.of_pods;
}

// Prometheus loses its samples.
void RandomMonitoring::Restart() {
  for (auto& [name, node] : nodes_) node.scrapes.clear();
  DisturbAll();
}

void RandomMonitoring::DisturbAll() {
  for (auto& [name, node] : nodes_) node.disturbed_at = clock_.Now();
}

bool RandomMonitoring::IsUndisturbed(const std::string& name) const {
  const auto& at = nodes_.at(name).disturbed_at;
  return !at || clock_.Now() - *at > kUndisturbed;
}

// --- polls ---

void RandomMonitoring::Poll() {
  const MonoTime now = clock_.Now();
  next_poll_ = now + kPollInterval;
  for (std::size_t i = 0; i < measurements_.size(); ++i) {
    const auto id = static_cast<SignalId>(i);
    const Duration every = measurements_.signal(id).spec.every;
    if (asked_[i] && now - *asked_[i] < every) continue;
    asked_[i] = now;
    Answer answer = AnswerTo(id);
    answer.due = now + (Chance(0.7) ? Duration{} : Seconds(1, 10));
    answer.failed = now < down_until_ || (faulty_ && Chance(0.003));
    pending_.push_back(std::move(answer));
  }
}

RandomMonitoring::Answer RandomMonitoring::AnswerTo(SignalId id) {
  Answer out;
  out.answer = {.signal = id, .polled_at = clock_.Now(), .renumbered = true, .fresh = nullptr, .samples = {}};
  const load_metrics::SignalSpec& spec = measurements_.signal(id).spec;
  if (spec.subject == Subject::kNode) {
    AnswerNodes(spec, out);
    return out;
  }
  std::vector<load_metrics::SeriesName> names;
  for (auto& [name, value] : Others(spec.subject)) {
    out.answer.samples.emplace_back(names.size(), value);
    names.push_back(std::move(name));
  }
  out.answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
  return out;
}

// The series of pods or workloads.
std::vector<std::pair<load_metrics::SeriesName, double>> RandomMonitoring::Others(Subject subject) {
  std::vector<std::pair<load_metrics::SeriesName, double>> series;
  if (subject == Subject::kPod && usage_) {
    for (const auto& [pod, cores] : usage_())
      series.push_back({{{"namespace", "default"}, {"pod", pod}}, cores});
  }
  if (subject == Subject::kWorkload) {
    for (const std::string& name : workloads_) {
      series.push_back({{{"namespace", "default"}, {"owner_kind", "StatefulSet"}, {"owner_name", name}},
                        std::uniform_real_distribution<double>(0, 4)(random_)});
    }
  }
  return series;
}

void RandomMonitoring::AnswerNodes(const load_metrics::SignalSpec& spec, Answer& out) {
  const std::size_t signal = Index(out.answer.signal);
  std::vector<load_metrics::SeriesName> names;
  for (auto& [name, node] : nodes_) {
    while (!node.scrapes.empty() && clock_.Now() - node.scrapes.front() > kWindow) node.scrapes.pop_front();
    auto value = ValueOf(spec, signal, node);
    if (!value) continue;
    if (faulty_ && Chance(0.002)) {
      value = load_metrics::kNoValue;
      node.disturbed_at = clock_.Now();
    } else {
      out.percent[name] = 100 * *value / full_[signal];
    }
    out.answer.samples.emplace_back(names.size(), *value);
    names.push_back({{"instance", name}});
  }
  out.answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
}

std::optional<double> RandomMonitoring::ValueOf(const load_metrics::SignalSpec& spec, std::size_t signal,
                                                const Node& node) const {
  if (node.scrapes.empty()) return std::nullopt;
  if (spec.name.ends_with(": age of samples"))
    return std::chrono::duration<double>(clock_.Now() - node.scrapes.back()).count();
  if (spec.name.ends_with(": samples in the window")) return static_cast<double>(node.scrapes.size());
  if (node.scrapes.size() < 2) return std::nullopt;  // a rate needs two samples
  const double share = node.scraped[signal] / 100;
  return spec.name.starts_with("use of containers") ? share * kNodeCores : share * full_[signal];
}

void RandomMonitoring::Deliver() {
  const MonoTime now = clock_.Now();
  for (Answer& answer : pending_) {
    if (answer.due > now) continue;
    Delivered& delivered = delivered_[Index(answer.answer.signal)];
    delivered.failed = answer.failed;
    if (answer.failed) {
      measurements_.Failed(answer.answer.signal, now, "refused");
      DisturbAll();
      continue;
    }
    delivered.answered = true;
    delivered.polled_at = answer.answer.polled_at;
    delivered.percent = std::move(answer.percent);
    // A node that was removed while the answer was on its way.
    std::erase_if(delivered.percent, [this](const auto& entry) { return !nodes_.contains(entry.first); });
    measurements_.Take(answer.answer);
  }
  std::erase_if(pending_, [now](const Answer& answer) { return answer.due <= now; });
}

}  // namespace berth::bench
