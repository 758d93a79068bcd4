// What schedulers are compared on over HTTP: a sandbox as a process, one scheduler at a time beside it, and
// pods for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/demo/child_process.hpp"
#include "tools/load_generator/api_load.hpp"

namespace CLI {
class App;
}

namespace berth::command {

struct Contender {
  std::string name;
  std::string command;  // {kubeconfig} and {config} are replaced
};

// What every such comparison is told.
struct Contest {
  std::vector<std::size_t> nodes = {1000, 5000};
  std::size_t rounds = 2;
  bool json_output = false;
  double patience_seconds = 120;
  std::string sandbox;  // the program `berth`
  std::string pod_kind = "plain";
  std::vector<Contender> contenders;

  // Reads the command line: these settings, and what the program has given the app besides. A number: the
  // program is to end with it.
  std::optional<int> Read(CLI::App& app, int argc, char** argv);
  // The contenders take turns. A round is measured by measure(contender, result) and told by tell(result): of
  // the Result `scheduler` and `nodes` are known before, and `error` says why it could not be measured.
  template <class Result>
  void Play(auto&& measure, auto&& tell) const {
    for (const std::size_t size : nodes) {
      for (std::size_t i = 0; i < rounds; ++i) {
        for (const Contender& contender : contenders) {
          Result result;
          result.scheduler = contender.name;
          result.nodes = size;
          if (const Expected<void> done = measure(contender, result); !done)
            result.error = done.error().message;
          tell(std::move(result));
        }
      }
    }
  }
};

// JSON of pods "<prefix>-0", "<prefix>-1", ... Plain: requests only. Spread: over zones, hard, and hosts.
// Varied: every pod asks for something else.
std::vector<std::string> PodBodies(std::string_view kind, std::string_view prefix, std::size_t count);

// A round's files and processes; they end with it.
struct Stage {
  std::filesystem::path folder;
  std::string kubeconfig, config;
  std::uint16_t port = 0;
  std::optional<demo::ChildProcess> sandbox, scheduler;

  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  // `program`: berth.
  Expected<void> StartSandbox(const std::string& program, std::size_t nodes);
  Expected<void> StartScheduler(const Contender& contender);
  // Creates the pods; every one of them must be taken.
  Expected<void> Post(const std::vector<std::string>& bodies, const load_generator::PostOptions& options = {}) const;
  std::string LastWords() const;  // of the scheduler
};

}  // namespace berth::command
