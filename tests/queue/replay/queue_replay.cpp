// Runs Berth's scheduling queue through recorded sequences of kube-scheduler's queue and compares the visible
// state after every step.
//
//   queue_replay FILE.ndjson.zst    a recording: prints the differences; exit code 1 if there are any
//   queue_replay -                  sequences on stdin, one per line; prints "ok" or the differences for each
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>

#include "sequence.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {
namespace {

constexpr int kShownMismatches = 10;
constexpr std::size_t kLeastSequences = testing::Repetitions(100);  // fewer indicate a broken recording

std::string FirstDifference(const State& wanted, const State& got) {
  const auto of = [](const State& state, const std::string& key) {
    const auto found = state.find(key);
    return found == state.end() ? "nothing" : "\"" + found->second + "\"";
  };
  State both = wanted;
  both.insert(got.begin(), got.end());
  for (const auto& [key, unused] : both) {
    if (of(wanted, key) != of(got, key))
      return fmt::format("{}: kube-scheduler {}, berth {}", key, of(wanted, key), of(got, key));
  }
  return "";
}

// Empty if the queues agree until the end.
std::string Compare(const Sequence& sequence) {
  Environment environment(sequence.options, sequence.start_millis, sequence.plugins);
  State wanted;
  int number = 0;
  for (const Step& step : sequence.steps) {
    const auto differs = [&](const std::string& what) {
      return fmt::format("step {} ({}): {}", number, step.operation.kind, what);
    };
    ++number;
    const std::string popped = environment.Apply(step.operation);
    if (popped != step.operation.popped)
      return differs(fmt::format("pop: kube-scheduler \"{}\", berth \"{}\"", step.operation.popped, popped));
    for (const std::string& key : step.gone) wanted.erase(key);
    for (const auto& [key, value] : step.set) wanted[key] = value;
    if (const State got = environment.Read(); got != wanted) return differs(FirstDifference(wanted, got));
  }
  return "";
}

std::string CompareLine(std::string_view line) {
  try {
    return Compare(ParseSequence(line));
  } catch (const std::exception& error) {
    return fmt::format("cannot be replayed: {}", error.what());
  }
}

int ReplayFile(const std::string& path) {
  std::size_t sequences = 0;
  int mismatches = 0;
  testing::ForEachLine(path, [&](std::string_view line) {
    ++sequences;
    const std::string difference = CompareLine(line);
    if (!difference.empty() && ++mismatches <= kShownMismatches)
      fmt::print("{}: {}\n", testing::FirstMember(line), difference);
  });
  fmt::print("{} sequences, {} mismatches\n", sequences, mismatches);
  return mismatches == 0 && sequences >= kLeastSequences ? 0 : 1;
}

std::string Answer(std::string_view line) {
  const std::string difference = CompareLine(line);
  return difference.empty() ? "ok" : difference;
}

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  return berth::testing::ReplayMain(argc, argv, "queue_replay", berth::replay::ReplayFile,
                                    berth::replay::Answer);
}
