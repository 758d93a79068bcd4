// Server-side apply and patches: properties that hold for any two objects.
#include <algorithm>

#include "sandbox/apiserver/apply/ownership.hpp"
#include "sandbox/apiserver/patch/patch.hpp"
#include "sandbox/apiserver/validate/validate.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth::sandbox;
using berth::fuzz::Require;

// An object of the right structure for its type, as a client could write it.
std::optional<json::object> Shaped(const ResourceType& type, const std::string& text) {
  auto document = Document::Parse(text);
  if (!document) return std::nullopt;
  DropNulls(document->root());
  if (!CheckShape(type, document->root(), {})) return std::nullopt;
  document->root().erase("status");
  json::object copy(document->root(), json::storage_ptr());  // a copy that outlives the document's arena
  json::object& metadata = ObjectAt(copy, "metadata");
  metadata.erase("managedFields");
  return copy;
}

// Empty objects and lists own nothing by themselves and vanish in normalization. The properties of apply hold
// for configurations without them.
bool HasBlanks(const json::value& value) {
  if (value.is_array()) {
    return value.get_array().empty() || std::ranges::any_of(value.get_array(), HasBlanks);
  }
  if (!value.is_object()) return false;
  const json::object& members = value.get_object();
  return members.empty() ||
         std::ranges::any_of(members, [](const auto& entry) { return HasBlanks(entry.value()); });
}

void CheckSets(const FieldSet& one, const FieldSet& other) {
  const json::value text = one.ToJson();
  Require(text.is_object(), "a set is an object");
  FieldSet back = FieldSet::FromJson(text.get_object());
  back.member = one.member;
  Require(back == one, "a set reads back");
  FieldSet again = one.Without(other);
  again.Add(one.And(other));
  Require(again == one, "what is in it and what is not make the whole");
  Require(one.Without(one).empty(), "nothing is left of a set without itself");
}

void CheckApply(const SchemaMessage* schema, const json::object& live, const json::object& config) {
  const FieldWriter writer{
      .manager = "fuzz", .api_version = "v1", .subresource = {}, .now = "now", .ignored = {}};
  FieldManagers managers;
  const auto first = ApplyConfiguration(live, config, schema, writer, true, managers);
  Require(first.has_value(), "nothing resists force");
  const FieldManagers after = managers;
  const auto second = ApplyConfiguration(*first, config, schema, writer, false, managers);
  Require(second.has_value(), "a manager has no conflict with itself");
  Require(*second == *first, "applying again changes nothing");
  Require(EncodeManagers(managers) == EncodeManagers(after), "and no fields change");
  const FieldSet wanted = FieldsOf(config, schema);
  Require(wanted.Without(WithNamedFields(FieldsOf(*first, schema), schema)).empty(),
          "what is applied is there");
  CheckSets(wanted, FieldsOf(live, schema));
  const Comparison none = CompareFields(*first, *second, schema);
  Require(none.added.empty() && none.modified.empty() && none.removed.empty(), "equal objects do not differ");
  FieldManagers other;
  TrackUpdate(live, *first, schema, writer, other);
}

}  // namespace

// Lines: the type, the live object, the configuration.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = berth::fuzz::Lines(berth::fuzz::Text(data, size));
  if (lines.size() < 3) return 0;
  const auto types = Resources();
  const ResourceType& type = types[lines[0].size() % types.size()];
  const auto live = Shaped(type, lines[1]);
  const auto config = Shaped(type, lines[2]);
  if (!live || !config) return 0;
  if (!CheckConfiguration(*config, type.schema) && !HasBlanks(*config) && !HasBlanks(*live))
    CheckApply(type.schema, *live, *config);
  json::object merged = *live;
  ApplyMergePatch(merged, *config);
  json::object twice = merged;
  ApplyMergePatch(twice, *config);
  Require(merged == twice, "a merge patch is idempotent");
  json::object strategic = *live;
  (void)ApplyStrategicPatch(strategic, *config);
  return 0;
}
