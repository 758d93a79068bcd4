#include "config/field_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/write_config.hpp"

namespace berth::config {
namespace {

const FieldFact* Find(const std::vector<FieldFact>& fields, std::string_view path) {
  const auto found = std::ranges::find(fields, path, &FieldFact::path);
  return found == fields.end() ? nullptr : &*found;
}

TEST(FieldList, ListsTypesAndDefaultsAtEveryDepth) {
  const struct {
    const char* path;
    const char* type;
    const char* default_json;
  } kCases[] = {
      {"parallelism", "int32", "16"},
      {"enableProfiling", "bool", "true"},
      {"leaderElection.leaseDuration", "duration", "\"15s\""},
      {"profiles[].schedulerName", "string", "\"default-scheduler\""},
      {"profiles[].plugins.multiPoint.disabled[].name", "string", ""},
      {"profiles[].pluginConfig[].args", "", ""},
      {"extenders[].tlsConfig.caData", "[]uint8", ""},
      {"extenders[].managedResources[].ignoredByScheduler", "bool", ""},
  };
  const auto fields = FieldsOfConfiguration();
  for (const auto& one : kCases) {
    const FieldFact* field = Find(fields, one.path);
    ASSERT_NE(field, nullptr) << one.path;
    EXPECT_EQ(field->type, one.type) << one.path;
    EXPECT_EQ(field->default_json, one.default_json) << one.path;
  }
}

// Checks that every written default is listed, path by path.
void ExpectKnown(const std::vector<FieldFact>& fields, const Value& value, const std::string& path) {
  if (path != "" && path != "kind" && path != "apiVersion" && !path.ends_with("[]")) {
    EXPECT_NE(Find(fields, path), nullptr) << path;
  }
  for (const auto& [name, member] : value.members)
    ExpectKnown(fields, member, path.empty() ? name : path + "." + name);
  for (const Value& item : value.items) ExpectKnown(fields, item, path + "[]");
}

TEST(FieldList, ListsEveryFieldThatIsWritten) {
  const auto written = yaml::ParseValue(WriteConfigYaml(DefaultSchedulerConfig(), {}));
  ASSERT_TRUE(written);
  ExpectKnown(FieldsOfConfiguration(), *written, "");
}

TEST(FieldList, ListsEachFieldOnce) {
  auto fields = FieldsOfConfiguration();
  std::ranges::sort(fields, {}, &FieldFact::path);
  const auto twice = std::ranges::adjacent_find(fields, {}, &FieldFact::path);
  EXPECT_EQ(twice, fields.end()) << twice->path;
}

}  // namespace
}  // namespace berth::config
