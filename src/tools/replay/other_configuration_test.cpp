// Compares a recording with another configuration.
#include "tools/replay/other_configuration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "observability/log/log.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/builders.hpp"
#include "testing/temporary_directory.hpp"
#include "tools/replay/fake_recorded_scheduler.hpp"

namespace berth::replay {
namespace {

using testing::MakeNode;
using testing::MakePod;

// Readings of clocks are recorded as differences from the reading before.
TEST(OtherConfiguration, TheReadingsOfTheFirstStepCountOnce) {
  log::SetVerbosity(-1);
  const berth::testing::TemporaryDirectory temporary;
  const auto directory = temporary.path() / "run";
  WallTime end;
  {
    Recorded recorded(directory);
    recorded.Change<api::Node>(nullptr, MakeNode("n").Cpu("2").Share());
    recorded.Sync();
    recorded.Change<api::Pod>(nullptr, MakePod("a").Cpu("1").Share());
    recorded.Pass(std::chrono::seconds(20));
    recorded.Change<api::Pod>(nullptr, MakePod("b").Cpu("1").Share());
    end = recorded.wall_now();
  }
  std::vector<std::string> lines;
  {
    auto reader = Value(recording::SegmentReader::Open(directory));
    while (const auto line = reader.Next()) lines.emplace_back(*line);
  }
  constexpr std::string_view kReadings = R"("t":[)";
  const auto readings = lines.at(1).find(kReadings);
  ASSERT_NE(readings, std::string::npos) << lines[1];
  lines[1].insert(readings + kReadings.size(), R"({"w":3600000000000},)");
  std::filesystem::remove_all(directory);
  {
    const auto writer = Value(recording::SegmentWriter::Create(directory));
    for (const std::string& line : lines) ASSERT_TRUE(writer->Append(line + "\n").has_value());
  }
  const runtime::Registry plugins = assembly::InTreePlugins();
  const auto config = config::DefaultSchedulerConfig({}, &plugins.codecs());
  auto steps = Value(Steps::Open(directory));
  const OtherDecisions compared = Value(Compare(steps, config, plugins, [](std::uint64_t) {}));
  EXPECT_EQ(compared.ended_by, "");
  EXPECT_THAT(compared.text, ::testing::HasSubstr(" to " + FormatTime(end + std::chrono::hours(1)) + "\n"));
}

}  // namespace
}  // namespace berth::replay
