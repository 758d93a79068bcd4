// Tests examples/loaded-plugins, loaded in the same way as in the scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "scheduler/framework/one_node.hpp"
#include "scheduler/plugin_host/plugin_loader.hpp"
#include "testing/cluster.hpp"

namespace berth::plugin_host {
namespace {

using framework::As;
using framework::Code;
using testing::Cluster;
using testing::Fits;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using testing::NodeScores;
using testing::Unschedulable;

class Example : public ::testing::Test {
 protected:
  framework::PluginOrError Make(const std::string& file, const std::string& args) {
    BERTH_TRY(const LoadedLibrary library, Load(std::string(EXAMPLE_PLUGINS) + "/" + file));
    const config::Value value = yaml::ParseValue(args).value();
    return library.plugins.at(0).factory({&value, "profiles[0].pluginConfig[0].args"}, cluster.handle());
  }
  Cluster cluster;
};

TEST_F(Example, HeadroomKeepsAShareForUrgentPods) {
  cluster.Add(MakeNode("empty").Cpu("10").Memory("100Gi")).Add(MakeNode("half").Cpu("10").Memory("100Gi"));
  cluster.Run("half", MakePod("there").Cpu("5").Memory("1Gi"));
  const auto plugin = Make("headroom.so", "{percent: 20, urgentPriority: 1000}").value();
  const auto& filter = *As<framework::FilterPlugin>(plugin.get());
  const auto verdicts = cluster.Filter(filter, MakePod().Cpu("4").Memory("1Gi"));
  EXPECT_EQ(verdicts.at("empty"), Fits());
  EXPECT_EQ(verdicts.at("half"), Unschedulable({"node(s) had to keep cpu free for urgent pods"}));
  EXPECT_EQ(cluster.Filter(filter, MakePod().Cpu("3").Memory("1Gi")).at("half"), Fits());
  const auto& pre_filter = *As<framework::PreFilterPlugin>(plugin.get());
  EXPECT_TRUE(cluster.PreFilter(pre_filter, MakePod()).status.ok());
  EXPECT_TRUE(cluster.PreFilter(pre_filter, MakePod().Priority(1000)).status.skip());
  EXPECT_EQ(cluster.Scores(*As<framework::ScorePlugin>(plugin.get()), MakePod().Cpu("1")),
            (NodeScores{{"empty", 90}, {"half", 40}}));
}

TEST_F(Example, ArgumentsAreChecked) {
  EXPECT_THAT(Make("headroom.so", "{percent: 100}").error().message,
              HasSubstr("profiles[0].pluginConfig[0].args.percent: Invalid value: must be between 0 and 99"));
  EXPECT_THAT(Make("headroom.so", "{percents: 10}").error().message, HasSubstr("unknown field \"percents\""));
  EXPECT_THAT(Make("gangs.so", "{waitSeconds: 0}").error().message,
              HasSubstr("args.waitSeconds: Invalid value: must be between 1 and 900"));
}

TEST_F(Example, GangsKeepsMembersApartAndWaitsForAll) {
  cluster.Add(MakeNode("one")).Add(MakeNode("two"));
  cluster.Run("one", MakePod("first").Label("gang", "g"));
  const std::string ledger = ::testing::TempDir() + "/ledger";
  std::remove(ledger.c_str());
  const auto plugin = Make("gangs.so", "{mostPerNode: 1, waitSeconds: 5, ledger: " + ledger + "}").value();
  const auto member = [](const char* name) {
    return MakePod(name).Label("gang", "g").Label("gang-size", "2");
  };
  auto& pre_filter = *As<framework::PreFilterPlugin>(plugin.get());
  EXPECT_TRUE(cluster.PreFilter(pre_filter, MakePod("alone")).status.skip());
  EXPECT_EQ(cluster.PreFilter(pre_filter, MakePod("odd").Label("gang", "g")).status.code,
            Code::kUnschedulableAndUnresolvable);
  ASSERT_TRUE(cluster.PreFilter(pre_filter, member("a")).status.ok());
  const auto verdicts = cluster.Filter(*As<framework::FilterPlugin>(plugin.get()), member("a"));
  EXPECT_EQ(verdicts.at("one"), Unschedulable({"node(s) had enough members of the gang"}));
  EXPECT_EQ(verdicts.at("two"), Fits());
  EXPECT_EQ(cluster.Scores(*As<framework::ScorePlugin>(plugin.get()), member("a")),
            (NodeScores{{"one", 0}, {"two", 100}}));

  const cluster::PodInfo a = cluster.Prepare(member("a")), b = cluster.Prepare(member("b"));
  const std::string node = "two";
  const framework::Placement of_a{a, node, cluster.state()}, of_b{b, node, cluster.state()};
  auto& reserve = *As<framework::ReservePlugin>(plugin.get());
  auto& permit = *As<framework::PermitPlugin>(plugin.get());
  EXPECT_TRUE(reserve.Reserve(of_a).ok());
  const auto first = permit.Permit(of_a);
  EXPECT_EQ(first.status.code, Code::kWait);
  EXPECT_EQ(first.timeout, std::chrono::seconds(5));
  EXPECT_TRUE(reserve.Reserve(of_b).ok());
  EXPECT_TRUE(permit.Permit(of_b).status.ok());
  auto& pre_bind = dynamic_cast<framework::BlockingPreBindPlugin&>(*plugin);
  EXPECT_TRUE(pre_bind.PreBindPreFlight(of_a).status.ok());
  EXPECT_TRUE(pre_bind.PreBindNow(of_a, {}).ok());
  As<framework::PostBindPlugin>(plugin.get())->PostBind(of_a);
  std::ostringstream text;
  text << std::ifstream(ledger).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("/g a two\n"));
  reserve.Unreserve(of_b);
  EXPECT_EQ(permit.Permit(of_b).status.code, Code::kWait) << "the gang begins anew";
}

}  // namespace
}  // namespace berth::plugin_host
