// `berth sandbox`: a sandbox as a process of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sandbox/cluster/sandbox.hpp"

namespace berth::sandbox {

inline constexpr std::size_t kDefaultNodes = 10;

struct RunOptions {
  SandboxOptions sandbox;            // without what the following options determine
  std::optional<std::size_t> nodes;  // nullopt: kDefaultNodes, or none with nodes_file or load
  std::int64_t node_cpus = 0;        // of each node; 0: a mix of sizes
  std::int64_t node_memory_gib = 0;  // of each node; 0: 4 per CPU
  std::int64_t node_pods = 110;      // maximum number of pods per node
  // Paths of files; empty: none. "-" is standard input where a file is read.
  std::string kubeconfig;  // written; an existing file is replaced only if a sandbox has written it
  std::string nodes_file;  // node groups
  std::string policy;      // users, tokens and access rules
  std::string load;        // initial objects
  bool scheduler = false;  // runs `berth scheduler` as a child process, which ends with the sandbox
  std::string save;  // all objects, written at the end and on SIGUSR1; as JSON if its name ends in .json
};

// Runs until SIGINT or SIGTERM, or until the scheduler has ended, and returns the exit code: 0, or 1 after an
// error, which has been printed to standard error.
int RunSandbox(const RunOptions& run);

}  // namespace berth::sandbox
