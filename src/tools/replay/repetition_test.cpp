// Records a scheduler and repeats it.
#include "tools/replay/repetition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "observability/log/log.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/builders.hpp"
#include "testing/temporary_directory.hpp"
#include "tools/replay/fake_recorded_scheduler.hpp"

namespace berth::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;

class RepetitionTest : public ::testing::Test {
 protected:
  RepetitionTest() { log::SetVerbosity(-1); }

  // Three nodes for five pods; the fifth does not fit until the first is deleted.
  void RecordFivePods(const recording::RecorderLimits& limits = {}) {
    Recorded recorded(directory_ / "run", limits);
    for (const char* name : {"n1", "n2", "n3"})
      recorded.Change<api::Node>(nullptr, MakeNode(name).Cpu("2").Share());
    recorded.Sync();
    std::vector<api::PodPtr> pods;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      recorded.writer.hold = pods.size() == 1;
      pods.push_back(MakePod(name).Cpu(pods.size() < 2 ? "2" : "1").Share());
      recorded.Change<api::Pod>(nullptr, pods.back());
    }
    recorded.writer.answer = Fail(ErrorCode::kConflict, "another client was first");
    recorded.writer.Release();  // the binding of the second
    recorded.writer.answer = {};
    recorded.writer.hold = false;
    recorded.Run();
    recorded.Change<api::Pod>(pods.front(), nullptr);
    recorded.Pass(std::chrono::seconds(20));
  }

  std::vector<std::string> Lines() const {
    auto reader = Value(recording::SegmentReader::Open(directory_ / "run"));
    std::vector<std::string> lines;
    while (const auto line = reader.Next()) lines.emplace_back(*line);
    return lines;
  }
  void Write(const std::vector<std::string>& lines) const {
    fs::remove_all(directory_ / "run");
    const auto writer = Value(recording::SegmentWriter::Create(directory_ / "run"));
    for (const std::string& line : lines) EXPECT_TRUE(writer->Append(line + "\n").has_value());
  }
  Repetition Repeated() const {
    auto steps = Value(Steps::Open(directory_ / "run"));
    return Value(Repeat(steps, assembly::InTreePlugins(), [](const Repetition&) {}));
  }

  const berth::testing::TemporaryDirectory temporary_;
  const fs::path& directory_ = temporary_.path();
};

TEST_F(RepetitionTest, TheSameDecisionsAreMade) {
  RecordFivePods();
  const Repetition result = Repeated();
  EXPECT_FALSE(result.difference) << result.difference->recorded << "\n" << result.difference->repeated;
  EXPECT_EQ(result.ended_by, "");
  EXPECT_EQ(result.deviations, 0);
  EXPECT_GE(result.attempts, 6);  // one pod is tried twice
  EXPECT_EQ(result.covered, std::chrono::seconds(20));
}

// Such as an explanation, which the loop makes in several steps, and which ends later.
TEST_F(RepetitionTest, WorkOfAnotherThreadIsNoPartOfTheRecording) {
  int done = 0;
  {
    Recorded recorded(directory_ / "run");
    recorded.Sync();
    recorded.loop().Post([&] {
      recorded.loop().Post([&] { ++done; });
      recorded.loop().PostAfter(std::chrono::seconds(5), [&] {
        ++done;
        recorded.loop().Post([&] { ++done; });
        recorded.loop().PostAfter(std::chrono::seconds(5), [&] { ++done; });
      });
    });
    recorded.Run();
    EXPECT_FALSE(recorded.loop().HasPostedWork());
    EXPECT_EQ(recorded.loop().timers().size(), 0U);
    recorded.Change<api::Node>(nullptr, MakeNode("n").Cpu("4").Memory("8Gi").Share());
    recorded.Pass(std::chrono::seconds(6));
    recorded.Change<api::Pod>(nullptr, MakePod("web").Cpu("1").Share());
    recorded.Pass(std::chrono::seconds(6));
  }
  EXPECT_EQ(done, 4);
  const Repetition result = Repeated();
  EXPECT_FALSE(result.difference) << result.difference->recorded << "\n" << result.difference->repeated;
  EXPECT_EQ(result.ended_by, "");
  EXPECT_EQ(result.deviations, 0);
  EXPECT_EQ(result.attempts, 1);
}

TEST_F(RepetitionTest, AChangedLineIsADifferenceOrTheEnd) {
  RecordFivePods();
  const std::vector<std::string> recorded = Lines();
  const struct {
    std::string_view name, from, to, what, end;
  } cases[] = {
      {"another node", R"("node":"n)", R"("node":"x)", "scheduling attempt", ""},
      {"another message", "Insufficient cpu", "Insufficient gpu", "scheduling attempt", ""},
      {"a decision that was not recorded", R"("attempts":[)", R"("others":[)", "scheduling attempt", ""},
      {"another amount of work", R"({"run":"write")", R"({"run":"loop")", "work of the loop", ""},
      {"an unknown kind", R"({"change":"Pod")", R"({"change":"Pot")", "", "the kind \"Pot\" is not known"},
      {"an unknown step", R"({"timers":true)", R"({"ticks":true)", "",
       "this version of Berth does not know the step"},
      {"an object that cannot be read", R"({"kind":"Node")", R"({"kind":"Nod)", "", "line"},
      {"a deletion of an unknown object", R"("deleted":"default/a")", R"("deleted":"default/x")", "",
       "Pod default/x is not known"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    std::vector<std::string> lines = recorded;
    bool changed = false;
    for (std::string& line : lines) {
      const auto at = line.find(test.from);
      if (changed || at == line.npos) continue;
      line.replace(at, test.from.size(), test.to);
      changed = true;
    }
    ASSERT_TRUE(changed);
    Write(lines);
    const Repetition result = Repeated();
    EXPECT_EQ(result.difference ? result.difference->what : "", test.what);
    EXPECT_THAT(result.ended_by, HasSubstr(test.end));
    EXPECT_EQ(result.ended_by.empty(), test.end.empty());
  }
}

// Which of them still has a meaning does not matter.
TEST_F(RepetitionTest, NoMissingOrRepeatedLineEndsTheProgram) {
  RecordFivePods();
  const std::vector<std::string> recorded = Lines();
  for (std::size_t i = 1; i < recorded.size(); ++i) {
    std::vector<std::string> lines = recorded;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    Write(lines);
    static_cast<void>(Repeated());
    lines = recorded;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), recorded[i]);
    Write(lines);
    static_cast<void>(Repeated());
  }
}

// Fails by a timeout of the test program.
TEST_F(RepetitionTest, ManyLinesAreWrittenBeforeTheirLongestWait) {
  Recorded recorded(directory_ / "run", {.waiting_bytes = 100});
  const auto written = [&] { return fs::file_size(fs::directory_iterator(directory_ / "run")->path()); };
  for (int i = 0; i < 20; ++i) {
    recorded.Flush();
    const std::uintmax_t before = written();
    recorded.Change<api::Node>(nullptr, MakeNode(std::to_string(i)).Share());
    while (written() == before) std::this_thread::yield();
  }
}

// How many are lost depends on the threads. A lost line that is not marked would be a difference.
TEST_F(RepetitionTest, LinesThatTheDiskWasTooSlowForAreTheEnd) {
  RecordFivePods({.waiting_bytes = 4000});
  const Repetition result = Repeated();
  EXPECT_FALSE(result.difference);
  EXPECT_THAT(result.ended_by, ::testing::AnyOf("", HasSubstr("because the disk was too slow")));
}

TEST_F(RepetitionTest, RecordingEndsAtItsLimitIfNoSnapshotWasPossible) {
  {
    Recorded recorded(directory_ / "run", {.total = 100});
    for (int i = 0; i < 20; ++i)
      recorded.Change<api::Node>(
          nullptr, MakeNode("n" + std::to_string(i)).Label("long", std::string(500'000, 'x')).Share());
  }
  const std::vector<std::string> lines = Lines();
  EXPECT_GT(lines.size(), 2);
  EXPECT_LT(lines.size(), 20) << "a frame has about a megabyte, and each node half of that";
  EXPECT_FALSE(Repeated().difference);
}

}  // namespace
}  // namespace berth::replay
