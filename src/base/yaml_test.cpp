#include "base/yaml.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <sstream>

namespace berth::yaml {
namespace {

namespace json = boost::json;

std::string Text(const json::object& recorded, std::string_view member) {
  const auto* text = recorded.if_contains(member);
  return text != nullptr ? std::string(text->as_string()) : "";
}

std::string JsonOf(const Expected<ParsedText>& parsed) {
  if (!parsed) return "error: " + parsed.error().message;
  std::string text;
  AppendJson(text, parsed->root, MemberOrder::kByName);
  return text;
}

// Texts that yaml-cpp reads differently; no configuration of Kubernetes has them.
bool IsKnownDifference(std::string_view text) {
  static constexpr std::string_view kTexts[] = {
      // invalid for Go, accepted here
      "k: [,]\n", "- [,]\n", "a: [1,, 2]\n", "k: \"\\/\"\n", "- \"\\/\"\n", "...\n",
      "%YAML 1.2\n---\na: yes\n", "%FOO\n---\na: 1\n", "a: 1\n%b\n", "- \ta\n", "-\ta\n",
      "a: &x-y.z 1\nb: *x-y.z\n",
      // line breaks for Go only
      "a: \u2028b\n", "a: \u0085b\n",
      // an error here
      "k: !!binary aGVsbG8=\n", "- !!binary aGVsbG8=\n", "k: !!binary /w==\n", "- !!binary /w==\n",
      // a map with one member here, a text for Go
      "[a:]\n"};
  return std::ranges::find(kTexts, text) != std::end(kTexts);
}

// tests/yaml records the answers of sigs.k8s.io/yaml.
TEST(Yaml, IsReadAsByKubernetes) {
  std::ostringstream text;
  text << std::ifstream(BERTH_YAML_ANSWERS).rdbuf();
  const json::value answers = json::parse(text.str());
  ASSERT_GT(answers.as_array().size(), 500U);
  for (const json::value& answer : answers.as_array()) {
    const auto& recorded = answer.as_object();
    const std::string input = Text(recorded, "text");
    const auto parsed = ParseYaml(input);
    if (IsKnownDifference(input)) {
      EXPECT_NE(parsed ? JsonOf(parsed) : "", Text(recorded, "json")) << "no longer a difference: " << input;
      continue;
    }
    if (const std::string error = Text(recorded, "error"); !error.empty()) {
      EXPECT_FALSE(parsed) << "for " << json::serialize(json::value(input)) << "\nread as " << JsonOf(parsed)
                           << "\nGo: " << error;
      continue;
    }
    EXPECT_EQ(JsonOf(parsed), Text(recorded, "json")) << "for " << json::serialize(json::value(input));
    if (!parsed) continue;
    const std::string strict = Text(recorded, "strict");
    const auto read = ParseValue(input);
    EXPECT_EQ(read ? "" : read.error().message, strict) << "for " << json::serialize(json::value(input));
  }
}

// yaml-cpp returns empty documents for these texts without end.
// In quadratic time each of them would take many seconds.
TEST(Yaml, LargeMapsAreReadInLinearTime) {
  constexpr std::size_t kMembers = 50'000;
  std::string yaml, json = "{";
  for (std::size_t i = 0; i < kMembers; ++i) {
    yaml += fmt::format("key-{}: {}\n", i, i);
    json += fmt::format("\"key-{}\": {}, ", i, i);
  }
  yaml += "key-40000: again\n";
  json += R"("key-40000": "again"})";
  for (const std::string& text : {yaml, json}) {
    const auto parsed = ParseText(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(parsed->root.members.size(), kMembers);
    EXPECT_EQ(parsed->root.members[7].second.text, "7");
    EXPECT_EQ(parsed->root.members[40'000].second.text, "again");
    EXPECT_EQ(parsed->duplicates.size(), 1U);
  }
}

TEST(Yaml, ATokenThatBeginsNoValueIsAnError) {
  for (const std::string text : {",\"kind\"{\"", ",", "? ,\n", "]"}) {
    EXPECT_FALSE(ParseYaml(text)) << text;
    EXPECT_FALSE(ParseStream(text)) << text;
  }
}

// Fails by a timeout of the test program.
TEST(Yaml, MapsThatMergeEachOtherAreLimited) {
  std::string text = "a: &a0 {}\n";
  for (int i = 1; i < 20; ++i) {
    text += fmt::format("b{0}: &a{0} {{<<: [", i);
    for (int j = 0; j < 9; ++j) text += fmt::format("{}*a{}", j == 0 ? "" : ",", i - 1);
    text += "]}\n";
  }
  const auto read = ParseYaml(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "yaml: document contains excessive aliasing");
}

TEST(Yaml, OnlyAStreamIsReadBeyondTheFirstDocument) {
  for (const std::string text : {"{\"a\"},\n{\"b\": \"c\"}\n]\n", "a: 1\n---\n]\n"}) {
    EXPECT_TRUE(ParseYaml(text)) << text;
    EXPECT_FALSE(ParseStream(text)) << text;
  }
}

}  // namespace
}  // namespace berth::yaml
