#include "command_line/flag_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::command_line {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FlagSetTest : public testing::Test {
 protected:
  FlagSetTest() {
    table_.Section("First flags");
    table_.String("config", config_, "A file.");
    table_.Bool("leader-elect", elect_, "Elects.");
    table_.Int("secure-port", port_, "A port.");
    table_.Int32("burst", burst_, "A burst.");
    table_.Float("qps", qps_, "A rate.");
    table_.Duration("retry-period", period_, "A time.");
    table_.Section("Second flags");
    table_.Strings("paths", paths_, "Some paths.");
    table_.Int32s("curves", curves_, "Some curves.");
    table_.List("gates", "A=true", gates_, "Some gates.");
    table_.Int("v", level_, "A level.");
    table_.Shorthand('v');
  }
  std::string Error(std::vector<std::string> args) {
    const auto parsed = table_.Parse(args);
    if (!parsed) return parsed.error().message;
    return "";
  }

  std::string config_;
  bool elect_ = true;
  std::int64_t port_ = 10259;
  std::int64_t burst_ = 100;
  double qps_ = 50;
  Duration period_ = std::chrono::seconds(2);
  std::vector<std::string> paths_ = {"/healthz", "/livez"};
  std::vector<std::int64_t> curves_;
  std::vector<std::string> gates_;
  std::int64_t level_ = 0;
  FlagSet table_;
};

TEST_F(FlagSetTest, AValueFollowsAnEqualsSignOrIsTheNextArgument) {
  EXPECT_EQ(Error({"--config=a=b", "--secure-port", "7", "--qps=2.5", "--retry-period=1m30s"}), "");
  EXPECT_EQ(config_, "a=b");
  EXPECT_EQ(port_, 7);
  EXPECT_EQ(qps_, 2.5);
  EXPECT_EQ(period_, std::chrono::seconds(90));
}

TEST_F(FlagSetTest, ABooleanNeedsNoValueAndDoesNotTakeTheNextArgument) {
  EXPECT_EQ(Error({"--leader-elect=false"}), "");
  EXPECT_FALSE(elect_);
  EXPECT_EQ(Error({"--leader-elect"}), "");
  EXPECT_TRUE(elect_);
  EXPECT_EQ(Error({"--leader-elect", "false"}), "");
  EXPECT_THAT(table_.arguments(), ElementsAre("false"));
}

TEST_F(FlagSetTest, UnderscoresEqualDashesAndTheLastOccurrenceTakesEffect) {
  EXPECT_EQ(Error({"--secure_port=1", "--secure-port=2"}), "");
  EXPECT_EQ(port_, 2);
  EXPECT_TRUE(table_.IsSet("secure-port"));
  EXPECT_FALSE(table_.IsSet("config"));
}

TEST_F(FlagSetTest, AShorthandAcceptsItsValueInThreeForms) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"-v=4"}, {"-v", "4"}, {"-v4"}, {"--v=4"}}) {
    level_ = 0;
    EXPECT_EQ(Error(args), "");
    EXPECT_EQ(level_, 4);
  }
}

TEST_F(FlagSetTest, TheFirstOccurrenceOfAListReplacesItsDefaultAndFurtherOnesAppend) {
  EXPECT_EQ(Error({"--paths=/a,\"/b,c\"", "--paths=/d", "--curves=23,24"}), "");
  EXPECT_THAT(paths_, ElementsAre("/a", "/b,c", "/d"));
  EXPECT_THAT(curves_, ElementsAre(23, 24));
}

TEST_F(FlagSetTest, AnEmptyListIsEmpty) {
  EXPECT_EQ(Error({"--paths="}), "");
  EXPECT_THAT(paths_, IsEmpty());
}

TEST_F(FlagSetTest, RepeatedValuesAreAppendedUnchanged) {
  EXPECT_EQ(Error({"--gates=A=true,B=false", "--gates=C=true"}), "");
  EXPECT_THAT(gates_, ElementsAre("A=true,B=false", "C=true"));
}

TEST_F(FlagSetTest, ErrorsHavePflagsTexts) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--foo"}, "unknown flag: --foo"},
      {{"--confg=x"}, "unknown flag: --confg; did you mean --config?"},
      {{"-x"}, "unknown shorthand flag: 'x' in -x"},
      {{"-config=x"}, "unknown shorthand flag: 'c' in -config=x; did you mean --config?"},
      {{"---x"}, "bad flag syntax: ---x"},
      {{"--=x"}, "bad flag syntax: --=x"},
      {{"--config"}, "flag needs an argument: --config"},
      {{"-v"}, "flag needs an argument: 'v' in -v"},
      {{"--leader-elect=foo"},
       "invalid argument \"foo\" for \"--leader-elect\" flag: strconv.ParseBool: parsing \"foo\": invalid "
       "syntax"},
      {{"-vx"},
       "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"x\": invalid syntax"},
      {{"--burst=3000000000"},
       "invalid argument \"3000000000\" for \"--burst\" flag: strconv.ParseInt: parsing \"3000000000\": "
       "value out of "
       "range"},
      {{"--secure-port=99999999999999999999"},
       "invalid argument \"99999999999999999999\" for \"--secure-port\" flag: strconv.ParseInt: parsing "
       "\"99999999999999999999\": value out of range"},
      {{"--qps=x"},
       "invalid argument \"x\" for \"--qps\" flag: strconv.ParseFloat: parsing \"x\": invalid syntax"},
      {{"--retry-period=5"},
       "invalid argument \"5\" for \"--retry-period\" flag: time: missing unit in duration \"5\""},
      {{"--retry-period=1d"},
       "invalid argument \"1d\" for \"--retry-period\" flag: time: unknown unit \"d\" in duration \"1d\""},
      {{"--retry-period=x"},
       "invalid argument \"x\" for \"--retry-period\" flag: time: invalid duration \"x\""},
      {{"--paths=\"a"},
       "invalid argument \"\\\"a\" for \"--paths\" flag: parse error on line 1, column 3: extraneous or "
       "missing \" in "
       "quoted-field"},
      {{"--paths=a\"b"},
       "invalid argument \"a\\\"b\" for \"--paths\" flag: parse error on line 1, column 2: bare \" in "
       "non-quoted-field"},
  };
  for (const auto& [args, message] : cases) EXPECT_EQ(Error(args), message);
}

TEST_F(FlagSetTest, OtherArgumentsMayBeMixedWithFlags) {
  EXPECT_EQ(Error({"foo", "--secure-port=8", "", "bar"}), "");
  EXPECT_THAT(table_.arguments(), ElementsAre("foo", "", "bar"));
  EXPECT_EQ(port_, 8);
  EXPECT_EQ(Error({"foo", "--nope"}), "unknown flag: --nope") << "flags first";
}

TEST_F(FlagSetTest, ShorthandsMayBeCombined) {
  bool on = false;
  table_.Bool("xray", on, "A switch.");
  table_.Shorthand('x');
  EXPECT_EQ(Error({"-xv4"}), "");
  EXPECT_TRUE(on);
  EXPECT_EQ(level_, 4);
  EXPECT_EQ(Error({"-x=false", "-xv"}), "flag needs an argument: 'v' in -xv");
}

TEST_F(FlagSetTest, PairsMayBeCommaSeparated) {
  std::map<std::string, std::string> pairs = {{"old", "1"}};
  table_.StringMap("pairs", "key=value", pairs, "Some pairs.");
  EXPECT_EQ(Error({"--pairs=a,b=c,d"}), "");
  EXPECT_THAT(pairs, ElementsAre(testing::Pair("a,b", "c,d")));
  EXPECT_EQ(Error({"--pairs=\"e,f=1,2\",g=3"}), "");
  EXPECT_THAT(pairs,
              ElementsAre(testing::Pair("a,b", "c,d"), testing::Pair("e,f", "1,2"), testing::Pair("g", "3")));
  EXPECT_THAT(Error({"--pairs=x"}), HasSubstr("x must be formatted as key=value"));
}

TEST_F(FlagSetTest, NoFlagsAfterADoubleDash) {
  EXPECT_EQ(Error({"--"}), "");
  EXPECT_EQ(Error({"--", "--config=x"}), "");
  EXPECT_THAT(table_.arguments(), ElementsAre("--config=x"));
}

TEST_F(FlagSetTest, HelpIsGroupedAndShowsDefaults) {
  EXPECT_EQ(table_.Usage(),
            "First flags:\n\n"
            "      --burst int32             A burst. (default 100)\n"
            "      --config string           A file.\n"
            "      --leader-elect            Elects. (default true)\n"
            "      --qps float32             A rate. (default 50)\n"
            "      --retry-period duration   A time. (default 2s)\n"
            "      --secure-port int         A port. (default 10259)\n"
            "\nSecond flags:\n\n"
            "      --curves int32Slice   Some curves. (default [])\n"
            "      --gates A=true        Some gates.\n"
            "      --paths strings       Some paths. (default [/healthz,/livez])\n"
            "  -v, --v int               A level.\n");
}

struct SizeCase {
  std::string text;
  std::string error;  // empty: accepted
  std::uint64_t bytes = 0;
};

TEST(FlagSetSize, IsAQuantityFromZeroToOnePebibyte) {
  const SizeCase cases[] = {
      {"64Mi", "", 64u << 20},
      {"0", "", 0},
      {"1.5Ki", "", 1536},
      {"5M", "", 5'000'000},
      {"1Pi", "", std::uint64_t{1} << 50},
      {"2Pi", "expected a size from 0 to 1Pi, such as 64Mi"},
      {"-1", "expected a size from 0 to 1Pi, such as 64Mi"},
      {"64MB", "expected a size such as 64Mi"},
      {"", "expected a size such as 64Mi"},
  };
  for (const SizeCase& row : cases) {
    SCOPED_TRACE(row.text);
    std::uint64_t bytes = 7;
    FlagSet table;
    table.Size("buffer-size", bytes, "A buffer.");
    const std::vector<std::string> args = {"--buffer-size=" + row.text};
    const auto parsed = table.Parse(args);
    EXPECT_EQ(parsed.has_value(), row.error.empty());
    if (!parsed) {
      EXPECT_THAT(parsed.error().message, HasSubstr(row.error));
    }
    EXPECT_EQ(bytes, row.error.empty() ? row.bytes : 7);
  }
}

TEST(FlagSetSize, IsShownInItsLargestUnit) {
  std::uint64_t bytes = 64u << 20;
  FlagSet table;
  table.Size("buffer-size", bytes, "A buffer.");
  EXPECT_THAT(table.Usage(), HasSubstr("--buffer-size quantity   A buffer. (default 64Mi)"));
  bytes = 1000;
  EXPECT_EQ(table.Values().front().second, "1000");
  bytes = 0;
  EXPECT_EQ(table.Values().front().second, "0");
}

TEST(FlagSetSize, HasAHiddenFormInMebibytes) {
  std::uint64_t bytes = 64u << 20;
  FlagSet table;
  table.Size("buffer-size", bytes, "A buffer.");
  table.HiddenMebibytes("buffer-memory", bytes);
  EXPECT_THAT(table.Usage(), Not(HasSubstr("buffer-memory")));
  EXPECT_EQ(table.Values().size(), 1U);
  std::vector<std::string> args = {"--buffer-memory=3"};
  EXPECT_TRUE(table.Parse(args));
  EXPECT_EQ(bytes, 3u << 20);
  args = {"--buffer-memory=-3"};
  const auto negative = table.Parse(args);
  ASSERT_FALSE(negative);
  EXPECT_THAT(negative.error().message, HasSubstr("expected a number of MiB from 0 to 1073741824"));
}

TEST_F(FlagSetTest, ValuesAreOrderedByName) {
  EXPECT_EQ(Error({"--gates=A=true"}), "");
  const auto values = table_.Values();
  ASSERT_EQ(values.size(), 10U);
  EXPECT_EQ(values[0], (std::pair<std::string, std::string>("burst", "100")));
  EXPECT_EQ(values[3], (std::pair<std::string, std::string>("gates", "A=true")));
}

struct ErrorCase {
  std::vector<std::string> args;
  std::string error;
};

TEST(FlagSetTypes, ErrorsNameTheExpectation) {
  std::uint16_t port = 1;
  std::uint64_t seed = 1;
  std::size_t pods = 1;
  int zones = 3;
  double rate = 1;
  Duration pause = std::chrono::seconds(1);
  std::string output = "text";
  std::vector<std::string> verbs = {"filter"};
  std::vector<int> sizes = {5};
  FlagSet table;
  table.Integer("port", port, "");
  table.Integer("seed", seed, "");
  table.Duration("pause", pause, "", {std::chrono::milliseconds(1), std::chrono::hours(1)});
  table.Integer("pods", pods, "", {.least = 1});
  table.Integer("zones", zones, "", {1, 26});
  table.Real("rate", rate, "", {0, 3600});
  table.Choice("output", output, {"text", "json"}, "");
  table.Choices("verbs", verbs, {"filter", "bind"}, "");
  table.Integers("sizes", sizes, "", {.least = 1});
  const ErrorCase cases[] = {
      {{"--port=65536"},
       "invalid argument \"65536\" for \"--port\" flag: expected a whole number from 0 to 65535"},
      {{"--seed=-1"}, "invalid argument \"-1\" for \"--seed\" flag: expected a whole number"},
      {{"--pods=0"}, "invalid argument \"0\" for \"--pods\" flag: expected a whole number of at least 1"},
      {{"--zones=27"}, "invalid argument \"27\" for \"--zones\" flag: expected a whole number from 1 to 26"},
      {{"--zones=x"}, "invalid argument \"x\" for \"--zones\" flag: expected a whole number from 1 to 26"},
      {{"--rate=nan"}, "invalid argument \"nan\" for \"--rate\" flag: expected a number from 0 to 3600"},
      {{"--pause=61m"},
       "invalid argument \"61m\" for \"--pause\" flag: expected a duration such as 1m30s from 1ms to 1h0m0s"},
      {{"--pause=0"},
       "invalid argument \"0\" for \"--pause\" flag: expected a duration such as 1m30s from 1ms to 1h0m0s"},
      {{"--pause=x"},
       "invalid argument \"x\" for \"--pause\" flag: expected a duration such as 1m30s from 1ms to 1h0m0s"},
      {{"--output=jsn"},
       "invalid argument \"jsn\" for \"--output\" flag: expected text, json; did you mean json?"},
      {{"--verbs=bind,x"}, "invalid argument \"bind,x\" for \"--verbs\" flag: expected filter, bind"},
      {{"--sizes=1,0"},
       "invalid argument \"1,0\" for \"--sizes\" flag: expected a whole number of at least 1"},
  };
  for (const ErrorCase& row : cases) {
    const auto parsed = table.Parse(row.args);
    ASSERT_FALSE(parsed) << row.args.front();
    EXPECT_EQ(parsed.error().message, row.error);
  }
  EXPECT_EQ(port, 1);
  EXPECT_THAT(verbs, ElementsAre("filter"));
  EXPECT_THAT(sizes, ElementsAre(5));
}

TEST(FlagSetTypes, AcceptValuesUpToTheirLimits) {
  std::uint16_t port = 1;
  std::uint64_t seed = 1;
  double rate = 1;
  bool controllers = true;
  std::vector<std::string> verbs = {"filter"};
  std::vector<int> sizes = {5};
  FlagSet table;
  table.Integer("port", port, "");
  table.Integer("seed", seed, "");
  table.Real("rate", rate, "", {0, 3600});
  table.Bool("controllers", controllers, "");
  table.NegatedBool("no-controllers", controllers, "");
  table.Choices("verbs", verbs, {"filter", "bind", "preempt"}, "");
  table.Integers("sizes", sizes, "");
  EXPECT_TRUE(table.Parse(std::vector<std::string>{"--port=65535", "--seed=18446744073709551615", "--rate",
                                                   "0.5", "--no-controllers", "--verbs=bind",
                                                   "--verbs=preempt", "--sizes=0x10,7"}));
  EXPECT_EQ(port, 65535);
  EXPECT_EQ(seed, 18446744073709551615u);
  EXPECT_EQ(rate, 0.5);
  EXPECT_FALSE(controllers);
  EXPECT_THAT(verbs, ElementsAre("bind", "preempt"));
  EXPECT_THAT(sizes, ElementsAre(16, 7));
}

TEST(FlagSetTypes, ADurationWithinARangeMayBeANumberOfSeconds) {
  Duration pause{};
  FlagSet table;
  table.Duration("pause", pause, "pause", {Duration::zero(), std::chrono::hours(1)});
  EXPECT_TRUE(table.Parse(std::vector<std::string>{"--pause=0.5"}));
  EXPECT_EQ(pause, std::chrono::milliseconds(500));
  EXPECT_TRUE(table.Parse(std::vector<std::string>{"--pause", "1m30s"}));
  EXPECT_EQ(pause, std::chrono::seconds(90));
}

TEST(FlagSetTypes, HelpShowsRangesChoicesAndWhatIsRequired) {
  int zones = 3, pods = 1;
  std::string output = "text", file;
  FlagSet table;
  table.Integer("zones", zones, "zones", {1, 26});
  table.Integer("pods", pods, "pods", {.least = 1});
  table.Choice("output", output, {"text", "json"}, "form");
  table.Path("config", file, "file");
  table.Require();
  EXPECT_EQ(table.Usage(),
            "Flags:\n\n"
            "      --config FILE        file (required)\n"
            "      --output text|json   form (default text)\n"
            "      --pods int           pods (at least 1) (default 1)\n"
            "      --zones int          zones (from 1 to 26) (default 3)\n");
}

}  // namespace
}  // namespace berth::command_line
