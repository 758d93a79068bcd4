#include "sandbox/apiserver/protobuf.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

std::string Field(int number, std::string_view bytes) {
  std::string text;
  text += static_cast<char>(number << 3 | 2);
  text += static_cast<char>(bytes.size());
  return text.append(bytes);
}
std::string Number(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string Envelope(std::string_view version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + Field(1, Field(1, version) + Field(2, kind)) + Field(2, raw) +
         Field(3, "") + Field(4, "");
}

TEST(Protobuf, DecodesTheBodyOfKubectlCreateNamespace) {
  // Metadata with a name and unset members as client-go writes them, an empty spec and an empty status.
  const std::string metadata = Field(1, "foo") + Field(2, "") + Field(3, "") + Field(4, "") + Field(5, "") +
                               Field(6, "") + Number(7, 0) + Field(8, "");
  const auto document =
      DecodeProtobuf(Envelope("v1", "Namespace", Field(1, metadata) + Field(2, "") + Field(3, Field(1, ""))));
  ASSERT_TRUE(document.has_value()) << document.error().message;
  EXPECT_EQ(json::value(document->root()),
            json::parse(
                R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":"foo"},"spec":{},"status":{}})"));
}

TEST(Protobuf, AcceptsABinding) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto answer = cluster.Do(
      "POST", "/api/v1/namespaces/default/pods/a/binding",
      Envelope("v1", "Binding", Field(1, Field(1, "a")) + Field(2, Field(1, "Node") + Field(3, "n1"))),
      "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(At(cluster.Pod("a"), "spec.nodeName"), "n1");
}

TEST(Protobuf, ZeroIsAValueForPointerFields) {
  const auto options = DecodeProtobuf(Envelope("v1", "DeleteOptions", Number(1, 0)));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(At(options->root(), "gracePeriodSeconds"), "0");
}

TEST(Protobuf, DecodesListsMapsTimesAndInlinedMembers) {
  const std::string labels = Field(11, Field(1, "k") + Field(2, "v"));
  const std::string created = Field(8, std::string("\x08\x80\xd2\x85\xd8\x06", 6));
  const std::string volume = Field(1, Field(1, "data") + Field(2, Field(10, Field(1, "claim"))));
  const auto good = DecodeProtobuf(Envelope("v1", "Pod", Field(1, labels + created) + Field(2, volume)));
  ASSERT_TRUE(good.has_value()) << good.error().message;
  EXPECT_EQ(At(good->root(), "metadata.labels"), R"({"k":"v"})");
  EXPECT_EQ(At(good->root(), "metadata.creationTimestamp"), "2026-11-21T09:48:48Z");
  EXPECT_EQ(At(good->root(), "spec.volumes"),
            R"([{"name":"data","persistentVolumeClaim":{"claimName":"claim"}}])");
}

TEST(Protobuf, DecodesValuesOfAnyType) {
  const auto revision = [](std::string_view data) {
    return Envelope("apps/v1", "ControllerRevision",
                    Field(1, Field(1, "r")) + Field(2, Field(1, data)) + Number(3, 1));
  };
  const auto decoded = DecodeProtobuf(revision(R"({"spec":{"x":[1,"y"]}})"));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(At(decoded->root(), "data"), R"({"spec":{"x":[1,"y"]}})");
  EXPECT_EQ(At(DecodeProtobuf(revision("false"))->root(), "data"), "false");
  EXPECT_FALSE(DecodeProtobuf(revision(""))->root().contains("data"));
  EXPECT_EQ(DecodeProtobuf(revision("{")).error().code, 400);
}

TEST(Protobuf, UnknownKindsAreUnsupported) {
  EXPECT_EQ(DecodeProtobuf(Envelope("example.com/v1", "Unicorn", "")).error().code, 415);
}

TEST(Protobuf, MalformedBytesAreABadRequest) {
  EXPECT_EQ(DecodeProtobuf("").error().code, 400);
  EXPECT_EQ(DecodeProtobuf("{}").error().code, 400);
  EXPECT_EQ(DecodeProtobuf(Envelope("v1", "Pod", "\xff\xff\xff")).error().code, 400);
  EXPECT_EQ(DecodeProtobuf(Envelope("v1", "Pod", Field(1, Field(1, "\xff\xfe")))).error().code,
            400);  // not UTF-8
}

TEST(Protobuf, RandomBytesOnlyFail) {
  Random random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string raw;
    for (auto left = random.Below(60); left > 0; --left)
      raw += static_cast<char>(random.Below(random.Below(2) == 0 ? 40 : 256));
    const auto document = DecodeProtobuf(Envelope("v1", round % 2 == 0 ? "Pod" : "Node", raw));
    EXPECT_TRUE(!document || ParseJson(json::serialize(document->root())).has_value());
  }
}

}  // namespace
}  // namespace berth::sandbox
