#include "sandbox/apiserver/patch/patch.hpp"

#include <gtest/gtest.h>

namespace berth::sandbox {
namespace {

struct PatchCase {
  std::string name;
  std::string before;
  std::string patch;
  std::string after;
};
void PrintTo(const PatchCase& row, std::ostream* out) { *out << row.name; }

class StrategicPatch : public testing::TestWithParam<PatchCase> {};
TEST_P(StrategicPatch, ProducesTheExpectedObject) {
  Document document = *Document::Parse(GetParam().before);
  const auto applied = ApplyStrategicPatch(document.root(), Document::Parse(GetParam().patch)->root());
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_EQ(json::value(document.root()), json::parse(GetParam().after)) << json::serialize(document.root());
}
INSTANTIATE_TEST_SUITE_P(
    Table, StrategicPatch,
    testing::Values(
        PatchCase{"MapsMergeAndNullDeletes", R"({"a":{"x":1,"y":2}})", R"({"a":{"x":null,"z":3}})",
                  R"({"a":{"y":2,"z":3}})"},
        PatchCase{
            "ConditionsMergeByType",
            R"({"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]})",
            R"({"conditions":[{"type":"B","message":"m"}]})",
            R"({"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True","message":"m"}]})"},
        PatchCase{"ANewConditionIsAppended", R"({})", R"({"conditions":[{"type":"A","lastProbeTime":null}]})",
                  R"({"conditions":[{"type":"A"}]})"},
        PatchCase{"AnElementCanBeDeleted", R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"containers":[{"name":"a","$patch":"delete"}]})", R"({"containers":[{"name":"b"}]})"},
        PatchCase{"OfElementsWithTheSameKeyTheFirstIsMerged",
                  R"({"containers":[{"name":"a","x":1},{"name":"b"},{"name":"a","x":2}]})",
                  R"({"containers":[{"name":"a","y":3}]})",
                  R"({"containers":[{"name":"a","x":1,"y":3},{"name":"a","x":2},{"name":"b"}]})"},
        PatchCase{"AllElementsWithTheKeyAreDeleted",
                  R"({"containers":[{"name":"a","x":1},{"name":"b"},{"name":"a","x":2}]})",
                  R"({"containers":[{"name":"a","$patch":"delete"}]})", R"({"containers":[{"name":"b"}]})"},
        PatchCase{"ADeletionTakesEffectBeforeAllMerges",
                  R"({"containers":[{"name":"b"},{"name":"a","x":1}]})",
                  R"({"containers":[{"name":"a","y":2},{"name":"a","$patch":"delete"}]})",
                  R"({"containers":[{"name":"a","y":2},{"name":"b"}]})"},
        PatchCase{"ANewElementIsBeforeThoseOfTheServerOnly", R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"containers":[{"name":"c"}]})",
                  R"({"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]})"},
        PatchCase{"ElementsGetTheOrderOfThePatch",
                  R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]})",
                  R"({"containers":[{"name":"c","x":1},{"name":"b","x":2}]})",
                  R"({"containers":[{"name":"a"},{"name":"c","x":1},{"name":"b","x":2},{"name":"d"}]})"},
        PatchCase{
            "AnOrderOfThePatchPlacesNewElements",
            R"({"containers":[{"name":"a"},{"name":"s"},{"name":"b"}]})",
            R"({"$setElementOrder/containers":[{"name":"a"},{"name":"n"},{"name":"b"}],"containers":[{"name":"n"}]})",
            R"({"containers":[{"name":"a"},{"name":"n"},{"name":"s"},{"name":"b"}]})"},
        PatchCase{"AnElementAddedEarlierInThePatchIsMerged", R"({"containers":[]})",
                  R"({"containers":[{"name":"a","x":1},{"name":"a","y":2}]})",
                  R"({"containers":[{"name":"a","x":1,"y":2}]})"},
        PatchCase{"AListCanBeReplaced", R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"containers":[{"name":"c"},{"$patch":"replace"},{"name":"a","$patch":"delete"}]})",
                  R"({"containers":[{"name":"c"}]})"},
        PatchCase{"TolerationsAndTaintsAreAtomic", R"({"taints":[{"key":"a"}],"tolerations":[{"key":"a"}]})",
                  R"({"taints":[{"key":"b"}],"tolerations":[{"key":"b"}]})",
                  R"({"taints":[{"key":"b"}],"tolerations":[{"key":"b"}]})"},
        PatchCase{
            "AContainersPortsMergeByContainerPort",
            R"({"containers":[{"name":"a","ports":[{"containerPort":80,"name":"x"}]}]})",
            R"({"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"TCP"}]}]})",
            R"({"containers":[{"name":"a","ports":[{"containerPort":80,"name":"x","protocol":"TCP"}]}]})"},
        PatchCase{"AServicesPortsMergeByPort", R"({"spec":{"ports":[{"port":80}]}})",
                  R"({"spec":{"ports":[{"port":80,"name":"x"}]}})",
                  R"({"spec":{"ports":[{"port":80,"name":"x"}]}})"},
        PatchCase{"FinalizersAreASet", R"({"finalizers":["a"]})", R"({"finalizers":["b","a"]})",
                  R"({"finalizers":["b","a"]})"},
        PatchCase{"PrimitivesCanBeDeleted", R"({"finalizers":["a","b"]})",
                  R"({"$deleteFromPrimitiveList/finalizers":["a"]})", R"({"finalizers":["b"]})"},
        PatchCase{
            "TheOrderIsObeyedAndNotStored", R"({"conditions":[{"type":"A"},{"type":"B"}]})",
            R"({"$setElementOrder/conditions":[{"type":"B"},{"type":"A"}],"conditions":[{"type":"B","status":"True"}]})",
            R"({"conditions":[{"type":"B","status":"True"},{"type":"A"}]})"},
        PatchCase{"OnlyTheRetainedKeysStay", R"({"strategy":{"type":"RollingUpdate","rollingUpdate":{}}})",
                  R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})",
                  R"({"strategy":{"type":"Recreate"}})"},
        PatchCase{"AMapCanBeReplaced", R"({"a":{"x":1}})", R"({"a":{"$patch":"replace","y":2}})",
                  R"({"a":{"y":2}})"}),
    [](const auto& row) { return row.param.name; });

TEST(StrategicPatch, AnUnknownDirectiveIsAnInternalErrorAsInKubeApiserver) {
  for (const char* patch :
       {R"({"metadata":{"$patch":"merge"}})", R"({"containers":[{"name":"a","$patch":7}]})",
        R"({"containers":[{"name":"a","$patch":"merge"}]})"}) {
    Document document = *Document::Parse(R"({"containers":[{"name":"a"}]})");
    const auto applied = ApplyStrategicPatch(document.root(), Document::Parse(patch)->root());
    ASSERT_FALSE(applied.has_value()) << patch;
    EXPECT_EQ(applied.error().code, 500) << patch;
  }
}

TEST(StrategicPatch, AnElementWithoutItsKeyIsAnInternalErrorAsInKubeApiserver) {
  Document document = *Document::Parse(R"({"containers":[{"name":"a"}]})");
  const auto applied =
      ApplyStrategicPatch(document.root(), Document::Parse(R"({"containers":[{"image":"x"}]})")->root());
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().code, 500);
}

TEST(MergePatch, ReplacesListsAndDeletesNulls) {
  Document document = *Document::Parse(R"({"a":[1,2],"b":{"c":1,"d":2}})");
  ApplyMergePatch(document.root(), Document::Parse(R"({"a":[3],"b":{"c":null},"e":{"f":null}})")->root());
  EXPECT_EQ(json::value(document.root()), json::parse(R"({"a":[3],"b":{"d":2},"e":{}})"));
}

struct JsonPatchCase {
  std::string name;
  std::string operations;
  std::string after;  // empty: rejected
};
void PrintTo(const JsonPatchCase& row, std::ostream* out) { *out << row.name; }
class JsonPatch : public testing::TestWithParam<JsonPatchCase> {};
TEST_P(JsonPatch, ChangesTheObjectOrIsRejected) {
  json::value document = json::parse(R"({"a":{"b/c":1},"l":[1,2]})");
  const auto applied = ApplyJsonPatch(document, json::parse(GetParam().operations).as_array());
  ASSERT_EQ(applied.has_value(), !GetParam().after.empty());
  if (applied)
    EXPECT_EQ(document, json::parse(GetParam().after)) << json::serialize(document);
  else
    EXPECT_EQ(applied.error().code, 422);
}
INSTANTIATE_TEST_SUITE_P(
    Table, JsonPatch,
    testing::Values(
        JsonPatchCase{"Add", R"([{"op":"add","path":"/x","value":1}])", R"({"a":{"b/c":1},"l":[1,2],"x":1})"},
        JsonPatchCase{"AddIntoAList",
                      R"([{"op":"add","path":"/l/1","value":9},{"op":"add","path":"/l/-","value":8}])",
                      R"({"a":{"b/c":1},"l":[1,9,2,8]})"},
        JsonPatchCase{"RemoveWithAnEscapedKey", R"([{"op":"remove","path":"/a/b~1c"}])",
                      R"({"a":{},"l":[1,2]})"},
        JsonPatchCase{"ReplaceOfNothing", R"([{"op":"replace","path":"/x","value":1}])", ""},
        JsonPatchCase{"TestHolds", R"([{"op":"test","path":"/l/0","value":1},{"op":"remove","path":"/a"}])",
                      R"({"l":[1,2]})"},
        JsonPatchCase{"TestFails", R"([{"op":"test","path":"/l/0","value":2}])", ""},
        JsonPatchCase{"Move", R"([{"op":"move","from":"/l","path":"/m"}])", R"({"a":{"b/c":1},"m":[1,2]})"},
        JsonPatchCase{"Copy", R"([{"op":"copy","from":"/l","path":"/m"}])",
                      R"({"a":{"b/c":1},"l":[1,2],"m":[1,2]})"},
        JsonPatchCase{"NoSuchOperation", R"([{"op":"frob","path":"/l"}])", ""},
        JsonPatchCase{"AnIndexBeyondTheEnd", R"([{"op":"add","path":"/l/5","value":1}])", ""},
        JsonPatchCase{"NotAnObject", R"([1])", ""}),
    [](const auto& row) { return row.param.name; });

// {"op":"copy"} operations that each put the whole document below itself.
json::array Doublings(int count) {
  json::array operations;
  for (int i = 0; i < count; ++i)
    operations.push_back(json::object{{"op", "copy"}, {"from", ""}, {"path", "/x" + std::to_string(i)}});
  return operations;
}

TEST(JsonPatch, CopiesOfMoreThanThreeMegabytesAreRejected) {
  json::value document = json::parse(R"({"a":"0123456789"})");
  EXPECT_TRUE(ApplyJsonPatch(document, Doublings(10)).has_value());
  document = json::parse(R"({"a":"0123456789"})");
  const auto applied = ApplyJsonPatch(document, Doublings(20));
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().code, 422);
}

TEST(JsonPatch, ADocumentCannotBeNestedDeeperThanItsParserAccepts) {
  json::value document = json::parse(R"({"a":1})");
  json::array operations;
  std::string path;
  for (std::size_t i = 1; i < kMaxNesting; ++i) {
    path += "/a";
    operations.push_back(json::object{{"op", "add"}, {"path", path}, {"value", json::object()}});
  }
  ASSERT_TRUE(ApplyJsonPatch(document, operations).has_value());
  EXPECT_TRUE(Document::Parse(json::serialize(document)).has_value());
  for (const std::string_view op : {"add", "copy", "move"}) {
    json::value copy = document;
    json::array last{
        json::object{{"op", "add"}, {"path", "/b"}, {"value", json::object()}},
        json::object{{"op", op}, {"from", "/b"}, {"path", path + "/a"}, {"value", json::object()}}};
    const auto applied = ApplyJsonPatch(copy, last);
    ASSERT_FALSE(applied.has_value()) << op;
    EXPECT_EQ(applied.error().code, 422);
  }
}

}  // namespace
}  // namespace berth::sandbox
