// Recordings: every one is repeated up to its damage, or rejected with an error. An input is the lines of a
// recording, or, after an X, the content of its file.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "observability/log/log.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/recording/segments.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tools/replay/repetition.hpp"

namespace {

namespace fs = std::filesystem;
using berth::fuzz::Require;

// In memory where the system has such a directory.
class Directory {
 public:
  Directory() {
    const fs::path memory = "/dev/shm";
    path_ =
        (fs::exists(memory) ? memory : fs::temp_directory_path()) / fmt::format("berth-fuzz-{}", getpid());
  }
  ~Directory() { Clear(); }
  void Clear() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void WriteFile(const fs::path& directory, std::string_view content) {
  fs::create_directories(directory);
  std::ofstream(directory / "000001.jsonl.zst", std::ios::binary) << content;
}

void WriteLines(const fs::path& directory, std::string_view lines) {
  const auto writer = berth::recording::SegmentWriter::Create(directory);
  Require(writer.has_value(), "the directory is empty");
  for (const std::string& line : berth::fuzz::Lines(lines))
    Require((*writer)->Append(line + "\n").has_value(), "the disk has space");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  static const berth::runtime::Registry plugins = berth::assembly::InTreePlugins();
  berth::log::SetVerbosity(-1);
  directory.Clear();
  const std::string_view input = berth::fuzz::Text(data, size);
  input.starts_with('X') ? WriteFile(directory.path(), input.substr(1)) : WriteLines(directory.path(), input);
  auto steps = berth::replay::Steps::Open(directory.path());
  if (!steps) {
    Require(!steps.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  const auto result = berth::replay::Repeat(*steps, plugins, [](const berth::replay::Repetition&) {});
  Require(result.has_value() || !result.error().message.empty(), "a refusal has a reason");
  return 0;
}
