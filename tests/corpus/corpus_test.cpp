// Recorded results of kube-scheduler's plugins: for every scenario Berth's results must be equal, byte for
// byte.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/scheduler_config.hpp"
#include "history.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "testing/recording_file.hpp"

namespace berth {
namespace {

constexpr std::size_t kShownMismatches = 10;

// Changes applied to the engine before the scenario's cluster is loaded.
using Past = std::function<void(assembly::Engine&, const std::string& cluster)>;

std::vector<std::string> Evaluate(const std::string& config_text, const std::string& cluster,
                                  const Past& past) {
  const auto config = config::ParseSchedulerConfig(config_text);
  if (!config) throw std::runtime_error("configuration: " + config.error().message);
  std::vector<std::string> notes;
  auto explainer = assembly::Explainer::Create(*config, assembly::InTreePlugins(), notes);
  if (!explainer) throw std::runtime_error("profiles: " + explainer.error().message);
  std::vector<std::string> problems;
  if (auto loaded = (*explainer)->Load(cluster, "cluster", problems); !loaded) {
    throw std::runtime_error("cluster: " + loaded.error().message);
  }
  if (!problems.empty()) throw std::runtime_error("left out: " + problems.front());
  past((*explainer)->engine(), cluster);
  std::vector<std::string> records;
  auto evaluated = (*explainer)->Evaluate({}, [&](const assembly::Explainer::Evaluated& one) {
    records.push_back(record::ToJson(*one.record, (*explainer)->engine().reasons()));
  });
  if (!evaluated) throw std::runtime_error("evaluation: " + evaluated.error().message);
  return records;
}

// Evaluates every `every`-th scenario.
void Compare(const Past& past, std::size_t every) {
  const std::string text = berth::testing::ReadRecording(BERTH_CORPUS);
  simdjson::dom::parser parser;
  std::size_t number = 0;
  std::size_t scenarios = 0;
  std::size_t compared = 0;
  std::size_t mismatches = 0;
  const auto mismatch = [&](const std::string& what) {
    if (++mismatches <= kShownMismatches) ADD_FAILURE() << what;
  };
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    if (number++ % every != 0) continue;
    ++scenarios;
    const simdjson::dom::element scenario = parser.parse(line.data(), line.size());
    const std::string seed = "seed " + std::to_string(std::int64_t(scenario["seed"]));
    const std::string config{std::string_view(scenario["config"])};
    const std::string cluster = simdjson::minify(simdjson::dom::element(scenario["cluster"]));
    std::vector<std::string> wanted;
    for (const auto record : simdjson::dom::array(scenario["records"]))
      wanted.emplace_back(std::string_view(record));
    std::vector<std::string> got;
    try {
      got = Evaluate(config, cluster, past);
    } catch (const std::runtime_error& error) {
      mismatch(seed + ": " + error.what());
      continue;
    }
    if (got.size() != wanted.size()) {
      mismatch(seed + ": " + std::to_string(got.size()) + " records, wanted " +
               std::to_string(wanted.size()));
      continue;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ++compared;
      if (got[i] != wanted[i])
        mismatch(seed + "\n  berth:          " + got[i] + "\n  kube-scheduler: " + wanted[i]);
    }
  }
  EXPECT_EQ(mismatches, 0U) << "of " << compared << " records; the first " << kShownMismatches
                            << " are above";
  EXPECT_GE(scenarios * every, 1000U);
  EXPECT_GE(compared, scenarios);
}

TEST(Corpus, EveryRecordEqualsTheOneOfTheRealPlugins) {
  Compare([](assembly::Engine&, const std::string&) {}, BERTH_CORPUS_EVERY);
}

// Counters that follow the cluster's changes must be correct after any sequence of changes.
TEST(Corpus, WhatTheClusterWasBeforeMakesNoDifference) {
  std::uint64_t seed = 0;
  Compare([&](assembly::Engine& engine, const std::string& cluster) { LiveThrough(engine, cluster, ++seed); },
          3 * BERTH_CORPUS_EVERY);
}

}  // namespace
}  // namespace berth
