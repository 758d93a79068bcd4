// Runs Berth's scheduling queue through recorded sequences of kube-scheduler's queue and compares the visible
// state after every step.
//
//   queue_replay FILE.ndjson.zst    a recording: prints the differences; exit code 1 if there are any
//   queue_replay -                  sequences on stdin, one per line; prints "ok" or the differences for each
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "sequence.hpp"
#include "testing/zstd_file.hpp"

namespace berth::replay {
namespace {

constexpr int kShownMismatches = 10;
constexpr std::size_t kLeastSequences = 100;  // fewer indicate a broken recording

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
  const std::string text = testing::Decompressed(path);
  std::size_t sequences = 0;
  int mismatches = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++sequences;
    const std::string difference = CompareLine(line);
    if (!difference.empty() && ++mismatches <= kShownMismatches)
      fmt::print("{}: {}\n", line.substr(1, line.find(',') - 1), difference);
  }
  fmt::print("{} sequences, {} mismatches\n", sequences, mismatches);
  return mismatches == 0 && sequences >= kLeastSequences ? 0 : 1;
}

int ReplayInput() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string difference = CompareLine(line);
    fmt::print("{}\n", difference.empty() ? "ok" : difference);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: queue_replay FILE.ndjson.zst | -\n");
    return 2;
  }
  const std::string path = argv[1];
  // Failing hints are normal here, and each is logged.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 2;
  try {
    return path == "-" ? berth::replay::ReplayInput() : berth::replay::ReplayFile(path);
  } catch (const std::exception& error) {
    fmt::print("queue_replay: {}\n", error.what());
    return 2;
  }
}
