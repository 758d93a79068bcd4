#include "kubernetes/api/cow_ptr.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api {
namespace {

using ::testing::ElementsAre;

TEST(CowPtr, CopiesShareUntilOneIsWrittenTo) {
  CowPtr<std::string> a = std::string("one");
  CowPtr<std::string> b = a;
  EXPECT_EQ(a.identity(), b.identity());
  EXPECT_FALSE(a.unshared());
  *b += " and two";
  EXPECT_NE(a.identity(), b.identity());
  EXPECT_EQ(*std::as_const(a), "one");
  EXPECT_EQ(*std::as_const(b), "one and two");
  EXPECT_TRUE(a.unshared());
  EXPECT_FALSE(a == b);
}

TEST(CowPtr, AWriteToAnUnsharedValueStaysInPlace) {
  CowPtr<std::string> a = std::string("one");
  const auto* before = a.identity();
  *a = "two";
  EXPECT_EQ(a.identity(), before);
}

TEST(CowPtr, MemoIsRecomputedAfterAWrite) {
  int times = 0;
  const auto size = [&](const std::string& text) {
    ++times;
    return text.size();
  };
  EXPECT_EQ(CowPtr<std::string>().Memo(size), 0U);
  CowPtr<std::string> a = std::string("one");
  const CowPtr<std::string> b = a;
  EXPECT_EQ(a.Memo(size), 3U);
  EXPECT_EQ(b.Memo(size), 3U);
  EXPECT_EQ(times, 1);
  *a += " and two";
  EXPECT_EQ(a.Memo(size), 11U);
  *a += ", three";
  EXPECT_EQ(a.Memo(size), 18U);
  EXPECT_EQ(b.Memo(size), 3U);
  EXPECT_EQ(times, 3);
}

TEST(CowPtr, AMovedFromOrResetValueIsAbsent) {
  CowPtr<std::string> a = std::string("one");
  CowPtr<std::string> b = std::move(a);
  EXPECT_EQ(*std::as_const(b), "one");
  b = b;  // NOLINT: it has to survive this
  EXPECT_TRUE(b);
  b.reset();
  EXPECT_FALSE(b);
  EXPECT_TRUE(b == CowPtr<std::string>());
}

TEST(CowList, CopiesShareUntilOneIsWrittenTo) {
  const CowList<int> original = {1, 2, 3};
  CowList<int> copy = original;
  EXPECT_EQ(copy.identity(), original.identity());
  copy.erase(std::as_const(copy).begin());
  copy.push_back(4);
  copy.insert(std::as_const(copy).begin(), 0);
  for (int& item : copy) item *= 10;
  EXPECT_THAT(copy, ElementsAre(0, 20, 30, 40));
  EXPECT_THAT(original, ElementsAre(1, 2, 3));
}

TEST(CowList, AbsentAndEmptyAreTheSame) {
  CowList<int> emptied = {1};
  emptied.pop_back();
  EXPECT_TRUE(emptied == CowList<int>());
  EXPECT_THROW(static_cast<void>(std::as_const(emptied).at(0)), std::out_of_range);
}

TEST(ResourceList, IsSortedAndUnique) {
  ResourceList list = {{"memory", Quantity::FromInteger(2)}, {"cpu", Quantity::FromInteger(1)}};
  EXPECT_FALSE(list.try_emplace("cpu", Quantity::FromInteger(7)).second);
  list["pods"] = Quantity::FromInteger(3);
  const ResourceList copy = list;
  list.insert_or_assign("cpu", Quantity::FromInteger(5));
  EXPECT_EQ(list.erase("memory"), 1U);
  EXPECT_EQ(list.erase("memory"), 0U);
  EXPECT_FALSE(list.contains("memory"));
  std::vector<std::string> names;
  for (const auto& [name, amount] : copy) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("cpu", "memory", "pods"));
  EXPECT_EQ(copy.at("cpu").Value(), 1);
  EXPECT_EQ(list.at("cpu").Value(), 5);
  EXPECT_EQ(list.find("x"), list.end());
}

TEST(Sharing, PodsOfOneWorkloadShareEqualParts) {
  Decoder decoder;
  const auto pod = [&](const std::string& name, const std::string& cpu) {
    return *decoder.Object<Pod>(R"({"metadata": {"name": ")" + name + R"(", "labels": {"app": "web"}},
      "spec": {"nodeName": "n1", "tolerations": [{"key": "k"}],
               "containers": [{"name": "c", "resources": {"requests": {"cpu": ")" +
                                cpu + R"("}}, "volumeMounts": [{"name": ")" + name + R"("}]}]},
      "status": {"conditions": [{"type": "Ready", "lastTransitionTime": ")" +
                                name + R"("}]}})");
  };
  const Pod a = pod("a", "1"), b = pod("b", "1"), c = pod("c", "2");
  EXPECT_EQ(a.metadata.labels.identity(), b.metadata.labels.identity());
  EXPECT_EQ(a.spec.containers.identity(), b.spec.containers.identity());
  EXPECT_EQ(a.spec.tolerations.identity(), c.spec.tolerations.identity());
  EXPECT_EQ(a.status.conditions.identity(), b.status.conditions.identity());
  EXPECT_NE(a.spec.containers.identity(), c.spec.containers.identity());
  EXPECT_EQ(c.spec.containers.at(0).resources.requests.at("cpu").Value(), 2);
}

TEST(Sharing, ValuesOfManyBytesAreNotShared) {
  Decoder decoder;
  const auto pod = [&](int labels) {
    std::string text;
    for (int i = 0; i < labels; ++i) text += fmt::format("{}\"label-{}\": \"v\"", i == 0 ? "" : ", ", i);
    return *decoder.Object<Pod>(R"({"metadata": {"name": "p", "labels": {)" + text + "}}}");
  };
  // A label takes two strings.
  EXPECT_EQ(pod(3'000).metadata.labels.identity(), pod(3'000).metadata.labels.identity());
  const Pod large = pod(5'000);
  EXPECT_NE(large.metadata.labels.identity(), pod(5'000).metadata.labels.identity());
}

TEST(Sharing, EqualAmountsInDifferentFormsAreNotShared) {
  // The notation of a number determines how its sums are rounded and printed.
  Decoder decoder;
  const auto node = [&](const std::string& cpu) {
    return *decoder.Object<Node>(R"({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": ")" + cpu +
                                 R"("}}})");
  };
  EXPECT_NE(node("1").allocatable.identity(), node("1000m").allocatable.identity());
}

}  // namespace
}  // namespace berth::api
