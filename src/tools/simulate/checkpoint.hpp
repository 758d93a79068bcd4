// The results of finished configurations of a comparison, kept in a file, so that an interrupted comparison
// can continue.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "tools/simulate/result.hpp"

namespace berth::simulate {

// What must be equal for results to be reused: names and values, in a fixed order.
using RunIdentity = std::vector<std::pair<std::string, std::string>>;

// The text of a file. Results read from it are equal in every bit.
std::string WriteCheckpoint(const RunIdentity& identity, const std::vector<Result>& results);
// Fails with the reason if the text is damaged, truncated, of another version, or of another identity: the
// error then names each value that differs.
Expected<std::vector<Result>> ReadCheckpoint(std::string_view text, const RunIdentity& identity);

// One file. One thread; another process must not use the file at the same time.
class Checkpoint {
 public:
  // Creates the file without results. An existing file is an error.
  static Expected<Checkpoint> Create(std::string path, RunIdentity identity);
  // Reads an existing file.
  static Expected<Checkpoint> Resume(std::string path, RunIdentity identity);

  // In the order of the configurations.
  const std::vector<Result>& results() const { return results_; }
  // Adds a finished configuration and replaces the file atomically: after a crash it has the results of
  // before or also the new one.
  Expected<void> Add(const Result& result);

 private:
  Checkpoint(std::string path, RunIdentity identity)
      : path_(std::move(path)), identity_(std::move(identity)) {}
  Expected<void> Store() const;

  std::string path_;
  RunIdentity identity_;
  std::vector<Result> results_;
};

}  // namespace berth::simulate
