#include "scheduler/framework/typed_args.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::framework {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ExampleArgs {
  std::string color = "blue";
  std::int64_t number = 7;
  double share = 0.5;
  bool wanted = true;
  std::vector<std::string> names = {"a"};

  static constexpr std::string_view kKind = "ExampleArgs";
  static auto Fields() {
    return std::tuple(Field("color", &ExampleArgs::color), Field("number", &ExampleArgs::number),
                      Field("share", &ExampleArgs::share), Field("wanted", &ExampleArgs::wanted),
                      Field("names", &ExampleArgs::names));
  }
  std::vector<std::string> Validate() const {
    if (number > 0) return {};
    return {"number: Invalid value: " + std::to_string(number) + ": must be positive"};
  }
};

struct ExamplePlugin final : Plugin {
  using Args = ExampleArgs;
  ExamplePlugin(const Args& args, Handle&) : args(args) {}
  std::string_view Name() const override { return "Example"; }
  const Args args;
};

Expected<ExampleArgs> Parse(const std::string& text) {
  const auto value = yaml::ParseValue(text);
  return ParseArgs({&*value, "args"}, {}, typed_args::Decode<ExampleArgs>, typed_args::Check<ExampleArgs>);
}

TEST(TypedArgs, OverrideTheirDefaults) {
  const auto args = Parse("{kind: ExampleArgs, apiVersion: v1, number: 9, names: [one, two]}");
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->color, "blue");
  EXPECT_EQ(args->number, 9);
  EXPECT_EQ(args->share, 0.5);
  EXPECT_TRUE(args->wanted);
  EXPECT_THAT(args->names, ElementsAre("one", "two"));
}

TEST(TypedArgs, AreEncodedCompletelyAndDecodedAgain) {
  config::Problems problems;
  const auto codec = TypedArgsCodec<ExampleArgs>();
  const auto whole = codec.complete(*yaml::ParseValue("{share: 0.25, wanted: false}"), {}, problems);
  EXPECT_EQ(whole, *yaml::ParseValue("{color: blue, number: 7, share: 0.25, wanted: false, names: [a]}"));
  EXPECT_EQ(codec.complete(whole, {}, problems), whole);
  EXPECT_EQ(problems.Text(), "");
}

TEST(TypedArgs, ReportValidationErrors) {
  EXPECT_THAT(Parse("{colour: red}").error().message, HasSubstr("unknown field \"colour\""));
  EXPECT_THAT(Parse("{number: many}").error().message, HasSubstr("number"));
  EXPECT_EQ(Parse("{number: -1}").error().message, "args.number: Invalid value: -1: must be positive");
}

}  // namespace
}  // namespace berth::framework
