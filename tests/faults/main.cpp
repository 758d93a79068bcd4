// fault_simulation: runs seeds, prints the failing ones, repeats and shrinks one of them.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/progress_line.hpp"
#include "base/result.hpp"
#include "command_line/command.hpp"
#include "observability/log/log.hpp"
#include "tests/faults/child_runs.hpp"
#include "tests/faults/plan_file.hpp"
#include "tests/faults/shrink.hpp"
#include "tests/faults/simulation.hpp"

namespace berth::faults {
namespace {

struct Options {
  std::int64_t seeds = 200, first = 1, jobs = 2, seed = 0, verbosity = -1;
  bool repeat = false, timeline = false, shrink = false, calm = false;
  std::string steps, plan, keep;
};

Expected<std::set<std::size_t>> ParseSteps(const std::string& text) {
  std::set<std::size_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::size_t number = 0;
    const auto [last, error] = std::from_chars(text.data() + begin, text.data() + end, number);
    if (error != std::errc() || last != text.data() + end) {
      return Invalid(
          fmt::format("--steps: invalid value \"{}\": expected numbers of steps, such as 0,3,7", text));
    }
    numbers.insert(number);
    begin = end + 1;
  }
  return numbers;
}

void PrintFailure(const Outcome& outcome) {
  fmt::print("seed {} fails:\n", outcome.seed);
  for (const std::string& violation : outcome.violations) fmt::print("  {}\n", violation);
  if (!outcome.output.empty()) fmt::print("{}\n", outcome.output);
  fmt::print("  to repeat: fault_simulation --seed {} --timeline; smaller: --seed {} --shrink\n",
             outcome.seed, outcome.seed);
}

// An empty `directory`: nothing is written. A failure is only printed: the outcome is not affected.
void Keep(const Plan& plan, const std::string& directory) {
  if (directory.empty()) return;
  if (const auto kept = KeepRun(plan, {}, directory); !kept) {
    fmt::print(stderr, "fault_simulation: --keep: {}\n", kept.error().message);
    return;
  }
  fmt::print("  kept in {}; to repeat: fault_simulation --plan {}/plan.json --timeline\n", directory,
             directory);
}

std::string KeepDirectory(const Options& options, std::uint64_t seed, std::string_view suffix) {
  return options.keep.empty() ? "" : fmt::format("{}/seed-{}{}", options.keep, seed, suffix);
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
          Keep(MakePlan(outcome.seed), KeepDirectory(options, outcome.seed, ""));
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

int RunInThisProcess(const Plan& plan, bool timeline) {
  RunOutputs outputs;
  if (timeline) outputs.timeline = [](const std::string& line) { fmt::print("{}\n", line); };
  const RunResult result = Run(plan, outputs);
  fmt::print("seed {}: {:.1f} s of virtual time, digest {:016x}\n", plan.seed,
             std::chrono::duration<double>(result.simulated).count(), result.digest);
  for (const auto& [name, count] : result.counts) fmt::print("  {:<24}{}\n", name, count);
  for (const std::string& violation : result.violations) fmt::print("violated: {}\n", violation);
  if (result.violations.empty()) fmt::print("all invariants hold\n");
  return result.violations.empty() ? 0 : 1;
}

int ShrinkPlan(const Plan& plan, const Options& options) {
  const ChildRunOptions child_options;
  const Outcome outcome = RunInChild(plan, child_options);
  if (outcome.violations.empty()) {
    fmt::print("seed {}: all invariants hold\n", plan.seed);
    return 0;
  }
  ProgressLine progress;
  const Plan smallest = Shrink(plan, [&](const Plan& candidate) {
    progress.Show(fmt::format("{} steps left", candidate.steps.size()));
    return RunInChild(candidate, child_options).invariant() == outcome.invariant();
  });
  progress.Clear();
  fmt::print("seed {} violates \"{}\" with {} of {} steps:\n", plan.seed, outcome.invariant(),
             smallest.steps.size(), plan.steps.size());
  fmt::print("{}\n", DescribeCluster(smallest));
  for (const Step& step : smallest.steps) fmt::print("{}\n", Describe(step));
  fmt::print("the plan, for --plan:\n{}", WritePlan(smallest));
  if (options.timeline) RunInThisProcess(smallest, true);
  Keep(smallest, KeepDirectory(options, plan.seed, "-small"));
  return 1;
}

Expected<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, fmt::format("--plan: {}: the file cannot be read", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Expected<Plan> PlanOf(const Options& options) {
  Plan plan;
  if (options.plan.empty()) {
    plan = MakePlan(static_cast<std::uint64_t>(options.seed));
  } else {
    BERTH_TRY(const std::string text, ReadFile(options.plan));
    auto read = ReadPlan(text);
    if (!read) return std::unexpected(std::move(read).error().In("--plan: " + options.plan));
    plan = *std::move(read);
  }
  plan.calm |= options.calm;
  if (options.steps.empty()) return plan;
  BERTH_TRY(const auto steps, ParseSteps(options.steps));
  return KeepSteps(plan, steps);
}

void AddFlags(command_line::FlagSet& flags, Options& options) {
  flags.Integer("seeds", options.seeds, "number of seeds", {.least = 1});
  flags.Integer("first", options.first, "first seed", {.least = 1});
  flags.Integer("jobs", options.jobs, "processes at the same time", {.least = 1, .most = 256});
  flags.Bool("repeat", options.repeat, "run each seed twice and compare the timelines and the memory in use");
  flags.Integer("seed", options.seed, "run only this seed", {.least = 1});
  flags.String("plan", options.plan, "run only the plan in this file, which --keep or --shrink has written");
  flags.Bool("timeline", options.timeline,
             "print what happens, with virtual times in seconds; with --seed or --plan");
  flags.Bool("shrink", options.shrink,
             "find a smaller plan that violates the same invariant: fewer steps, nodes and pods, shorter "
             "times; with --seed or --plan");
  flags.String("steps", options.steps,
               "the numbers of the steps to execute, separated by commas; with --seed or --plan");
  flags.Bool("calm", options.calm, "constant latency of the network; with --seed or --plan");
  flags.String(
      "keep", options.keep,
      "directory for plan.json, timeline.txt, log.txt (verbosity 4) and recordings (for berth replay) "
      "of each failing seed, in seed-N, and of the plan that --shrink finds, in seed-N-small");
  flags.Integer("v", options.verbosity,
                "verbosity of the schedulers' log; negative: warnings and errors only",
                {.least = -1, .most = 10});
}

int Main(int argc, char** argv) {
  Options options;
  command_line::Command command("fault_simulation",
                                "Runs two schedulers and the sandbox's API server on virtual time with "
                                "faults that a seed decides on. Checks "
                                "invariants and prints the seeds that violate one.");
  AddFlags(command.flags(), options);
  if (const auto code = command.Parse(argc, argv)) return *code;
  log::SetVerbosity(static_cast<int>(options.verbosity));
  if (options.seed == 0 && options.plan.empty()) return RunSeeds(options);
  const auto plan = PlanOf(options);
  if (!plan) {
    fmt::print(stderr, "fault_simulation: {}\n", plan.error().message);
    return 1;
  }
  if (options.shrink) return ShrinkPlan(*plan, options);
  const int code = RunInThisProcess(*plan, options.timeline);
  if (code != 0) Keep(*plan, KeepDirectory(options, plan->seed, ""));
  return code;
}

}  // namespace
}  // namespace berth::faults

int main(int argc, char** argv) { return berth::faults::Main(argc, argv); }
