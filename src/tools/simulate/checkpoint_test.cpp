#include "tools/simulate/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/simulate/report.hpp"

namespace berth::simulate {
namespace {

using ::testing::HasSubstr;

const RunIdentity& StoredIdentity() {
  static const RunIdentity kIdentity{{"build", "1"}, {"seed", "7"}, {"configuration 1", "a.yaml (sha256 0)"}};
  return kIdentity;
}

Result StoredResult(const std::string& name) {
  Result result;
  result.configuration = name;
  result.complete = true;
  result.simulated = std::chrono::hours(1);
  result.resources = {"cpu", "memory"};
  result.attempts = 12'345;
  result.nodes_failed = 3;
  result.kinds.resize(1);
  result.kinds[0].name = "web 12\n";
  result.kinds[0].reason = "0/5 nodes are available";
  for (int i = 1; i < 100; ++i) {
    result.time_to_bind.Add(std::chrono::microseconds(i * i));
    result.kinds[0].time_to_bind.Add(std::chrono::microseconds(i));
    result.kinds[0].most_on_node.Add(1.0 / i);
  }
  result.kinds[0].created = result.kinds[0].bound = 99;
  Sample sample;
  sample.at = std::chrono::minutes(30);
  sample.used = {1.0 / 3, 0.1};
  sample.fragmented = {0, 1e-300};
  sample.imbalance = 2.0 / 7;
  result.samples = {sample, sample};
  result.mean_used = result.mean_fragmented = {1.0 / 3, 0.7};
  result.groups.any = true;
  result.groups.time_to_start.Add(std::chrono::seconds(5));
  result.groups.mean_held = result.groups.mean_idle = {0.25, 1.0 / 9};
  return result;
}

std::string ErrorOf(std::string_view text, const RunIdentity& identity) {
  const auto read = ReadCheckpoint(text, identity);
  return read ? "no error" : read.error().message;
}

std::string Stored() { return WriteCheckpoint(StoredIdentity(), {StoredResult("a"), StoredResult("b")}); }

TEST(Checkpoint, ResultsThatAreReadGiveTheSameReports) {
  const std::vector<Result> results{StoredResult("a"), StoredResult("b")};
  const auto read = ReadCheckpoint(Stored(), StoredIdentity());
  ASSERT_TRUE(read) << read.error().message;
  const ReportHead head{.workload = "w.yaml", .seed = 7, .duration = std::chrono::hours(1)};
  EXPECT_EQ(ReportText(head, *read), ReportText(head, results));
  EXPECT_EQ(ReportJson(head, *read), ReportJson(head, results));
  EXPECT_EQ(ReportHtml(head, *read), ReportHtml(head, results));
  EXPECT_EQ(WriteCheckpoint(StoredIdentity(), *read), Stored());
}

TEST(Checkpoint, AnyDamageIsDetected) {
  const std::string whole = Stored();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ReadCheckpoint(whole.substr(0, size), StoredIdentity())) << "truncated to " << size;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(ReadCheckpoint(damaged, StoredIdentity())) << "byte " << i;
  }
  EXPECT_FALSE(ReadCheckpoint(whole + "\n", StoredIdentity()));
  EXPECT_THAT(ErrorOf(whole.substr(0, whole.size() / 2), StoredIdentity()),
              HasSubstr("damaged or truncated"));
  EXPECT_THAT(ErrorOf("berth-simulate-checkpoint 2\n", StoredIdentity()),
              HasSubstr("expected a checkpoint of this version (\"berth-simulate-checkpoint 1\"), got "
                        "\"berth-simulate-checkpoint 2\""));
}

TEST(Checkpoint, AnotherComparisonIsRefusedWithWhatDiffers) {
  RunIdentity other = StoredIdentity();
  other[1].second = "8";
  other.emplace_back("configuration 2", "b.yaml (sha256 1)");
  EXPECT_EQ(ErrorOf(Stored(), other),
            "the file is of another comparison: seed: 7 in the file, 8 now; configuration 2: b.yaml (sha256 "
            "1) is new");
  other = StoredIdentity();
  other.pop_back();
  EXPECT_EQ(ErrorOf(Stored(), other),
            "the file is of another comparison: configuration 1: a.yaml (sha256 0) is only in the file");
}

}  // namespace
}  // namespace berth::simulate
