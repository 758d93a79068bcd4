// Runs the linked fuzzer on every file of the given folders.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/fuzz.hpp"

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      const std::string input = std::move(text).str();
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      ++files;
    }
  }
  fmt::print("{} inputs\n", files);
  return files == 0 ? 1 : 0;
}
