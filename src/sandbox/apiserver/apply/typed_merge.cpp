// Merges a configuration into an object, and removes fields from an object.
#include <set>

#include "sandbox/apiserver/apply/typed.hpp"
#include "sandbox/apiserver/apply/typed_form.hpp"

namespace berth::sandbox {
namespace {

json::value MergeValues(const json::value* live, const json::value* config, const TypeRef& type);

struct NamedElement {
  std::string name;
  const json::value* value;
};

std::vector<NamedElement> InOrder(const SchemaField& list, const json::array& elements) {
  std::vector<NamedElement> all;
  std::set<std::string> seen;
  for (const auto& element : elements) {
    auto name = ListElement(list, element);
    if (name && seen.insert(*name).second) all.push_back({std::move(*name), &element});
  }
  return all;
}

// Elements in both lists take the configuration's order; the others keep their place between them.
json::array MergeLists(const json::array& live, const json::array& config, const TypeRef& type) {
  const auto left = InOrder(*type.field, live);
  const auto right = InOrder(*type.field, config);
  std::map<std::string_view, const json::value*> in_left, in_right;
  for (const auto& [name, value] : left) in_left.emplace(name, value);
  for (const auto& [name, value] : right) in_right.emplace(name, value);
  std::vector<std::string_view> shared;  // of the configuration, in its order
  for (const auto& [name, value] : right) {
    if (in_left.contains(name)) shared.push_back(name);
  }
  json::array merged;
  std::set<std::string_view> done;
  std::size_t l = 0, r = 0, next_shared = 0;
  const auto take_right = [&] {
    const auto& [name, value] = right[r++];
    const auto known = in_left.find(name);
    merged.push_back(MergeValues(known == in_left.end() ? nullptr : known->second, value, type.Element()));
    done.insert(name);
    if (next_shared < shared.size() && shared[next_shared] == name) ++next_shared;
  };
  while (l < left.size() || r < right.size()) {
    if (l < left.size() && r < right.size()) {
      if (left[l].name == right[r].name) {
        ++l;
        take_right();
        continue;
      }
      if (in_right.contains(left[l].name) && next_shared < shared.size() &&
          shared[next_shared] != left[l].name) {
        ++l;  // added later
        continue;
      }
    }
    if (l < left.size()) {
      if (!in_right.contains(left[l].name)) {
        merged.push_back(*left[l++].value);
        continue;
      }
      if (done.contains(left[l].name)) ++l;
    }
    if (r < right.size()) take_right();
  }
  return merged;
}

json::value MergeValues(const json::value* live, const json::value* config, const TypeRef& type) {
  if (config == nullptr) return *live;
  if (live == nullptr) return *config;
  const Form form = type.FormOf(config);
  if (form == Form::kLeaf || live->kind() != config->kind()) return *config;
  if (form == Form::kList) {
    return live->is_array() ? json::value(MergeLists(live->get_array(), config->get_array(), type)) : *config;
  }
  if (!live->is_object()) return *config;
  json::object merged = live->get_object();
  for (const auto& entry : config->get_object()) {
    const json::value* below = Find(live->get_object(), entry.key());
    merged[entry.key()] = MergeValues(below, &entry.value(), type.Below(form, entry.key()));
  }
  return merged;
}

// Null if nothing is left.
json::value Remove(const json::value& value, const FieldSet& fields, const TypeRef& type) {
  const Form form = type.FormOf(&value);
  if (form == Form::kList && value.is_array()) {
    json::array left;
    for (const auto& element : value.get_array()) {
      const auto name = ListElement(*type.field, element);
      const auto found = name ? fields.below.find(*name) : fields.below.end();
      if (found == fields.below.end()) {
        left.push_back(element);
      } else if (!found->second.member) {
        json::value rest = Remove(element, found->second, type.Element());
        if (!rest.is_null()) left.push_back(std::move(rest));
      }
    }
    return left.empty() ? json::value() : json::value(std::move(left));
  }
  if ((form != Form::kStruct && form != Form::kMap) || !value.is_object()) return value;
  json::object left;
  for (const auto& entry : value.get_object()) {
    const auto found = fields.below.find("f:" + std::string(entry.key()));
    if (found == fields.below.end()) {
      left[entry.key()] = entry.value();
    } else if (!found->second.member) {
      // Without its fields the value may be null; the member itself stays.
      left[entry.key()] = Remove(entry.value(), found->second, type.Below(form, entry.key()));
    }
  }
  return left.empty() ? json::value() : json::value(std::move(left));
}

}  // namespace

json::object MergeObjects(const json::object& live, const json::object& config, const SchemaMessage* schema) {
  const json::value left(live), right(config);
  return MergeValues(&left, &right, TypeRef::Root(schema)).get_object();
}

json::object RemoveFields(const json::object& object, const FieldSet& fields, const SchemaMessage* schema) {
  const json::value rest = Remove(json::value(object), fields, TypeRef::Root(schema));
  return rest.is_object() ? rest.get_object() : json::object();
}

}  // namespace berth::sandbox
