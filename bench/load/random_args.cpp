#include "bench/load/random_args.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <initializer_list>
#include <iterator>

namespace berth::bench {
namespace {

class ArgsGenerator {
 public:
  explicit ArgsGenerator(std::mt19937_64& random) : random_(random) {}

  std::string Make() {
    const std::string preset = Any({"balanced", "packing", "streaming", "none"});
    std::string signals;
    const auto add = [&](const std::string& signal) { signals += (signals.empty() ? "" : ", ") + signal; };
    if (preset == "none") {
      const std::size_t count = 1 + UpTo(3);
      for (std::size_t i = 0; i < count; ++i) add(OwnSignal(i));
    } else {
      if (Chance(0.5)) add("{name: cpu" + Change() + "}");
      if (Chance(0.3)) add("{name: memory" + Change() + "}");
      if (Chance(0.3)) add(OwnSignal(0));
    }
    std::string args =
        fmt::format("{{prometheusAddress: 'http://p:9090', preset: {}, signals: [{}]", preset, signals);
    if (Chance(0.7)) args += fmt::format(", hysteresis: {}", Any({"0", "2.5", "5", "20"}));
    if (Chance(0.7)) args += fmt::format(", maxEstimate: {}", Any({"0", "5", "20", "50", "100"}));
    if (Chance(0.7)) args += fmt::format(", holdFor: {}", Any({"30s", "1m", "5m"}));
    if (Chance(0.4)) args += ", onOutage: reject";
    if (Chance(0.3)) args += fmt::format(", forecast: {{memoryWeight: {}}}", UpTo(3));
    return args + "}";
  }

 private:
  bool Chance(double share) { return std::uniform_real_distribution<double>()(random_) < share; }
  std::size_t UpTo(std::size_t most) { return static_cast<std::size_t>(random_() % most); }
  std::string Any(std::initializer_list<const char*> values) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(UpTo(values.size())));
  }

  // The first one always has a threshold.
  std::string OwnSignal(std::size_t number) {
    std::string signal = fmt::format("{{name: own-{0}, query: q{0}, full: {1}", number, Any({"1", "90"}));
    if (number == 0 || Chance(0.7)) signal += fmt::format(", threshold: {}", 40 + UpTo(56));
    if (Chance(0.3)) signal += fmt::format(", weight: {}", UpTo(4));
    if (Chance(0.2)) signal += ", target: 50";
    return signal + Estimate() + "}";
  }
  std::string Change() {
    std::string change;
    if (Chance(0.6)) change += fmt::format(", threshold: {}", 40 + UpTo(56));
    if (Chance(0.2)) change += ", percentile: 90, over: 10m";
    if (Chance(0.2)) change += ", weight: 0";
    return change + (Chance(0.5) ? Estimate() : "");
  }
  std::string Estimate() {
    const std::string from = Any({"request", "limit", "history", "mean", "none"});
    const std::string resource = from == "mean" || from == "none" ? "" : ", resource: cpu";
    return fmt::format(", estimate: {{from: {}{}, factor: {}}}", from, resource, Any({"0.5", "1", "4"}));
  }

  std::mt19937_64& random_;
};

}  // namespace

std::string RandomLoadAwareArgs(std::mt19937_64& random) { return ArgsGenerator(random).Make(); }

}  // namespace berth::bench
