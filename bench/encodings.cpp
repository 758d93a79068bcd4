// Cost of decoding a pod by encoding: pods of a Deployment as an API server sends them (tests/encodings),
// half of them pending. Prints the CPU time of the fastest round. To count instructions:
//
//   valgrind --tool=callgrind --toggle-collect='*ReadAll*' build/bin/bench_encodings --rounds 1 --only
//   protobuf
//
//   bench_encodings [--file tests/encodings/deployed.zst | --lists FOLDER] [--rounds 200] [--only
//   json|protobuf] [--json]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line/command.hpp"
#include "kubernetes/api/decode.hpp"
#include "testing/recording_file.hpp"

namespace berth::bench {
namespace {

struct Texts {
  std::vector<std::string> json, protobuf;
  bool lists = false;  // true: lists of pods; false: single pods
};

// The records of tests/encodings/main.go that contain pods.
Texts PodsOf(const std::string& path) {
  Texts texts;
  std::istringstream file(testing::ReadRecording(path));
  std::string what;
  std::size_t json_bytes = 0, protobuf_bytes = 0;
  while (file >> what >> json_bytes >> protobuf_bytes) {
    file.get();  // the end of the line
    std::string json(json_bytes, '\0'), protobuf(protobuf_bytes, '\0');
    file.read(json.data(), static_cast<std::streamsize>(json_bytes));
    file.read(protobuf.data(), static_cast<std::streamsize>(protobuf_bytes));
    if (what != "Pod") continue;
    texts.json.push_back(std::move(json));
    texts.protobuf.push_back(std::move(protobuf));
  }
  return texts;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Texts ListsIn(const std::string& folder) {
  return {{Contents(folder + "/pods.json")}, {Contents(folder + "/pods.pb")}, true};
}

double CpuMicros() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Not inlined, so that callgrind can count it alone.
[[gnu::noinline]] void ReadAll(api::Decoder& decoder, const std::vector<std::string>& texts, bool lists,
                               std::vector<std::shared_ptr<const api::Pod>>& pods) {
  for (const std::string& text : texts) {
    if (!lists) {
      if (auto pod = decoder.Object<api::Pod>(text))
        pods.push_back(std::make_shared<api::Pod>(*std::move(pod)));
    } else if (auto list = decoder.List<api::Pod>(text)) {
      pods.insert(pods.end(), list->items.begin(), list->items.end());
    }
  }
}

void Measure(std::string_view encoding, const std::vector<std::string>& texts, bool lists, int rounds,
             bool json) {
  api::Decoder decoder;
  // keeps the pods like a cache, so that shared parts are in use
  std::vector<std::shared_ptr<const api::Pod>> kept;
  ReadAll(decoder, texts, lists, kept);
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::shared_ptr<const api::Pod>> pods;
    pods.reserve(kept.size());
    const double begin = CpuMicros();
    ReadAll(decoder, texts, lists, pods);
    best = std::min(best, CpuMicros() - begin);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(kept.size(), 1));
  double bytes = 0;
  for (const std::string& text : texts) bytes += static_cast<double>(text.size());
  if (json) {
    fmt::print(R"({{"name":"encodings/{}","value":{:.3f},"unit":"us/pod","bytes":{:.0f}}})"
               "\n",
               encoding, best / count, bytes / count);
  } else {
    fmt::print("{:<9} {:>7.0f} bytes {:>8.2f} us of CPU per pod\n", encoding, bytes / count, best / count);
  }
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  std::string path = BERTH_DEPLOYED_PODS, folder, only;
  int rounds = 200;
  bool json = false;
  berth::command_line::Command command("bench_encodings", "Cost of decoding a pod by encoding.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Path("file", path, "recording written by tests/encodings");
  flags.String("lists", folder, "folder with pods.json and pods.pb", "FOLDER");
  flags.Integer("rounds", rounds, "number of rounds; the fastest counts", {.least = 1});
  flags.Choice("only", only, {"json", "protobuf"}, "measure only this encoding");
  flags.Bool("json", json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  try {
    const auto texts = folder.empty() ? berth::bench::PodsOf(path) : berth::bench::ListsIn(folder);
    if (only != "protobuf") berth::bench::Measure("json", texts.json, texts.lists, rounds, json);
    if (only != "json") berth::bench::Measure("protobuf", texts.protobuf, texts.lists, rounds, json);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_encodings: {}\n", error.what());
    return 1;
  }
}
