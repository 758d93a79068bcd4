// Programs that replay scenarios of several steps, each with a result as text.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "base/json_text.hpp"
#include "recording.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {

struct StepReplayNames {
  std::string_view program;
  std::string_view scenarios, results;  // in the summary: "sequences", "decisions"
  std::string_view member;              // of a step, with the recorded result
};

// The program; see testing::ReplayMain. `Scenario` is made from the element of a scenario, and Run(step)
// returns the result of a step; empty: the step has none. A recording must have more results than scenarios,
// and at least five scenarios: fewer indicate that it is broken.
template <class Scenario>
class StepReplay {
 public:
  explicit StepReplay(const StepReplayNames& names) : names_(names) {}

  int Main(int argc, char** argv) const {
    return testing::ReplayMain(
        argc, argv, names_.program, [&](const std::string& path) { return ReplayFile(path); },
        [&](std::string_view line) { return ResultsOf(line); });
  }

 private:
  static constexpr std::size_t kLeastScenarios = testing::Repetitions(5);

  int ReplayFile(const std::string& path) const {
    std::size_t scenarios = 0;
    std::size_t results = 0;
    std::size_t mismatches = 0;
    testing::ForEachLine(path, [&](std::string_view line) {
      ++scenarios;
      const std::string difference = Compare(line, results);
      if (difference.empty()) return;
      ++mismatches;
      fmt::print("{}: {}\n", testing::FirstMember(line), difference);
    });
    fmt::print("{} {}, {} {}, {} mismatches\n", scenarios, names_.scenarios, results, names_.results,
               mismatches);
    return mismatches == 0 && scenarios >= kLeastScenarios && results > scenarios ? 0 : 1;
  }

  // Empty if all results are equal to the recorded ones.
  std::string Compare(std::string_view line, std::size_t& results) const {
    std::string difference;
    try {
      ForEachStep(line, [&](simdjson::dom::element step, const std::string& result) {
        const std::string wanted = Text(step, names_.member);
        if (!result.empty()) ++results;
        if (result != wanted && difference.empty())
          difference = fmt::format("\n  berth:          {}\n  kube-scheduler: {}", result, wanted);
      });
    } catch (const std::exception& error) {
      return fmt::format("cannot be replayed: {}", error.what());
    }
    return difference;
  }

  std::string ResultsOf(std::string_view line) const {
    try {
      std::string list = "[";
      ForEachStep(line, [&](simdjson::dom::element, const std::string& result) {
        if (result.empty()) return;
        if (list.size() > 1) list += ',';
        AppendJsonString(list, result);
      });
      return list + "]";
    } catch (const std::exception& error) {
      return fmt::format("cannot be replayed: {}", error.what());
    }
  }

  template <class Visit>
  static void ForEachStep(std::string_view line, Visit&& visit) {
    simdjson::dom::parser parser;
    const simdjson::dom::element from = parser.parse(line.data(), line.size());
    Scenario scenario(from);
    for (const simdjson::dom::element step : simdjson::dom::array(from["steps"]))
      visit(step, scenario.Run(step));
  }

  const StepReplayNames names_;
};

}  // namespace berth::replay
