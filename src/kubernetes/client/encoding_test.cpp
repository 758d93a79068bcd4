#include "kubernetes/client/encoding.hpp"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

struct EncodingCase {
  std::string name;
  std::string content_type;
  std::string accept_content_types;
  Encoding want;
};
class PreferredEncodingTest : public testing::TestWithParam<EncodingCase> {};
TEST_P(PreferredEncodingTest, FollowsTheConfiguration) {
  EXPECT_EQ(PreferredEncoding(GetParam().content_type, GetParam().accept_content_types), GetParam().want);
}
constexpr auto kProtobuf = "application/vnd.kubernetes.protobuf";
INSTANTIATE_TEST_SUITE_P(
    Table, PreferredEncodingTest,
    testing::Values(EncodingCase{"TheDefaultIsProtobuf", kProtobuf, "", Encoding::kProtobuf},
                    EncodingCase{"JsonIfThatIsTheContentType", "application/json", "", Encoding::kJson},
                    EncodingCase{"JsonForWhatBerthDoesNotRead", "application/cbor", "", Encoding::kJson},
                    EncodingCase{"WhatIsAcceptedCountsMore", kProtobuf, "application/json", Encoding::kJson},
                    EncodingCase{
                        "OfWhatIsAcceptedTheFirst", "application/json",
                        "application/cbor, application/vnd.kubernetes.protobuf;q=0.9,application/json",
                        Encoding::kProtobuf},
                    EncodingCase{"AnythingIsJson", kProtobuf, "*/*", Encoding::kJson},
                    EncodingCase{"NothingOfUseIsJson", kProtobuf, "a/b", Encoding::kJson}),
    [](const auto& row) { return row.param.name; });

TEST(AcceptOf, JsonIsAlwaysAcceptable) {
  EXPECT_EQ(AcceptOf(Encoding::kProtobuf), "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(AcceptOf(Encoding::kJson), "application/json, */*");
}

}  // namespace
}  // namespace berth::client
