#include "scheduler/recording/recorder.hpp"

#include <gtest/gtest.h>

#include "observability/log/log.hpp"
#include "testing/builders.hpp"
#include "testing/temporary_directory.hpp"

namespace berth::recording {
namespace {

TEST(Recorder, KeepsObjectsForSnapshotsUntilTheRecordingEnds) {
  log::SetVerbosity(-1);
  struct Case {
    const char* what;
    std::uint64_t total;
    bool kept;
  };
  for (const Case& c : std::initializer_list<Case>{{"there is room", 1u << 30, true},
                                                   {"the size limit is reached", 1, false}}) {
    const testing::TemporaryDirectory directory;
    const ManualClock clock;
    const auto recorder = Recorder::Create(directory.path() / "run", {.total = c.total}, clock).value();
    api::NodePtr node = testing::MakeNode("n").Share();
    const std::weak_ptr<const api::Node> known = node;
    recorder->BeginChange(ports::Change<api::Node>{nullptr, std::move(node)});
    recorder->End();
    recorder->WriteWaiting();
    EXPECT_EQ(!known.expired(), c.kept) << c.what;
  }
}

}  // namespace
}  // namespace berth::recording
