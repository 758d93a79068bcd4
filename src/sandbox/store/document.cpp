#include "sandbox/store/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {
namespace {

json::parse_options Options(std::size_t max_nesting) {
  json::parse_options options;
  options.max_depth = max_nesting;
  return options;
}

}  // namespace

Document::Document() : arena_(std::make_unique<json::monotonic_resource>()) {
  void* place = arena_->allocate(sizeof(json::object), alignof(json::object));
  // Never destroyed: it owns no memory outside the arena.
  root_ = new (place) json::object(json::storage_ptr(arena_.get()));
}

Expected<Document> Document::Parse(std::string_view text, std::size_t max_nesting) {
  Document document;
  boost::system::error_code error;
  json::value value =
      json::parse(text, error, json::storage_ptr(document.arena_.get()), Options(max_nesting));
  if (error) return Invalid(error.message());
  if (!value.is_object()) return Invalid("cannot unmarshal a value that is not an object");
  *document.root_ = std::move(value.as_object());
  return document;
}

Expected<json::value> ParseJson(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, Options(kMaxNesting));
  if (error) return Invalid(error.message());
  return value;
}

bool IsNestedDeeper(const json::value& value, std::size_t levels) {
  const json::object* object = value.if_object();
  const json::array* array = value.if_array();
  if (object == nullptr && array == nullptr) return false;
  if (levels == 0) return true;
  if (object != nullptr) {
    return std::ranges::any_of(
        *object, [&](const auto& member) { return IsNestedDeeper(member.value(), levels - 1); });
  }
  return std::ranges::any_of(*array,
                             [&](const auto& element) { return IsNestedDeeper(element, levels - 1); });
}

const json::value* Find(const json::object& object, std::string_view key) { return object.if_contains(key); }

const json::value* FindPath(const json::object& object, std::string_view path) {
  const json::object* here = &object;
  for (;;) {
    const auto dot = path.find('.');
    const json::value* value = here->if_contains(path.substr(0, dot));
    if (dot == std::string_view::npos || value == nullptr) return value;
    here = value->if_object();
    if (here == nullptr) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

const json::object* FindObject(const json::object& object, std::string_view path) {
  const json::value* value = FindPath(object, path);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* FindArray(const json::object& object, std::string_view path) {
  const json::value* value = FindPath(object, path);
  return value == nullptr ? nullptr : value->if_array();
}

std::string_view FindString(const json::object& object, std::string_view path) {
  const json::value* value = FindPath(object, path);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

void CopyMember(const json::object& from, json::object& to, std::string_view key) {
  if (const json::value* value = Find(from, key))
    to[key] = *value;
  else
    to.erase(key);
}

json::object& ObjectAt(json::object& parent, std::string_view key) {
  json::value& value = parent[key];
  return value.is_object() ? value.get_object() : value.emplace_object();
}

json::array& ArrayAt(json::object& parent, std::string_view key) {
  json::value& value = parent[key];
  return value.is_array() ? value.get_array() : value.emplace_array();
}

void DropNulls(json::value& value) {
  if (value.is_object()) DropNulls(value.get_object());
  if (!value.is_array()) return;
  for (auto& element : value.get_array()) DropNulls(element);
}

void DropNulls(json::object& object) {
  for (auto it = object.begin(); it != object.end();) {
    if (it->value().is_null()) {
      it = object.stable_erase(it);
    } else {
      DropNulls(it->value());
      ++it;
    }
  }
}

}  // namespace berth::sandbox
