#include "tools/simulate/named_configs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scheduler/assembly/in_tree_plugins.hpp"

namespace berth::simulate {
namespace {

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& more)
      : path_(std::filesystem::path(::testing::TempDir()) /
              (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml")) {
    std::ofstream(path_) << "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                         << more;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  std::string path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

TEST(LoadConfigs, AnEmptyPathIsTheDefaultConfiguration) {
  const ConfigFile file("");
  const auto configs = LoadConfigs({"", file.path()}, assembly::InTreePlugins(), {});
  ASSERT_TRUE(configs) << configs.error().message;
  ASSERT_EQ(configs->size(), 2u);
  EXPECT_EQ(configs->at(0).name, "default");
  EXPECT_EQ(configs->at(1).name, "AnEmptyPathIsTheDefaultConfiguration.yaml");
}

TEST(LoadConfigs, AConfigurationWithExtendersIsRejected) {
  const ConfigFile file("extenders:\n- urlPrefix: http://127.0.0.1:1\n  filterVerb: filter\n");
  const auto configs = LoadConfigs({"", file.path()}, assembly::InTreePlugins(), {});
  ASSERT_FALSE(configs);
  EXPECT_EQ(configs.error().message, file.path() + ": extenders: not simulated; remove them from the file");
}

}  // namespace
}  // namespace berth::simulate
