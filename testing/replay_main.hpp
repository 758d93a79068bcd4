// The command line of the programs that compare Berth with recordings of one scenario per line.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "testing/recording_file.hpp"
#include "testing/repetitions.hpp"

namespace berth::testing {

// Calls visit(std::string_view) for every line of a recording, without its end of line; in a build with a
// sanitizer for every eighth line (testing/repetitions.hpp). Throws std::runtime_error if the file is missing
// or damaged.
template <class Visit>
void ForEachLine(const std::string& path, Visit&& visit) {
  constexpr std::size_t kEvery = 8 / Repetitions(8);
  const std::string text = ReadRecording(path);
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (line % kEvery == 0) visit(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
}

// The first member of a line, which tells its scenario from others: `"seed":7`.
inline std::string_view FirstMember(std::string_view line) { return line.substr(1, line.find(',') - 1); }

// Runs a program with one argument: the path of a recording, or "-" for scenarios on stdin. Returns its exit
// code: that of `replay_file` (a path), 0 at the end of stdin, or 2 for wrong usage and for exceptions.
// `answer` returns the line that is printed for a line of stdin. Nothing is logged: in these scenarios errors
// of plugins are normal.
template <class ReplayFile, class Answer>
int ReplayMain(int argc, char** argv, std::string_view program, ReplayFile&& replay_file, Answer&& answer) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: {} FILE.ndjson.zst | -\n", program);
    return 2;
  }
  const std::string path = argv[1];
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 2;
  try {
    if (path != "-") return replay_file(path);
    for (std::string line; std::getline(std::cin, line);) {
      fmt::print("{}\n", answer(line));
      std::fflush(stdout);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", program, error.what());
    return 2;
  }
}

}  // namespace berth::testing
