#include <gtest/gtest.h>

#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps/a";

class ServerSideApply : public testing::Test {
 protected:
  RecordedResponse Apply(std::string_view manager, std::string_view rest, std::string_view query = "") {
    return cluster.Do("PATCH", fmt::format("{}?fieldManager={}{}", kMaps, manager, query),
                      fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}}{}{}}})",
                                  rest.empty() ? "" : ",", rest),
                      "application/apply-patch+yaml");
  }
  std::string Data() { return At(cluster.Get(std::string(kMaps)).Json(), "data"); }
  // "one Apply, two Update"
  std::string Managers() {
    const json::value object = cluster.Get(std::string(kMaps)).Json();
    std::string text;
    const json::array* entries = FindArray(object.as_object(), "metadata.managedFields");
    for (const auto& entry : entries != nullptr ? *entries : json::array())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", At(entry, "manager"), At(entry, "operation"));
    return text;
  }

  TestCluster cluster;
};

TEST_F(ServerSideApply, CreatesAMissingObject) {
  EXPECT_EQ(Apply("one", R"("data":{"x":"1"})").status, 201);
  EXPECT_EQ(Data(), R"({"x":"1"})");
  EXPECT_EQ(Managers(), "one Apply");
}

TEST_F(ServerSideApply, RepeatedApplyKeepsTheResourceVersion) {
  const json::value first = Apply("one", R"("data":{"x":"1"})").Json();
  const json::value second = Apply("one", R"("data":{"x":"1"})").Json();
  EXPECT_EQ(first, second);
}

TEST_F(ServerSideApply, RequiresAFieldManager) { EXPECT_EQ(Apply("", "").status, 422); }

TEST_F(ServerSideApply, ConflictNamesTheFieldAndItsManager) {
  Apply("one", R"("data":{"x":"1"})");
  const RecordedResponse response = Apply("two", R"("data":{"x":"2"})");
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(At(response.Json(), "message"), "Apply failed with 1 conflict: conflict with \"one\": .data.x");
  EXPECT_EQ(Data(), R"({"x":"1"})");
}

TEST_F(ServerSideApply, TheSameValueSharesOwnership) {
  Apply("one", R"("data":{"x":"1"})");
  EXPECT_EQ(Apply("two", R"("data":{"x":"1"})").status, 200);
  Apply("one", "");  // "one" releases the field; "two" still owns it
  EXPECT_EQ(Data(), R"({"x":"1"})");
}

TEST_F(ServerSideApply, ForceTakesOwnership) {
  Apply("one", R"("data":{"x":"1"})");
  EXPECT_EQ(Apply("two", R"("data":{"x":"2"})", "&force=true").status, 200);
  EXPECT_EQ(Data(), R"({"x":"2"})");
  EXPECT_EQ(Apply("one", R"("data":{"x":"1"})").status, 409);
}

TEST_F(ServerSideApply, RemovesFieldsThatTheManagerNoLongerApplies) {
  Apply("one", R"("data":{"x":"1","y":"1"})");
  Apply("one", R"("data":{"y":"1"})");
  EXPECT_EQ(Data(), R"({"y":"1"})");
}

TEST_F(ServerSideApply, ConflictsWithAnUpdateToo) {
  Apply("one", R"("data":{"x":"1"})");
  cluster.Do("PATCH", fmt::format("{}?fieldManager=editor", kMaps), R"({"data":{"x":"2"}})",
             "application/merge-patch+json");
  EXPECT_EQ(At(Apply("one", R"("data":{"x":"1"})").Json(), "message"),
            "Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.x");
}

TEST_F(ServerSideApply, ClearingManagedFieldsRemovesOwnership) {
  Apply("one", R"("data":{"x":"1"})");
  cluster.Patch(std::string(kMaps), R"({"metadata":{"managedFields":[]}})", "merge");
  EXPECT_EQ(Managers(), "");
  EXPECT_EQ(Apply("two", R"("data":{"x":"2"})").status, 200);
}

TEST_F(ServerSideApply, AnUnknownFieldIsNamedInTheError) {
  const RecordedResponse response = Apply("one", R"("dataa":{})");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(
      At(response.Json(), "message"),
      "failed to create typed patch object (/a; v1, Kind=ConfigMap): .dataa: field not declared in schema");
}

TEST(FieldSets, IdentifyListElementsByTheirKeys) {
  const auto pod = *Document::Parse(
      R"({"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}],"tolerations":[{"key":"a"}]}})");
  const FieldSet fields = FieldsOf(pod.root(), Known().pods.schema);
  std::string paths;
  fields.ForEachPath([&](const std::string& path) { paths += path + "\n"; });
  EXPECT_NE(
      paths.find(".spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"].containerPort\n"),
      std::string::npos)
      << paths;
  EXPECT_NE(paths.find(".spec.tolerations\n"), std::string::npos) << paths;
}

TEST(Merging, CommonElementsTakeTheOrderOfTheConfiguration) {
  const auto live = *Document::Parse(R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})");
  const auto config = *Document::Parse(R"({"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"d"}]}})");
  const json::object merged = MergeObjects(live.root(), config.root(), Known().pods.schema);
  EXPECT_EQ(json::serialize(merged.at("spec").at("containers")),
            R"([{"name":"b"},{"name":"c"},{"name":"a"},{"name":"d"}])");
}

}  // namespace
}  // namespace berth::sandbox
