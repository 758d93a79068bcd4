// Records a scheduler and repeats it.
#include "tools/replay/repetition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/lease_fence.hpp"
#include "config/write_config.hpp"
#include "observability/log/log.hpp"
#include "observability/tracing/attempt_trace.hpp"
#include "process/load_config.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/recording/recorder.hpp"
#include "testing/builders.hpp"
#include "testing/fakes.hpp"
#include "testing/temporary_directory.hpp"

namespace berth::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;

constexpr std::string_view kGates = "AllBeta=true";
constexpr std::string_view kConfig =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

template <class T>
T Value(Expected<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// A scheduler that is recorded.
class Recorded {
 public:
  explicit Recorded(const fs::path& directory, const recording::RecorderLimits& limits = {})
      : recorder_(Value(recording::Recorder::Create(directory, limits, clock_))) {
    const std::string gate_values[] = {std::string(kGates)};
    std::vector<std::string> notes;
    config_ = Value(process::ReadConfig(std::string(kConfig), plugins_,
                                        Value(config::FeatureGates::Parse(gate_values, notes))));
    recorder_->BeginStart();
    engine_ = Value(
        assembly::Engine::Build(config_, plugins_, {*recorded_writer_, events_, loop_, services_}, notes,
                                {.registry = &metrics_, .clock = &recorder_->clock(), .options = {}},
                                {.make_transport = {}, .circuit = {}}));
    const cycle::SchedulerOptions options;
    scheduler_ = std::make_unique<cycle::Scheduler>(
        options,
        cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(),
                              recorder_->clock(), metrics_, engine_->shared_extenders(), *fence_, tracer_,
                              [](std::size_t) { return true; }});
    recorder_->Watch(scheduler_->records());
    recording::Header header;
    header.version = "1";
    header.gates = kGates;
    header.config = config::WriteConfigForLog(config_, plugins_.codecs());
    header.options = options;
    recorder_->Start(recording::WriteHeader(header));
    recorder_->End();
  }
  ~Recorded() { loop_.DropPending(); }

  template <class T>
  void Change(std::shared_ptr<const T> before, std::shared_ptr<const T> after) {
    loop_.sink().On(ports::Change<T>{std::move(before), std::move(after)});
    Run();
  }
  void Sync() {
    loop_.sink().OnSynced();
    Run();
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    Run();
  }
  void Run() {
    while (loop_.RunOnce(*scheduler_)) {
    }
  }

  testing::FakeApiWriter writer;

 private:
  ManualClock clock_;
  const std::unique_ptr<recording::Recorder> recorder_;
  const LeaseFence open_ = LeaseFence::AlwaysOpen(clock_);
  const std::unique_ptr<Fence> fence_ = recorder_->Watch(open_);
  const std::unique_ptr<ports::ApiWriter> recorded_writer_ = recorder_->Watch(writer);
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  config::SchedulerConfig config_;
  metrics::Registry metrics_;
  tracing::NoTracer tracer_;
  testing::FakeEventSink events_;
  cycle::ClusterLoop loop_{recorder_->clock(), *recorder_};
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
};

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
    const auto writer = Value(recording::SegmentWriter::Create(directory_ / "run", {}));
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

// How many are lost depends on the threads. A lost line that is not marked would be a difference.
TEST_F(RepetitionTest, LinesThatTheDiskWasTooSlowForAreTheEnd) {
  RecordFivePods({.waiting_bytes = 4000});
  const Repetition result = Repeated();
  EXPECT_FALSE(result.difference);
  EXPECT_THAT(result.ended_by, ::testing::AnyOf("", HasSubstr("because the disk was too slow")));
}

TEST_F(RepetitionTest, RecordingEndsAtItsLimit) {
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
