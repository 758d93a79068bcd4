// Selectors: a parsed selector has no errors, a rejected one has some; opposite operators give opposite
// results.
#include "kubernetes/api/selectors.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth::api;
using berth::fuzz::Require;

std::optional<Requirement> Parse(const NodeSelectorRequirement& requirement) {
  std::vector<std::string> errors;
  auto parsed = ParseNodeRequirement(requirement, "r", &errors);
  Require(parsed.has_value() == errors.empty(), "errors say whether it parsed");
  Require(parsed.has_value() == ParseNodeRequirement(requirement, "r", nullptr).has_value(),
          "asking for errors changes nothing");
  for (const auto& error : errors) Require(error.starts_with("r"), "errors begin with the path");
  if (parsed) Require(parsed->key == requirement.key, "the key is kept");
  return parsed;
}

void Opposites(NodeSelectorRequirement requirement, const std::string* label, const char* op,
               const char* opposite) {
  requirement.op = op;
  const auto one = Parse(requirement);
  requirement.op = opposite;
  const auto other = Parse(requirement);
  Require(one.has_value() == other.has_value(), "opposites have the same rules");
  if (one)
    Require(one->Matches(label) != other->Matches(label), "opposites exclude each other and leave no third");
}

}  // namespace

// Lines: operator, key, label, values...
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = berth::fuzz::Lines(berth::fuzz::Text(data, size));
  if (lines.size() < 3) return 0;
  const NodeSelectorRequirement requirement{lines[1], lines[0], {lines.begin() + 3, lines.end()}};
  const std::string& label = lines[2];
  for (const std::string* value : {static_cast<const std::string*>(nullptr), &label}) {
    if (const auto parsed = Parse(requirement)) (void)parsed->Matches(value);
    Opposites(requirement, value, "In", "NotIn");
    Opposites(requirement, value, "Exists", "DoesNotExist");
  }
  std::vector<std::string> errors;
  const auto field = ParseFieldRequirement(requirement, "f", &errors);
  Require(field.has_value() == errors.empty(), "errors say whether it parsed");
  (void)JoinErrors(errors);

  if (const auto number = LabelAsInteger(label)) {
    Require(LabelAsInteger(std::to_string(*number)) == number, "a number reads back");
  }
  const Taint taint{lines[1], label, lines[0]};
  Require(Tolerates(Toleration{"", "Exists", "", ""}, taint), "everything is tolerated by key-less Exists");
  Require(Tolerates(Toleration{lines[1], "", label, ""}, taint) || lines[1].empty(),
          "a taint is tolerated by its like");
  (void)CheckLabelKey(lines[1]);
  (void)CheckLabelValue(label);
  return 0;
}
