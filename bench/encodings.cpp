// What reading a pod costs by its encoding: pods of a Deployment as an API server sends them
// (tests/encodings), half of them waiting. The CPU time of the fastest of some rounds; for instructions,
//
//   valgrind --tool=callgrind --toggle-collect='*ReadAll*' build/bin/bench_encodings --rounds 1 --only
//   protobuf
//
//   bench_encodings [--file tests/encodings/deployed.zst] [--rounds 200] [--only json|protobuf] [--json]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

#include "api/decode.hpp"
#include "testing/zstd_file.hpp"

namespace berth::bench {
namespace {

struct Texts {
  std::vector<std::string> json, protobuf;
};

// The records of tests/encodings/main.go that are pods.
Texts PodsOf(const std::string& path) {
  Texts texts;
  std::istringstream file(testing::Decompressed(path));
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

double CpuMicros() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// A function of its own also when optimised, so that callgrind can count it alone.
[[gnu::noinline]] void ReadAll(api::Decoder& decoder, const std::vector<std::string>& texts,
                               std::vector<api::Pod>& pods) {
  for (const std::string& text : texts) {
    if (auto pod = decoder.Object<api::Pod>(text)) pods.push_back(*std::move(pod));
  }
}

void Measure(std::string_view encoding, const std::vector<std::string>& texts, int rounds, bool json) {
  api::Decoder decoder;
  std::vector<api::Pod> kept;  // as a cache would: what pods have alike is in use
  ReadAll(decoder, texts, kept);
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    std::vector<api::Pod> pods;
    pods.reserve(texts.size());
    const double begin = CpuMicros();
    ReadAll(decoder, texts, pods);
    best = std::min(best, CpuMicros() - begin);
  }
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  const double count = static_cast<double>(texts.size());
  if (json) {
    fmt::print(R"({{"name":"encodings/{}","value":{:.3f},"unit":"us/pod","bytes":{:.0f}}})"
               "\n",
               encoding, best / count, static_cast<double>(bytes) / count);
  } else {
    fmt::print("{:<9} {:>7.0f} bytes {:>8.2f} us of CPU per pod\n", encoding,
               static_cast<double>(bytes) / count, best / count);
  }
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  std::string path = BERTH_DEPLOYED_PODS, only;
  int rounds = 200;
  bool json = false;
  CLI::App app("What reading a pod costs by its encoding");
  app.add_option("--file", path, "as tests/encodings writes it");
  app.add_option("--rounds", rounds);
  app.add_option("--only", only)->check(CLI::IsMember({"json", "protobuf"}));
  app.add_flag("--json", json, "an object per line");
  CLI11_PARSE(app, argc, argv);
  const auto texts = berth::bench::PodsOf(path);
  if (only != "protobuf") berth::bench::Measure("json", texts.json, rounds, json);
  if (only != "json") berth::bench::Measure("protobuf", texts.protobuf, rounds, json);
}
