#include "sandbox/apiserver/apply/typed.hpp"

#include <algorithm>

#include "sandbox/apiserver/apply/typed_form.hpp"

namespace berth::sandbox {
namespace {

std::string MemberElement(std::string_view name) { return "f:" + std::string(name); }

const json::object& ObjectOrEmpty(const json::value* value) {
  static const json::object empty;
  return value != nullptr && value->is_object() ? value->get_object() : empty;
}

const json::array& ArrayOrEmpty(const json::value* value) {
  static const json::array empty;
  return value != nullptr && value->is_array() ? value->get_array() : empty;
}

// The elements of a keyed list or set by their path elements. Of duplicates the first one is used.
std::map<std::string, const json::value*> Elements(const SchemaField& list, const json::value* value) {
  std::map<std::string, const json::value*> all;
  for (const auto& element : ArrayOrEmpty(value)) {
    if (auto name = ListElement(list, element)) all.emplace(std::move(*name), &element);
  }
  return all;
}

void CollectMembers(const json::object& object, Form form, const TypeRef& type, FieldSet& at);

void CollectFields(const json::value& value, const TypeRef& type, FieldSet& at) {
  const Form form = type.FormOf(&value);
  if (form == Form::kLeaf) {
    at.member = true;
  } else if (form == Form::kList) {
    for (const auto& [name, element] : Elements(*type.field, &value)) {
      FieldSet& child = at.below[name];
      CollectFields(*element, type.Element(), child);
      child.member = true;
    }
  } else {
    CollectMembers(ObjectOrEmpty(&value), form, type, at);
  }
}

void CollectMembers(const json::object& object, Form form, const TypeRef& type, FieldSet& at) {
  for (const auto& entry : object) {
    FieldSet& child = at.below[MemberElement(entry.key())];
    CollectFields(entry.value(), type.Below(form, entry.key()), child);
    const bool hollow =
        entry.value().is_null() || (entry.value().is_object() && entry.value().get_object().empty());
    if (hollow || form == Form::kMap || type.Member(entry.key()) == nullptr) child.member = true;
  }
}

// Three sets under one path.
struct Differences {
  FieldSet &removed, &modified, &added;
  Differences Below(const std::string& element) const {
    return {removed.below[element], modified.below[element], added.below[element]};
  }
};

void CompareLeaf(const json::value* before, const json::value* after, const Differences& at) {
  if (before == nullptr)
    at.added.member = true;
  else if (after == nullptr)
    at.removed.member = true;
  else if (*before != *after)
    at.modified.member = true;
}

void CompareMembers(const json::object& before, const json::object& after, Form form, const TypeRef& type,
                    const Differences& at);

void CompareValues(const json::value* before, const json::value* after, const TypeRef& type,
                   const Differences& at) {
  if (before != nullptr && after != nullptr && *before == *after) return;
  const Form form = type.FormOf(after != nullptr ? after : before);
  if (form == Form::kLeaf) return CompareLeaf(before, after, at);
  if (form == Form::kList) {
    if (ArrayOrEmpty(before).empty() && ArrayOrEmpty(after).empty()) return CompareLeaf(before, after, at);
    const auto old_elements = Elements(*type.field, before);
    const auto new_elements = Elements(*type.field, after);
    for (const auto& [name, element] : old_elements) {
      const auto found = new_elements.find(name);
      CompareValues(element, found == new_elements.end() ? nullptr : found->second, type.Element(),
                    at.Below(name));
    }
    for (const auto& [name, element] : new_elements) {
      if (!old_elements.contains(name)) CompareValues(nullptr, element, type.Element(), at.Below(name));
    }
  } else {
    const json::object& old_members = ObjectOrEmpty(before);
    const json::object& new_members = ObjectOrEmpty(after);
    if (old_members.empty() && new_members.empty()) return CompareLeaf(before, after, at);
    CompareMembers(old_members, new_members, form, type, at);
  }
  // A struct or list that was added or removed as a whole is itself a member, too.
  if (before == nullptr) at.added.member = true;
  if (after == nullptr) at.removed.member = true;
}

void CompareMembers(const json::object& before, const json::object& after, Form form, const TypeRef& type,
                    const Differences& at) {
  for (const auto& entry : before) {
    const json::value* now = Find(after, entry.key());
    if (now != nullptr && *now == entry.value()) continue;
    CompareValues(&entry.value(), now, type.Below(form, entry.key()), at.Below(MemberElement(entry.key())));
  }
  for (const auto& entry : after) {
    if (Find(before, entry.key()) != nullptr) continue;
    CompareValues(nullptr, &entry.value(), type.Below(form, entry.key()),
                  at.Below(MemberElement(entry.key())));
  }
}

FieldSet NamedFields(const FieldSet& set, const TypeRef& type) {
  FieldSet result;
  result.member = set.member;
  const bool list = !type.element && type.field != nullptr && type.field->many == SchemaField::Many::kList;
  const Form form = list ? Form::kList : type.FormOf(nullptr);
  for (const auto& [element, branch] : set.below) {
    const std::string_view name = std::string_view(element).substr(2);
    const bool member = element.starts_with("f:");
    const TypeRef below = member ? type.Below(form, name) : list ? type.Element() : TypeRef{};
    FieldSet& child = result.below[element] = NamedFields(branch, below);
    if (member && !branch.below.empty() && type.Member(name) != nullptr && form == Form::kStruct)
      child.member = true;
  }
  return result;
}

}  // namespace

std::optional<std::string> ListElement(const SchemaField& list, const json::value& element) {
  if (list.list_type == SchemaField::ListType::kSet) return "v:" + json::serialize(element);
  if (!element.is_object()) return std::nullopt;
  std::vector<std::string_view> names = list.keys;
  std::ranges::sort(names);
  json::object keys;
  for (const auto name : names) {
    const json::value* value = Find(element.get_object(), name);
    if (value != nullptr && !value->is_null()) {
      keys[name] = *value;
    } else if (name == "protocol") {
      keys[name] = "TCP";  // the only key with a default
    }
  }
  return "k:" + json::serialize(keys);
}

FieldSet FieldsOf(const json::object& object, const SchemaMessage* schema) {
  FieldSet set;
  const TypeRef root = TypeRef::Root(schema);
  CollectMembers(object, schema != nullptr ? Form::kStruct : Form::kMap, root, set);
  set.Prune();
  return set;
}

Comparison CompareFields(const json::object& before, const json::object& after, const SchemaMessage* schema) {
  Comparison result;
  CompareMembers(before, after, schema != nullptr ? Form::kStruct : Form::kMap, TypeRef::Root(schema),
                 {result.removed, result.modified, result.added});
  for (FieldSet* set : {&result.removed, &result.modified, &result.added}) set->Prune();
  return result;
}

FieldSet WithNamedFields(const FieldSet& set, const SchemaMessage* schema) {
  return NamedFields(set, TypeRef::Root(schema));
}

}  // namespace berth::sandbox
