#include "tools/replay/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "testing/temporary_directory.hpp"
#include "tools/replay/step_check.hpp"

namespace berth::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StepsTest : public ::testing::Test {
 protected:
  Expected<Steps> Recorded(const std::vector<std::string>& lines) {
    const auto writer = recording::SegmentWriter::Create(directory_ / "run").value();
    for (const std::string& line : lines) EXPECT_TRUE(writer->Append(line + "\n").has_value());
    return Steps::Open(directory_ / "run");
  }
  static std::string Header() {
    recording::Header header;
    header.version = "1.2.3";
    return recording::WriteHeader(header);
  }

  const berth::testing::TemporaryDirectory temporary_;
  const fs::path& directory_ = temporary_.path();
};

TEST_F(StepsTest, AStepComesWithItsObject) {
  auto steps = Recorded({Header(), R"({"start":true,"t":[5]})", R"({"change":"Node","t":[]})",
                         R"({"kind":"Node"})", R"({"change":"Node","deleted":"n1","t":[]})"});
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ(steps->header().version, "1.2.3");
  const Steps::Step* step = steps->Next();
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->line, 2);
  EXPECT_EQ(step->object, "");
  step = steps->Next();
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->object, R"({"kind":"Node"})");
  step = steps->Next();
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->line, 5);
  EXPECT_EQ(step->object, "");
  EXPECT_EQ(steps->Next(), nullptr);
  EXPECT_EQ(steps->damage(), "");
}

TEST_F(StepsTest, AStepThatCannotBeReadEndsTheRecording) {
  const struct {
    std::string_view name, line, damage;
  } cases[] = {
      {"no JSON", "{", "line 3 is not an object of JSON"},
      {"no object", "[]", "line 3 is not an object of JSON"},
      {"lines are missing", R"({"lost":12})", "12 lines are missing, because the disk was too slow"},
      {"the object is missing", R"({"change":"Node","t":[]})", "line 3 has no object"},
      {"another form", R"({"work":true,"t":{}})", "line 3: t: expected an array"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    fs::remove_all(directory_ / "run");
    auto steps = Recorded({Header(), R"({"start":true,"t":[]})", std::string(test.line)});
    ASSERT_TRUE(steps.has_value());
    EXPECT_NE(steps->Next(), nullptr);
    EXPECT_EQ(steps->Next(), nullptr);
    EXPECT_EQ(steps->damage(), test.damage);
  }
}

TEST_F(StepsTest, ARecordingWithoutAReadableFirstLineIsRefused) {
  const auto with = [](std::string_view member, std::string_view value) {
    boost::json::object header = boost::json::parse(Header()).as_object();
    header[member] = boost::json::parse(value);
    return boost::json::serialize(header);
  };
  const struct {
    std::string line;
    std::string_view error;
  } cases[] = {
      {"{", "its first line is not an object of JSON"},
      {"{}", "its first line has no number \"recording\""},
      {with("recording", "7"), "the form 7 is not known to this version of Berth, which reads 3"},
      {with("seed", "7"), "its first line has no valid member \"seed\""},
      {with("seed", R"("-7")"), "its first line has no valid member \"seed\""},
      {with("adaptive", R"("yes")"), "its first line has no valid member \"adaptive\""},
      {with("percentageOfNodesToScore", R"("101")"), "no valid member \"percentageOfNodesToScore\""},
      {with("initialBackoff", R"("-1")"), "no valid member \"initialBackoff\""},
      {with("maxBackoff", R"("0")"), "no valid member \"maxBackoff\""},
      {with("extenderPause", R"("9223372036854775807")"), "no valid member \"extenderPause\""},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.line);
    fs::remove_all(directory_ / "run");
    const auto steps = Recorded({test.line});
    ASSERT_FALSE(steps.has_value());
    EXPECT_THAT(steps.error().message, HasSubstr(test.error));
    EXPECT_THAT(steps.error().message, HasSubstr(directory_.string()));
  }
}

TEST(StepCheck, EveryFormThatIsRecordedIsAccepted) {
  for (const std::string_view step : {
           R"({"start":true,"t":[79411125676231,-5,{"w":1},true]})",
           R"({"change":"Pod","deleted":"shop/web","t":[]})",
           R"({"run":"write","number":7,"result":null,"t":[1]})",
           R"({"run":"write","number":7,"result":{"error":11,"message":"x"},"t":[]})",
           R"({"run":"write","number":7,"result":{"version":"12"},"t":[]})",
           R"({"run":"command","command":"lead","t":[]})",
           R"({"run":"step","t":[]})",
           R"({"run":"blocking","t":[]})",
           R"({"work":true,"t":[{"run":"loop","t":[3]},{"reply":1,"status":200,"body":"{}"}],"attempts":[]})",
           R"({"work":true,"t":[{"reply":2,"result":{"error":8,"message":"timeout"}}]})",
           R"({"break":"reload"})",
           R"({"lost":3})",
           R"({"unsaved":true})",
       }) {
    EXPECT_EQ(FormError(boost::json::parse(step).as_object()), "") << step;
  }
}

TEST(StepCheck, AnotherFormIsRefusedWithTheMember) {
  const struct {
    std::string_view step, error;
  } cases[] = {
      {R"({"start":true})", "t: expected an array"},
      {R"({"lost":"3"})", "lost: expected a number above 0"},
      {R"({"run":"loop","unsaved":true})", "unsaved: expected no member run beside it"},
      {R"({"snapshot":true,"work":true,"t":5})", "snapshot: expected no member work beside it"},
      {R"({"work":true,"t":[{"run":"write","lost":1}]})", "t: lost: expected no member run beside it"},
      {R"({"break":null})", "break: expected a string"},
      {R"({"change":true,"t":[]})", "change: expected the name of a kind"},
      {R"({"change":"Pod","deleted":1,"t":[]})", "deleted: expected the key of an object"},
      {R"({"run":"walk","t":[]})",
       R"(run: expected "write", "loop", "step", "command", "measurement" or "blocking")"},
      {R"({"run":1,"t":[]})",
       R"(run: expected "write", "loop", "step", "command", "measurement" or "blocking")"},
      {R"({"run":"write","number":-1,"t":[]})", "number: expected a number above 0"},
      {R"({"run":"write","number":1,"result":{"error":12},"t":[]})",
       "result.error: expected a number from 0 to 11"},
      {R"({"run":"command","t":[]})", "command: expected a string"},
      {R"({"work":true,"t":[],"attempts":1})", "attempts: expected an array"},
      {R"({"work":true,"t":["1"]})", "t: a reading: expected a number, a boolean or an object"},
      {R"({"work":true,"t":[1.5]})", "t: a reading: expected a number, a boolean or an object"},
      {R"({"work":true,"t":[{"w":"1"}]})", R"(t: a reading: expected "w" with a number, "reply" or "run")"},
      {R"({"work":true,"t":[{"reply":1,"body":""}]})", "t: status: expected a number from 0 to 999"},
      {R"({"work":true,"t":[{"reply":1,"status":200}]})", "t: body: expected a string"},
      {R"({"work":true,"t":[{"reply":0,"status":200,"body":""}]})", "t: reply: expected a number above 0"},
      {R"({"work":true,"t":[{"run":"loop","t":[{}]}]})",
       R"(t: t: a reading: expected "w" with a number, "reply" or "run")"},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(FormError(boost::json::parse(test.step).as_object()), test.error) << test.step;
  }
}

}  // namespace
}  // namespace berth::replay
