#include "kubernetes/client/freshness_barrier.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/fake_api.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kReadVersion = "GET /api/v1/pods?fieldSelector=phase%21%3Dx&limit=1";
constexpr const char* kReadAll =
    "GET /api/v1/pods?fieldSelector=phase%21%3Dx&resourceVersion=99&resourceVersionMatch=NotOlderThan";

using Objects = std::map<std::string, std::string>;  // "ns/name" and version

std::string List(std::string_view version, const Objects& objects) {
  std::string items;
  for (const auto& [key, v] : objects) {
    const auto slash = key.find('/');
    items += fmt::format(R"({}{{"metadata":{{"namespace":"{}","name":"{}","resourceVersion":"{}"}}}})",
                         items.empty() ? "" : ",", key.substr(0, slash), key.substr(slash + 1), v);
  }
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version, items);
}

// A view that the test updates, and the result of the proof.
class FreshnessBarrierTest : public testing::Test {
 protected:
  FreshnessBarrierTest() {
    catch_up_ = std::make_unique<FreshnessBarrier>(
        loop_, api_, decoder_, random_,
        FreshnessBarrierOptions{.resource = "pods", .path = "/api/v1/pods", .field_selector = "phase!=x"},
        FreshnessView{.version_of = [this](std::string_view ns, std::string_view name) -> const std::string* {
                        const auto found = known_.find(fmt::format("{}/{}", ns, name));
                        return found == known_.end() ? nullptr : &found->second;
                      },
                      .each =
                          [this](const auto& visit) {
                            for (const auto& [key, version] : known_) visit(key, version);
                          },
                      .size = [this] { return known_.size(); },
                      .last_version = [this] { return std::string_view(last_); },
                      .unreadable = [](std::string_view key) { return key == "ns/rubbish"; },
                      .list_again = [this] { ++lists_; }},
        [this](std::string_view how) { ended_.emplace_back(how); });
  }
  void Observe(const std::string& key, const std::string& version) {
    known_[key] = last_ = version;
    catch_up_->OnEvent(key, version, false);
  }
  void HearEnd(const std::string& key, const std::string& version) {
    known_.erase(key);
    last_ = version;
    catch_up_->OnEvent(key, version, true);
  }
  // Responds to the first request; the second is in flight.
  void StartAt(std::string_view version) {
    catch_up_->Start();
    api_.Answer(List(version, {}));
    loop_.Advance(20ms);
  }

  http::FakeLoop loop_;
  FakeApi api_;
  api::Decoder decoder_;
  Random random_{1};
  Objects known_;
  std::string last_ = "10";
  int lists_ = 0;  // requested by the barrier
  std::vector<std::string> ended_;
  std::unique_ptr<FreshnessBarrier> catch_up_;
};

TEST_F(FreshnessBarrierTest, AWatchAtTheQuorumVersionIsSufficient) {
  catch_up_->Start();
  EXPECT_THAT(api_.sent, ElementsAre(kReadVersion));
  EXPECT_EQ(api_.open[0].request.accept,
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  api_.Answer(List("10", {}));
  EXPECT_THAT(ended_, ElementsAre("watch"));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(FreshnessBarrierTest, AnyLaterEventOfTheWatchIsSufficient) {
  catch_up_->Start();
  api_.Answer(List("14", {}));
  Observe("ns/a", "13");
  EXPECT_THAT(ended_, IsEmpty());
  last_ = "15";
  catch_up_->OnProgress(/*replaced=*/false);
  EXPECT_THAT(ended_, ElementsAre("watch"));
  loop_.Advance(10s);
  EXPECT_THAT(api_.sent, SizeIs(1)) << "no further request";
}

TEST_F(FreshnessBarrierTest, AnEventDuringTheReadIsSufficient) {
  catch_up_->Start();
  Observe("ns/a", "100");
  api_.Answer(List("99", {}));
  EXPECT_THAT(ended_, ElementsAre("watch"));
}

TEST_F(FreshnessBarrierTest, AViewOfARestoredServerIsFreshOnceItIsReplaced) {
  known_ = {{"ns/a", "95"}, {"ns/gone", "100"}};
  last_ = "100";
  StartAt("99");
  EXPECT_EQ(lists_, 1) << "its version is from another history";
  EXPECT_THAT(api_.sent, ElementsAre(kReadVersion));
  Observe("ns/b", "101");
  last_ = "102";
  catch_up_->OnProgress(/*replaced=*/false);
  EXPECT_THAT(ended_, IsEmpty()) << "events do not tell what it lacks of the new history";
  known_ = {{"ns/a", "92"}, {"ns/b", "101"}};
  catch_up_->OnProgress(/*replaced=*/true);
  EXPECT_THAT(ended_, ElementsAre("watch"));
  EXPECT_EQ(lists_, 1);
}

TEST_F(FreshnessBarrierTest, VersionsAreComparedAsNumbers) {
  last_ = "9";
  catch_up_->Start();
  api_.Answer(List("10", {}));
  EXPECT_THAT(ended_, IsEmpty());
  Observe("ns/a", "100");
  EXPECT_THAT(ended_, ElementsAre("watch"));
}

TEST_F(FreshnessBarrierTest, NonNumericVersionsCanOnlyBeEqual) {
  last_ = "abc";
  catch_up_->Start();
  api_.Answer(List("abd", {}));
  Observe("ns/a", "abe");
  EXPECT_THAT(ended_, IsEmpty());
  Observe("ns/a", "abd");
  EXPECT_THAT(ended_, ElementsAre("watch"));
}

TEST_F(FreshnessBarrierTest, InAQuietClusterAMatchingFullListIsSufficient) {
  known_ = {{"ns/a", "7"}, {"ns/b", "10"}};
  StartAt("99");
  EXPECT_THAT(api_.sent, ElementsAre(kReadVersion, kReadAll));
  api_.Answer(List("99", known_));
  EXPECT_THAT(ended_, ElementsAre("list"));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(FreshnessBarrierTest, WaitsForEveryOutdatedObject) {
  known_ = {{"ns/a", "7"}, {"ns/b", "8"}};
  StartAt("99");
  api_.Answer(List("99", {{"ns/a", "50"}, {"ns/b", "8"}, {"ns/new", "60"}}));
  EXPECT_THAT(ended_, IsEmpty());
  Observe("ns/a", "40");
  Observe("ns/new", "60");
  EXPECT_THAT(ended_, IsEmpty()) << "the first one was changed once more";
  Observe("ns/a", "50");
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, WaitsForDeletions) {
  known_ = {{"ns/a", "7"}, {"ns/gone", "8"}};
  StartAt("99");
  api_.Answer(List("99", {{"ns/a", "7"}}));
  Observe("ns/gone", "20");
  EXPECT_THAT(ended_, IsEmpty()) << "it changed before it went";
  HearEnd("ns/gone", "30");
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, WaitsForARecreatedObject) {
  known_ = {{"ns/a", "7"}};
  StartAt("99");
  api_.Answer(List("99", {{"ns/a", "50"}}));
  HearEnd("ns/a", "40");
  EXPECT_THAT(ended_, IsEmpty());
  Observe("ns/a", "50");
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, DoesNotWaitForObjectsNewerThanTheList) {
  known_ = {{"ns/a", "7"}, {"ns/new", "100"}};
  last_ = "7";
  StartAt("99");
  api_.Answer(List("99", {{"ns/a", "7"}}));
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, DoesNotWaitForObjectsThatCannotBeDecoded) {
  StartAt("99");
  api_.Answer(List("99", {{"ns/rubbish", "50"}}));
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, AFailedReadIsRepeated) {
  catch_up_->Start();
  for (const Reply& reply : {NotReached(), Refused(429, "TooManyRequests"), Reply("rubbish"),
                             Reply(R"({"metadata":{},"items":[]})")}) {
    api_.Answer(reply);
    EXPECT_THAT(ended_, IsEmpty());
    loop_.Advance(3s);
  }
  EXPECT_THAT(api_.sent, SizeIs(5));
  api_.Answer(List("10", {}));
  EXPECT_THAT(ended_, ElementsAre("watch"));
}

TEST_F(FreshnessBarrierTest, AReadWithoutAResultIsRepeatedAfterFiveSeconds) {
  StartAt("99");
  api_.Answer(List("99", {{"ns/a", "50"}}));
  loop_.Advance(5s);
  EXPECT_THAT(api_.sent, ElementsAre(kReadVersion, kReadAll, kReadAll));
  api_.Answer(List("120", {}));  // deleted on the server and in the view
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, ProvesNothingBeforeTheFirstState) {
  last_ = "";
  StartAt("99");
  api_.Answer(List("99", {}));
  EXPECT_THAT(ended_, IsEmpty());
  known_ = {{"ns/a", "40"}};
  last_ = "60";
  catch_up_->OnProgress(/*replaced=*/true);
  loop_.Advance(1ms);
  EXPECT_THAT(api_.sent, SizeIs(3)) << "a state from a cache may be older";
  api_.Answer(List("101", {{"ns/a", "40"}}));
  EXPECT_THAT(ended_, ElementsAre("list"));
}

TEST_F(FreshnessBarrierTest, DestructionCallsNoCallback) {
  StartAt("99");
  catch_up_.reset();
  EXPECT_THAT(api_.open, IsEmpty());
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST(Versions, AreReadFromAnyList) {
  api::Decoder decoder;
  const auto list = decoder.Versions(
      R"({"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"7","continue":"c"},"items":[)"
      R"({"metadata":{"name":"a","namespace":"n","resourceVersion":"1","labels":{"x":"y"}},"spec":{}},)"
      R"({"metadata":{"name":"b","resourceVersion":"2"}}]})");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->resource_version, "7");
  EXPECT_EQ(list->continue_token, "c");
  ASSERT_THAT(list->items, SizeIs(2));
  EXPECT_EQ(list->items[0].ns, "n");
  EXPECT_EQ(list->items[1].ns, "");
  EXPECT_EQ(list->items[1].resource_version, "2");
  EXPECT_TRUE(decoder.Versions(R"({"metadata":{"resourceVersion":"7"},"items":null})"));
  const auto wrong = decoder.Versions(R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{}}]})");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("items[0].metadata"));
}

// A PartialObjectMetadataList as kube-apiserver v1.37.1 sends it.
std::string Field(int number, const std::string& bytes) {
  std::string out;
  const auto add = [&](std::size_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  add(static_cast<std::size_t>(number) << 3 | 2);
  add(bytes.size());
  return out + bytes;
}
std::string Protobuf(const std::string& list) {
  return std::string("k8s\0", 4) +
         Field(1, Field(1, "meta.k8s.io/v1") + Field(2, "PartialObjectMetadataList")) + Field(2, list) +
         Field(3, "") + Field(4, "");
}

TEST(Versions, AreReadFromProtobufToo) {
  const std::string managed = Field(17, std::string(300, 'x'));
  const std::string generation("\x38\x81\x01", 3);  // a number
  const std::string text = Protobuf(Field(1, Field(1, "") + Field(2, "77") + Field(3, "c")) +
                                    Field(2, Field(1, Field(1, "a") + Field(3, "n") + Field(5, "u") +
                                                          Field(6, "1") + generation + managed)) +
                                    Field(2, Field(1, Field(1, "b") + Field(6, "2")) + Field(2, "spec")));
  api::Decoder decoder;
  const auto list = decoder.Versions(text);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->resource_version, "77");
  EXPECT_EQ(list->continue_token, "c");
  ASSERT_THAT(list->items, SizeIs(2));
  EXPECT_EQ(list->items[0].ns, "n");
  EXPECT_EQ(list->items[0].name, "a");
  EXPECT_EQ(list->items[0].resource_version, "1");
  EXPECT_EQ(list->items[1].resource_version, "2");
  // A text truncated anywhere in the list is rejected, and never read beyond its end.
  for (std::size_t size = 0; size + 4 < text.size(); ++size) {
    EXPECT_FALSE(decoder.Versions(std::string(text, 0, size))) << size;
  }
}

}  // namespace
}  // namespace berth::client
