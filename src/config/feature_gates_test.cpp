#include "config/feature_gates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Case {
  const char* sentence;
  std::vector<std::string> values;
  const char* gate;
  bool on;
};

TEST(FeatureGates, SetNamedGatesAndKeepOtherDefaults) {
  const Case cases[] = {
      {"a feature that is not set", {}, "VolumeLimitScaling", true},
      {"an alpha feature that is not set", {}, "InterPodAffinityHostnameFastPath", false},
      {"one gate is switched off", {"VolumeLimitScaling=false"}, "VolumeLimitScaling", false},
      {"the other gates stay", {"VolumeLimitScaling=false"}, "StorageCapacityScoring", true},
      {"several in one value",
       {"VolumeLimitScaling=false,StorageCapacityScoring=0"},
       "StorageCapacityScoring",
       false},
      {"the last mention counts",
       {"VolumeLimitScaling=false", "VolumeLimitScaling=true"},
       "VolumeLimitScaling",
       true},
      {"with the component's name", {"kube:VolumeLimitScaling=F"}, "VolumeLimitScaling", false},
      {"a whole stage", {"AllBeta=false"}, "SchedulerAsyncPreemption", false},
      {"a gate named besides its stage",
       {"AllBeta=false,SchedulerAsyncPreemption=true"},
       "SchedulerAsyncPreemption",
       true},
      {"spaces do not matter", {" VolumeLimitScaling = false "}, "VolumeLimitScaling", false},
  };
  for (const Case& c : cases) {
    std::vector<std::string> notes;
    const auto gates = FeatureGates::Parse(c.values, notes);
    ASSERT_TRUE(gates.has_value()) << c.sentence << ": " << gates.error().message;
    EXPECT_EQ(gates->Enabled(c.gate), c.on) << c.sentence;
  }
}

TEST(FeatureGates, ErrorsHaveKubeSchedulersTexts) {
  const std::pair<const char*, const char*> cases[] = {
      {"Foo=true", "unrecognized feature gate: Foo"},
      {"=true", "unrecognized feature gate: "},
      {"ContextualLogging", "missing bool value for ContextualLogging"},
      {"ContextualLogging=maybe",
       "invalid value of ContextualLogging=maybe, err: strconv.ParseBool: parsing \"maybe\": invalid syntax"},
      {"NodeDeclaredFeatures=false",
       "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true"},
      {"other:VolumeLimitScaling=false", "component not registered: other"},
      {"kube:VolumeLimitScaling=false,StorageCapacityScoring=true",
       "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"},
      {"DRADeviceTaints=false",
       "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]"},
  };
  for (const auto& [value, text] : cases) {
    std::vector<std::string> notes;
    const std::string values[] = {value};
    const auto gates = FeatureGates::Parse(values, notes);
    ASSERT_FALSE(gates.has_value()) << value;
    EXPECT_EQ(gates.error().message, text);
  }
}

TEST(FeatureGates, AGateWithoutEffectInBerthAddsANote) {
  std::vector<std::string> notes;
  const std::string off[] = {"OpportunisticBatching=false"};
  ASSERT_TRUE(FeatureGates::Parse(off, notes).has_value());
  EXPECT_THAT(notes,
              ElementsAre("feature gate OpportunisticBatching=false has no effect: Berth works as with "
                          "OpportunisticBatching=true"));
  notes.clear();
  const std::string as_ever[] = {"OpportunisticBatching=true"};
  ASSERT_TRUE(FeatureGates::Parse(as_ever, notes).has_value());
  EXPECT_THAT(notes, IsEmpty());
}

TEST(FeatureGates, AStageThatSwitchesGatesWithoutEffectAddsOneNote) {
  std::vector<std::string> notes;
  const std::string stage[] = {"AllBeta=false"};
  ASSERT_TRUE(FeatureGates::Parse(stage, notes).has_value());
  EXPECT_THAT(notes, ElementsAre("feature gate AllBeta=false has no effect on "
                                 "InPlacePodLevelResourcesVerticalScaling, NominatedNodeNameForExpectation, "
                                 "OpportunisticBatching, PodLevelResources, SchedulerPopFromBackoffQ: Berth "
                                 "works as with their defaults"));
  notes.clear();
  const std::string named[] = {
      "AllBeta=false,InPlacePodLevelResourcesVerticalScaling=true,NominatedNodeNameForExpectation=true,"
      "OpportunisticBatching=false,PodLevelResources=true,SchedulerPopFromBackoffQ=true"};
  const auto gates = FeatureGates::Parse(named, notes);
  ASSERT_TRUE(gates.has_value()) << gates.error().message;
  EXPECT_THAT(notes,
              ElementsAre("feature gate OpportunisticBatching=false has no effect: Berth works as with "
                          "OpportunisticBatching=true"))
      << "a gate that is named has its own note";
}

}  // namespace
}  // namespace berth::config
