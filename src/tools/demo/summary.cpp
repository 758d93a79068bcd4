#include "tools/demo/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text_layout.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/requests.hpp"
#include "tools/demo/workload.hpp"
#include "tools/load_generator/api_load.hpp"

namespace berth::demo {
namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// "850 ms" or "1.25 s".
std::string FormatSeconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.0f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

double Percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(static_cast<std::size_t>(share * static_cast<double>(sorted.size())),
                         sorted.size() - 1)];
}

template <class T>
Expected<std::vector<std::shared_ptr<const T>>> ListAll(std::uint16_t port, std::string_view target) {
  BERTH_TRY(const load_generator::Answer answer, load_generator::Call(port, "GET", target));
  if (answer.status != 200)
    return Fail(ErrorCode::kUnavailable, fmt::format("GET {}: HTTP {}", target, answer.status));
  api::Decoder decoder;
  BERTH_TRY(auto list, decoder.List<T>(answer.body));
  return std::move(list.items);
}

std::int64_t MilliCpu(const api::ResourceList& resources) {
  const auto cpu = resources.find("cpu");
  return cpu == resources.end() ? 0 : cpu->second.MilliValue();
}

struct NodeCpu {
  std::int64_t allocatable = 0;
  std::int64_t requested = 0;
  bool ordinary = true;  // has no taint, so open to every pod
};
Expected<std::vector<NodeCpu>> NodeCpus(std::uint16_t port) {
  BERTH_TRY(const auto nodes, ListAll<api::Node>(port, "/api/v1/nodes"));
  BERTH_TRY(const auto pods, ListAll<api::Pod>(port, "/api/v1/pods?fieldSelector=spec.nodeName!="));
  std::unordered_map<std::string, std::int64_t> requested;
  for (const auto& pod : pods) requested[pod->spec.node_name] += MilliCpu(api::PodRequests(*pod, {}));
  std::vector<NodeCpu> cpus;
  for (const auto& node : nodes)
    cpus.push_back({MilliCpu(node->allocatable), requested[node->metadata.name], node->taints.empty()});
  return cpus;
}

std::string Speed(const Observer::Counts& counts, const std::vector<ObservedPod>& pods) {
  std::vector<double> latencies;
  for (const auto& pod : pods) {
    if (!pod.node.empty()) latencies.push_back(Seconds(pod.bound - pod.created));
  }
  std::ranges::sort(latencies);
  const double took = Seconds(counts.last_bound - counts.first_created);
  const double creating = Seconds(counts.last_created - counts.first_created);
  std::string text = fmt::format("  {:>8} pods bound, {} pending\n", WithCommas(counts.bound),
                                 WithCommas(counts.seen - counts.bound));
  if (counts.bound == 0) return text;
  text += fmt::format(
      "  {:>8} pods per second, from the first creation to the last binding in {}\n",
      WithCommas(static_cast<std::size_t>(static_cast<double>(counts.bound) / std::max(took, 1e-9))),
      FormatSeconds(took));
  text += fmt::format("  {:>8} from creation to binding at the median, {} for 99 of 100\n",
                      FormatSeconds(Percentile(latencies, 0.5)), FormatSeconds(Percentile(latencies, 0.99)));
  text +=
      fmt::format("           (all pods were created within {}: most of that time is spent in the queue)\n",
                  FormatSeconds(creating));
  return text;
}

std::string Histogram(const std::vector<double>& use) {
  constexpr std::size_t kBuckets = 10;
  constexpr std::size_t kWidth = 40;
  std::vector<std::size_t> buckets(kBuckets, 0);
  for (const double percent : use)
    ++buckets[std::min(static_cast<std::size_t>(std::max(percent, 0.0) / 10), kBuckets - 1)];
  const std::size_t most = std::max<std::size_t>(std::ranges::max(buckets), 1);
  std::string text = "\n  Requested CPU in percent of allocatable CPU\n";
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::size_t length = (buckets[i] * kWidth + most - 1) / most;
    text +=
        fmt::format("  {:>3}-{:<3} {:<{}} {}\n", i * 10, i * 10 + 10, std::string(length, '#'), kWidth,
                    buckets[i] > 0 ? fmt::format("{} node{}", buckets[i], buckets[i] == 1 ? "" : "s") : "");
  }
  return text;
}

std::string Pending(const std::vector<ObservedPod>& pods) {
  std::map<std::string, std::map<std::string, std::size_t>> reasons;  // by kind, then message
  for (const auto& pod : pods) {
    if (pod.node.empty())
      ++reasons[pod.kind][pod.message.empty() ? "no message from the scheduler yet" : pod.message];
  }
  if (reasons.empty()) return {};
  std::string text = "\n  Pending pods by reason\n";
  for (const auto& [kind, messages] : reasons) {
    for (const auto& [message, count] : messages)
      text += fmt::format("  {} x {}:\n      {}\n", count, kind, message);
  }
  return text;
}

}  // namespace

Expected<std::vector<double>> NodeUse(std::uint16_t port) {
  BERTH_TRY(const auto cpus, NodeCpus(port));
  std::vector<double> use;
  for (const NodeCpu& cpu : cpus) {
    use.push_back(100.0 * static_cast<double>(cpu.requested) /
                  static_cast<double>(std::max<std::int64_t>(cpu.allocatable, 1)));
  }
  return use;
}

Expected<std::int64_t> MostFreeMilliCpu(std::uint16_t port) {
  BERTH_TRY(const auto cpus, NodeCpus(port));
  std::int64_t most = 0;
  for (const NodeCpu& cpu : cpus) {
    if (cpu.ordinary) most = std::max(most, cpu.allocatable - cpu.requested);
  }
  return most;
}

Expected<std::string> TopologySummary(std::uint16_t port, const std::vector<ObservedPod>& pods) {
  BERTH_TRY(const auto nodes, ListAll<api::Node>(port, "/api/v1/nodes"));
  std::map<std::string, std::string> zone_of;
  for (const auto& node : nodes) {
    const std::string* zone = node->metadata.labels.Find("topology.kubernetes.io/zone");
    zone_of[node->metadata.name] = zone == nullptr ? "no zone" : *zone;
  }
  std::map<std::string, std::size_t> in_zone;
  std::map<std::string, std::size_t> on_node;
  for (const auto& pod : pods) {
    if (pod.node.empty()) continue;
    if (pod.kind == kSpreadOverZones) ++in_zone[zone_of[pod.node]];
    if (pod.kind == kOnePerNode) ++on_node[pod.node];
  }
  std::string text = "\n  Pods with topology constraints\n";
  text += fmt::format("  {}:", kSpreadOverZones);
  for (const auto& [zone, count] : in_zone) text += fmt::format(" {} in {}", count, zone);
  std::size_t caches = 0;
  std::size_t most = 0;
  for (const auto& [node, count] : on_node) {
    caches += count;
    most = std::max(most, count);
  }
  text +=
      fmt::format("\n  {}: {} on {} nodes, at most {} on one\n", kOnePerNode, caches, on_node.size(), most);
  return text;
}

std::string PreemptionSummary(const std::vector<ObservedPod>& pods, std::int64_t milli_cpu) {
  std::string text =
      fmt::format("\n  A late high-priority pod requests {:.1f} CPUs, more than any node has free.\n",
                  static_cast<double>(milli_cpu) / 1000);
  const auto preemptor = std::ranges::find(pods, kPreemptor, &ObservedPod::kind);
  if (preemptor == pods.end()) return text;
  text += fmt::format("      {}\n", preemptor->message);
  if (preemptor->node.empty()) return text;
  std::map<std::string, std::size_t> evicted;  // by kind
  for (const auto& pod : pods) {
    if (pod.evicted) ++evicted[pod.kind];
  }
  text += fmt::format("  It was bound to {} after {}; evicted for it:", preemptor->node,
                      FormatSeconds(Seconds(preemptor->bound - preemptor->created)));
  for (const auto& [kind, count] : evicted) text += fmt::format(" {} x {}", count, kind);
  return text + "\n";
}

std::string Summary(const Observer::Counts& counts, const std::vector<ObservedPod>& pods,
                    const std::vector<double>& node_use) {
  return "\n" + Speed(counts, pods) + Histogram(node_use) + Pending(pods);
}

}  // namespace berth::demo
