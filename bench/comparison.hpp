// Comparison of schedulers over HTTP: a sandbox as a process, one scheduler at a time beside it, and the
// pods.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_process.hpp"
#include "base/result.hpp"
#include "command_line/command.hpp"
#include "tools/load_generator/api_load.hpp"

namespace berth::command {

struct Contender {
  std::string name;
  std::string command;  // {kubeconfig} and {config} are replaced by file names
};

// The settings common to all comparisons.
struct Contest {
  std::vector<std::size_t> nodes = {1000, 5000};
  std::size_t rounds = 2;
  bool json_output = false;
  double timeout_seconds = 120;
  std::string sandbox;  // the program `berth`
  std::string pod_kind = "plain";
  std::vector<Contender> contenders;

  // Parses the command line: these settings, and the flags that the program added to the command. A value:
  // the exit code to end with.
  std::optional<int> Read(command_line::Command& command, int argc, char** argv);
  // Runs the rounds, alternating between the schedulers. measure(contender, result) measures a round and
  // print(result) prints it. The caller's Result gets `scheduler` and `nodes` before, and `error` if the
  // round failed.
  template <class Result>
  void Play(auto&& measure, auto&& print) const {
    for (const std::size_t size : nodes) {
      for (std::size_t i = 0; i < rounds; ++i) {
        for (const Contender& contender : contenders) {
          Result result;
          result.scheduler = contender.name;
          result.nodes = size;
          if (const Expected<void> done = measure(contender, result); !done)
            result.error = done.error().message;
          print(std::move(result));
        }
      }
    }
  }
};

// JSON of pods "<prefix>-0", "<prefix>-1", ... Plain: requests only. Spread: topology spread over zones
// (hard) and hosts. Varied: every pod has different requests.
std::vector<std::string> PodBodies(std::string_view kind, std::string_view prefix, std::size_t count);

// The files and processes of a round; removed and ended by the destructor.
struct Stage {
  std::filesystem::path folder;
  std::string kubeconfig, config;
  std::uint16_t port = 0;
  std::optional<ChildProcess> sandbox, scheduler;

  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  // `program`: path of berth.
  Expected<void> StartSandbox(const std::string& program, std::size_t nodes);
  Expected<void> StartScheduler(const Contender& contender);
  // Creates the pods; fails if the server rejects one.
  Expected<void> Post(const std::vector<std::string>& bodies,
                      const load_generator::PostOptions& options = {}) const;
  std::string LogTail() const;  // end of the scheduler's log
};

}  // namespace berth::command
