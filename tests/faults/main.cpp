// fault_simulation: runs seeds, prints the failing ones, repeats and shrinks one of them.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/progress_line.hpp"
#include "base/result.hpp"
#include "command_line/command.hpp"
#include "observability/log/log.hpp"
#include "tests/faults/child_runs.hpp"
#include "tests/faults/simulation.hpp"

namespace berth::faults {
namespace {

struct Options {
  std::int64_t seeds = 200, first = 1, jobs = 2, seed = 0, verbosity = -1;
  bool repeat = false, timeline = false, shrink = false, calm = false;
  std::string keep;
};

Expected<std::set<std::size_t>> ParseSteps(const std::string& text, std::size_t steps) {
  std::set<std::size_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::size_t number = 0;
    const auto [last, error] = std::from_chars(text.data() + begin, text.data() + end, number);
    if (error != std::errc() || last != text.data() + end || number >= steps) {
      return Invalid(
          fmt::format("--keep: invalid value \"{}\": expected numbers of steps from 0 to {}, such as 0,3,7",
                      text, steps - 1));
    }
    numbers.insert(number);
    begin = end + 1;
  }
  return numbers;
}

std::string RepeatLine(const Plan& plan) {
  std::string steps;
  for (const Step& step : plan.steps) steps += fmt::format("{}{}", steps.empty() ? "" : ",", step.index);
  return fmt::format("fault_simulation --seed {} --keep {}{} --timeline", plan.seed, steps,
                     plan.calm ? " --calm" : "");
}

void PrintFailure(const Outcome& outcome) {
  fmt::print("seed {} fails:\n", outcome.seed);
  for (const std::string& violation : outcome.violations) fmt::print("  {}\n", violation);
  if (!outcome.output.empty()) fmt::print("{}\n", outcome.output);
  fmt::print("  to repeat: fault_simulation --seed {} --timeline; smaller: --seed {} --shrink\n",
             outcome.seed, outcome.seed);
}

int RunSeeds(const Options& options) {
  ProgressLine progress;
  std::uint64_t next = static_cast<std::uint64_t>(options.first);
  const std::uint64_t end = next + static_cast<std::uint64_t>(options.seeds);
  std::uint64_t completed = 0;
  std::uint64_t digest = 0;  // of all timelines, in any order
  std::set<std::uint64_t> failed;
  std::map<std::string, std::uint64_t> counts;
  const auto start = std::chrono::steady_clock::now();
  RunInChildren(
      {.jobs = static_cast<std::size_t>(options.jobs), .repeat = options.repeat},
      [&]() -> std::optional<Plan> {
        if (next == end) return std::nullopt;
        return MakePlan(next++);
      },
      [&](const Outcome& outcome) {
        ++completed;
        digest ^= outcome.digest;
        for (const auto& [name, count] : outcome.counts) counts[name] += count;
        if (!outcome.violations.empty()) {
          progress.Clear();
          PrintFailure(outcome);
          failed.insert(outcome.seed);
        }
        progress.Show(fmt::format("{} of {} seeds, {} failed", completed, options.seeds, failed.size()));
      });
  progress.Clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{} seeds in {:.1f} s, {} failed, digest {:016x}\n", completed, took.count(), failed.size(),
             digest);
  for (const auto& [name, count] : counts) fmt::print("  {:<24}{}\n", name, count);
  return failed.empty() ? 0 : 1;
}

int ShrinkSeed(const Plan& plan) {
  const ChildRunOptions options;
  Outcome outcome;
  std::optional<Plan> next = plan;
  RunInChildren(
      options, [&] { return std::exchange(next, std::nullopt); },
      [&](Outcome each) { outcome = std::move(each); });
  if (outcome.violations.empty()) {
    fmt::print("seed {}: all invariants hold\n", plan.seed);
    return 0;
  }
  ProgressLine progress;
  const Plan smallest = Shrink(plan, outcome.invariant(), options, [&](std::size_t steps) {
    progress.Show(fmt::format("{} steps left", steps));
  });
  progress.Clear();
  fmt::print("seed {} violates \"{}\" with {} of {} steps:\n", plan.seed, outcome.invariant(),
             smallest.steps.size(), plan.steps.size());
  for (const Step& step : smallest.steps) fmt::print("{}\n", Describe(step));
  fmt::print("to repeat: {}\n", RepeatLine(smallest));
  return 1;
}

int RunSeed(const Plan& plan, bool timeline) {
  const RunResult result = Run(plan, timeline);
  for (const std::string& line : result.timeline) fmt::print("{}\n", line);
  fmt::print("seed {}: {} of virtual time, digest {:016x}\n", plan.seed,
             fmt::format("{:.1f} s", std::chrono::duration<double>(result.simulated).count()), result.digest);
  for (const auto& [name, count] : result.counts) fmt::print("  {:<24}{}\n", name, count);
  for (const std::string& violation : result.violations) fmt::print("violated: {}\n", violation);
  if (result.violations.empty()) fmt::print("all invariants hold\n");
  return result.violations.empty() ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  command_line::Command command("fault_simulation",
                                "Runs two schedulers and the sandbox's API server on virtual time with "
                                "faults that a seed decides on. Checks "
                                "invariants and prints the seeds that violate one.");
  command_line::FlagSet& flags = command.flags();
  flags.Integer("seeds", options.seeds, "number of seeds", {.least = 1});
  flags.Integer("first", options.first, "first seed", {.least = 1});
  flags.Integer("jobs", options.jobs, "processes at the same time", {.least = 1, .most = 256});
  flags.Bool("repeat", options.repeat, "run each seed twice and compare the timelines");
  flags.Integer("seed", options.seed, "run only this seed", {.least = 1});
  flags.Bool("timeline", options.timeline, "print what happens, with virtual times in seconds; with --seed");
  flags.Bool("shrink", options.shrink,
             "find the steps that suffice to violate the same invariant; with --seed");
  flags.String("keep", options.keep, "the numbers of the steps to execute, separated by commas; with --seed");
  flags.Bool("calm", options.calm, "constant latency of the network; with --seed");
  flags.Integer("v", options.verbosity,
                "verbosity of the schedulers' log; negative: warnings and errors only",
                {.least = -1, .most = 10});
  if (const auto code = command.Parse(argc, argv)) return *code;
  log::SetVerbosity(static_cast<int>(options.verbosity));
  if (options.seed == 0) return RunSeeds(options);
  Plan plan = MakePlan(static_cast<std::uint64_t>(options.seed));
  plan.calm = options.calm;
  if (!options.keep.empty()) {
    const auto keep = ParseSteps(options.keep, plan.steps.size());
    if (!keep) {
      fmt::print(stderr, "fault_simulation: {}\n", keep.error().message);
      return 1;
    }
    plan = Keep(plan, *keep);
  }
  return options.shrink ? ShrinkSeed(plan) : RunSeed(plan, options.timeline);
}

}  // namespace
}  // namespace berth::faults

int main(int argc, char** argv) { return berth::faults::Main(argc, argv); }
