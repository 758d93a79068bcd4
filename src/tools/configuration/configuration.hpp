// `berth config`: checks and converts configuration files, and lists their fields.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::configuration {

// How files are read: like by the scheduler with the same flags.
struct ReadOptions {
  std::vector<std::string> feature_gates;  // "Feature=true,Other=false"
  std::vector<std::string> plugins;        // shared objects
};

struct CheckOptions {
  ReadOptions read;
  std::vector<std::string> files;  // "-": standard input
};

struct ConvertOptions {
  ReadOptions read;
  std::string file;          // "-": standard input
  std::string output = "-";  // "-": standard output
};

// All of them must be called before this process has other threads.

// Prints the profiles of each valid file to standard output and the errors of the others to standard error.
// Returns the exit code: 0, or 1 if a file is invalid.
Expected<int> RunCheck(const CheckOptions& options, const runtime::Registry& built_in);
// Writes the effective configuration as v1 with all defaults; prints changes of meaning to standard error.
Expected<int> RunConvert(const ConvertOptions& options, const runtime::Registry& built_in);
// Prints one line per field of a v1 file and of the plugins' arguments: owner, path, type and default,
// separated by tabs.
Expected<int> RunFields(const ReadOptions& options, const runtime::Registry& built_in);

}  // namespace berth::configuration
