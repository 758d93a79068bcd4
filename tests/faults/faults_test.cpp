// The tools of the fault simulation: plans as files, and the search for a smaller plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/faults/child_runs.hpp"
#include "tests/faults/plan_file.hpp"
#include "tests/faults/shrink.hpp"
#include "tools/replay/steps.hpp"

namespace berth::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The plan of a seed whose steps include one of this kind.
Plan PlanWith(StepKind kind) {
  for (std::uint64_t seed = 1; seed < 1'000; ++seed) {
    Plan plan = MakePlan(seed);
    if (std::ranges::any_of(plan.steps, [&](const Step& step) { return step.kind == kind; })) return plan;
  }
  ADD_FAILURE() << "no seed has this step";
  return {};
}

std::vector<StepKind> KindsOf(const Plan& plan) {
  std::vector<StepKind> kinds;
  for (const Step& step : plan.steps) kinds.push_back(step.kind);
  return kinds;
}

TEST(PlanFile, ReadsWhatItHasWritten) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Plan plan = MakePlan(seed);
    const auto read = ReadPlan(WritePlan(plan));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, plan);
  }
}

struct BadPlan {
  std::string name, find, replace, error;
};
class PlanFileErrors : public ::testing::TestWithParam<BadPlan> {};
TEST_P(PlanFileErrors, NameFieldValueAndExpectation) {
  Plan plan;
  plan.seed = 7;
  plan.nodes = 2;
  plan.steps = {{.index = 0, .at = seconds(1), .kind = StepKind::kKill, .which = 1, .lasts = seconds(2)}};
  std::string text = WritePlan(plan);
  const auto at = text.find(GetParam().find);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, GetParam().find.size(), GetParam().replace);
  const auto read = ReadPlan(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, PlanFileErrors,
    testing::Values(BadPlan{"ANegativeTime", "\"atMillis\":1000", "\"atMillis\":-1",
                            "steps[0]: atMillis: invalid value -1: expected an integer from 0 to 3600000"},
                    BadPlan{"AnUnknownReplica", "\"which\":1", "\"which\":2",
                            "steps[0]: which: invalid value 2: expected an integer from 0 to 1"},
                    BadPlan{
                        "AMissingSeed", "\"seed\":7,", "",
                        "seed: invalid value nothing: expected an integer from 1 to 9223372036854775807"}),
    [](const auto& row) { return row.param.name; });

TEST(PlanFile, ListsTheKindsInTheErrorOfAnUnknownOne) {
  std::string text = WritePlan(PlanWith(StepKind::kKill));
  text.replace(text.find("\"kill\""), 6, "\"crash\"");
  const auto read = ReadPlan(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message,
              AllOf(HasSubstr("invalid value \"crash\": expected one of createPods"), HasSubstr(", kill, ")));
}

TEST(Shrink, FindsTheStepsAndNumbersThatSuffice) {
  Plan plan = PlanWith(StepKind::kKill);
  plan.nodes = 6;
  plan.groups = true;
  plan.measured = true;
  plan.steps.insert(plan.steps.begin(), Step{.index = 100, .kind = StepKind::kCreatePods, .number = 8});
  const auto violates = [](const Plan& candidate) {
    const bool enough_pods = std::ranges::any_of(candidate.steps, [](const Step& step) {
      return step.kind == StepKind::kCreatePods && step.number >= 3;
    });
    const bool killed =
        std::ranges::any_of(candidate.steps, [](const Step& step) { return step.kind == StepKind::kKill; });
    return enough_pods && killed && candidate.nodes >= 2;
  };
  const Plan smallest = Shrink(plan, violates);
  ASSERT_THAT(KindsOf(smallest), ElementsAre(StepKind::kCreatePods, StepKind::kKill));
  EXPECT_EQ(smallest.steps[0].number, 3);
  EXPECT_LT(smallest.steps[1].lasts, milliseconds(400));
  EXPECT_LE(smallest.steps[1].at, seconds(2));
  EXPECT_EQ(smallest.nodes, 2U);
  EXPECT_FALSE(smallest.groups);
  EXPECT_FALSE(smallest.measured);
  EXPECT_EQ(smallest.extender, ExtenderUse::kNone);
  EXPECT_TRUE(smallest.calm);
}

TEST(Shrink, LeavesOutKindsOfRequestFaults) {
  Plan plan;
  plan.nodes = 1;
  plan.steps = {{.kind = StepKind::kRequestFaults, .number = (1 << kRequestFaultBits) - 1}};
  const Plan smallest = Shrink(plan, [](const Plan& candidate) {
    return !candidate.steps.empty() && (candidate.steps[0].number & 4);
  });
  EXPECT_EQ(smallest.steps[0].number, 4);
}

TEST(Shrink, StopsAfterItsRuns) {
  std::size_t runs = 0;
  Shrink(
      MakePlan(1),
      [&](const Plan&) {
        ++runs;
        return true;
      },
      5);
  EXPECT_EQ(runs, 5U);
}

// An invariant that does not hold: no pod is bound by the second process of a replica.
RunResult RunWithBrokenInvariant(const Plan& plan, const RunOutputs& outputs) {
  bool restarted = false;
  RunOutputs watched = outputs;
  watched.timeline = [&](const std::string& line) {
    outputs.timeline(line);
    restarted |=
        line.find("/binding") != std::string::npos &&
        (line.find("replica-0.2") != std::string::npos || line.find("replica-1.2") != std::string::npos);
  };
  RunResult result = Run(plan, watched);
  if (restarted) result.violations.emplace_back("no restarted process binds: it did");
  return result;
}

TEST(FaultSimulation, ShrinksAFailingRunToTheFaultAndThePodsThatShowIt) {
  const ChildRunOptions options{.run = RunWithBrokenInvariant};
  Plan failing;
  Outcome outcome;
  for (std::uint64_t seed = 1; seed < 200 && outcome.violations.empty(); ++seed) {
    failing = MakePlan(seed);
    outcome = RunInChild(failing, options);
  }
  ASSERT_THAT(outcome.violations, ElementsAre(StartsWith("no restarted process binds")));
  const Plan smallest = Shrink(failing, [&](const Plan& candidate) {
    return RunInChild(candidate, options).invariant() == outcome.invariant();
  });
  EXPECT_LT(smallest.steps.size(), failing.steps.size());
  EXPECT_TRUE(std::ranges::any_of(smallest.steps, &Step::is_fault));
  const auto read = ReadPlan(WritePlan(smallest));
  ASSERT_TRUE(read.has_value());
  const Outcome repeated = RunInChild(*read, options);
  EXPECT_EQ(repeated.invariant(), outcome.invariant());
  EXPECT_EQ(repeated.digest, RunInChild(smallest, options).digest);
  EXPECT_THAT(RunInChild(smallest, {}).violations, IsEmpty()) << "only the broken invariant is violated";
}

TEST(FaultSimulation, KeepsTheFilesOfARun) {
  Plan plan = MakePlan(1);
  plan.recorded = true;
  const std::string directory = ::testing::TempDir() + "faults-kept";
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(KeepRun(plan, {}, directory).has_value());
    for (const char* file : {"plan.json", "timeline.txt", "log.txt"})
      EXPECT_GT(std::filesystem::file_size(std::filesystem::path(directory) / file), 0U) << file;
    for (const char* process : {"replica-0.1", "replica-1.1"}) {
      auto steps = replay::Steps::Open(std::filesystem::path(directory) / "recordings" / process);
      EXPECT_TRUE(steps.has_value()) << process << " of run " << run;
    }
  }
  std::filesystem::remove_all(directory);
}

TEST(FaultSimulation, ReportsMemoryThatARunDoesNotRelease) {
  static std::vector<std::string>* kept = nullptr;
  const Runner leaks = [](const Plan&, const RunOutputs&) {
    if (kept == nullptr) kept = new std::vector<std::string>;
    kept->push_back(std::string(100'000, 'x'));
    return RunResult{};
  };
  const Outcome outcome = RunInChild(MakePlan(1), {.repeat = true, .run = leaks});
  EXPECT_EQ(outcome.invariant(), "memory returns to its level");
}

TEST(FaultSimulation, ReportsASecondRunThatDiffers) {
  static std::uint64_t digest = 0;
  const Runner differs = [](const Plan&, const RunOutputs&) {
    RunResult result;
    result.digest = ++digest;
    return result;
  };
  const Outcome outcome = RunInChild(MakePlan(1), {.repeat = true, .run = differs});
  EXPECT_EQ(outcome.invariant(), "the run repeats exactly");
}

}  // namespace
}  // namespace berth::faults
