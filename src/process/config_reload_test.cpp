#include "process/config_reload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "process/file_watch.hpp"

namespace berth::process {
namespace {

TEST(FieldsThatNeedARestart, AreNamed) {
  struct Row {
    const char* name;
    std::function<void(config::SchedulerConfig&)> change;
    std::vector<std::string> fields;
  };
  const Row rows[] = {
      {"nothing changes", [](auto&) {}, {}},
      {"profiles can be reloaded", [](auto& config) { config.profiles[0].scheduler_name = "other"; }, {}},
      {"back-offs can be reloaded",
       [](auto& config) { config.pod_max_backoff = std::chrono::seconds(3); },
       {}},
      {"the lease",
       [](auto& config) { config.leader_election.resource_name = "other"; },
       {"leaderElection.resourceName"}},
      {"two fields",
       [](auto& config) {
         config.client_connection.kubeconfig = "/k";
         config.enable_profiling = false;
       },
       {"clientConnection.kubeconfig", "enableProfiling"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const config::SchedulerConfig before = config::DefaultSchedulerConfig();
    config::SchedulerConfig after = before;
    row.change(after);
    EXPECT_EQ(FieldsThatNeedARestart(before, after), row.fields);
  }
}

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.yaml") << "old";
  }
  ~FileWatchTest() override { std::filesystem::remove_all(folder); }

  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "file_watch_test";
};

// Each wait has a limit that the test would exceed by far if the change were not noticed.
TEST_F(FileWatchTest, NoticesAFileThatIsReplacedByRename) {
  FileWatch watch(folder / "config.yaml");
  auto waited = std::async(std::launch::async, [&] { watch.Wait(std::chrono::hours(1)); });
  std::ofstream(folder / "new") << "new";
  std::filesystem::rename(folder / "new", folder / "config.yaml");
  EXPECT_EQ(waited.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watch.Wake();
}

TEST_F(FileWatchTest, NoticesTheLinkOfAConfigMapVolume) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "volume" / "..1");
  std::ofstream(folder / "volume" / "..1" / "config.yaml") << "old";
  fs::create_directory_symlink("..1", folder / "volume" / "..data");
  fs::create_symlink("..data/config.yaml", folder / "volume" / "config.yaml");
  FileWatch watch(folder / "volume" / "config.yaml");
  auto waited = std::async(std::launch::async, [&] { watch.Wait(std::chrono::hours(1)); });
  fs::create_directory_symlink("..1", folder / "volume" / "..data_tmp");
  fs::rename(folder / "volume" / "..data_tmp", folder / "volume" / "..data");
  EXPECT_EQ(waited.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watch.Wake();
}

TEST_F(FileWatchTest, AWakeBeforeTheWaitCounts) {
  FileWatch watch("");
  watch.Wake();
  watch.Wait(std::chrono::hours(1));
}

}  // namespace
}  // namespace berth::process
