// Cost of device selectors: compiling one, and evaluating it on a device. Prints the CPU time of the fastest
// round.
//
//   bench_device_selectors [--rounds 20] [--json]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "base/check.hpp"
#include "command_line/command.hpp"
#include "kubernetes/cel/device_expression.hpp"

namespace berth::bench {
namespace {

struct Selector {
  const char* name;
  const char* expression;
};

constexpr Selector kSelectors[] = {
    {"driver", "device.driver == 'gpu.example.com'"},
    {"typical",
     "device.attributes['gpu.example.com'].model == 'A100' && "
     "device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0"},
    {"version", "device.attributes['gpu.example.com'].driverVersion.isGreaterThan(semver('1.2.0'))"},
    {"pattern", "device.attributes['gpu.example.com'].model.matches('^A[0-9]+$')"},
};

cel::Value Gpu() {
  return *cel::MakeDevice({.driver = "gpu.example.com",
                           .allow_multiple_allocations = false,
                           .attributes = {{"model", std::string("A100")},
                                          {"index", std::int64_t{3}},
                                          {"healthy", true},
                                          {"driverVersion", cel::VersionText{"1.2.3"}}},
                           .capacity = {{"memory", *api::Quantity::Parse("40Gi")}}});
}

double CpuMicros() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

template <class Function>
double Fastest(int rounds, int repetitions, const Function& function) {
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const double begin = CpuMicros();
    for (int i = 0; i < repetitions; ++i) function();
    best = std::min(best, (CpuMicros() - begin) / repetitions);
  }
  return best;
}

void Measure(const Selector& selector, int rounds, bool json) {
  const cel::Value device = Gpu();
  const auto compiled = cel::DeviceExpression::Compile(selector.expression);
  BERTH_CHECK(compiled.has_value());
  const double compile =
      Fastest(rounds, 100, [&] { (void)cel::DeviceExpression::Compile(selector.expression); });
  const double evaluate = Fastest(rounds, 10000, [&] { BERTH_CHECK(*compiled->Matches(device)); });
  if (json) {
    fmt::print(R"({{"name":"device_selectors/{}","value":{:.3f},"unit":"us/device","compile":{:.1f}}})"
               "\n",
               selector.name, evaluate, compile);
  } else {
    fmt::print("{:<8} {:>6.1f} us of CPU to compile, {:>6.3f} us to evaluate\n", selector.name, compile,
               evaluate);
  }
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  int rounds = 20;
  bool json = false;
  berth::command_line::Command command("bench_device_selectors", "Cost of device selectors (CEL).");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Integer("rounds", rounds, "number of rounds; the fastest counts", {.least = 1});
  flags.Bool("json", json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  for (const auto& selector : berth::bench::kSelectors) berth::bench::Measure(selector, rounds, json);
}
