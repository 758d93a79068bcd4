#include "tools/simulate/named_configs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/temporary_directory.hpp"

namespace berth::simulate {
namespace {

class LoadConfigsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& more) const {
    std::ofstream(path_) << "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                         << more;
    return path_;
  }

  const berth::testing::TemporaryDirectory temporary_;
  const std::filesystem::path path_ = temporary_.path() / "given.yaml";
};

TEST_F(LoadConfigsTest, AnEmptyPathIsTheDefaultConfiguration) {
  const std::string file = Write("");
  const auto configs = LoadConfigs({"", file}, assembly::InTreePlugins(), {});
  ASSERT_TRUE(configs) << configs.error().message;
  ASSERT_EQ(configs->size(), 2u);
  EXPECT_EQ(configs->at(0).name, "default");
  EXPECT_EQ(configs->at(1).name, "given.yaml");
}

TEST_F(LoadConfigsTest, AConfigurationWithExtendersIsRejected) {
  const std::string file = Write("extenders:\n- urlPrefix: http://127.0.0.1:1\n  filterVerb: filter\n");
  const auto configs = LoadConfigs({"", file}, assembly::InTreePlugins(), {});
  ASSERT_FALSE(configs);
  EXPECT_EQ(configs.error().message, file + ": extenders: not simulated; remove them from the file");
}

}  // namespace
}  // namespace berth::simulate
