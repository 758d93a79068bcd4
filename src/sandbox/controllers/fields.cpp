#include "sandbox/controllers/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace berth::sandbox {

std::int64_t IntAt(const json::object& object, std::string_view path, std::int64_t otherwise) {
  const json::value* value = FindPath(object, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

bool BoolAt(const json::object& object, std::string_view path, bool otherwise) {
  const json::value* value = FindPath(object, path);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

const json::object& ObjectOrEmpty(const json::object& object, std::string_view path) {
  static const json::object empty;
  const json::object* found = FindObject(object, path);
  return found != nullptr ? *found : empty;
}

const json::array& ArrayOrEmpty(const json::object& object, std::string_view path) {
  static const json::array empty;
  const json::array* found = FindArray(object, path);
  return found != nullptr ? *found : empty;
}

std::int64_t ScaledValue(const json::value* value, std::int64_t total, bool round_up,
                         std::int64_t otherwise) {
  if (value == nullptr) return otherwise;
  if (value->is_int64()) return value->get_int64();
  if (!value->is_string()) return otherwise;
  const std::string_view text = value->get_string();
  std::int64_t percent = 0;
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return round_up ? (percent * total + 99) / 100 : percent * total / 100;
}

// --- conditions and references ---

bool SetCondition(json::object& status, const Condition& wanted, const std::string& now,
                  bool with_update_time) {
  const json::object* old = FindCondition(status, wanted.type);
  if (old != nullptr && FindString(*old, "status") == wanted.status &&
      FindString(*old, "reason") == wanted.reason && FindString(*old, "message") == wanted.message) {
    return false;
  }
  const bool moved = old == nullptr || FindString(*old, "status") != wanted.status;
  json::object condition{{"type", wanted.type}, {"status", wanted.status}};
  if (with_update_time) condition["lastUpdateTime"] = now;
  condition["lastTransitionTime"] = moved ? now : std::string(FindString(*old, "lastTransitionTime"));
  if (!wanted.reason.empty()) condition["reason"] = wanted.reason;
  if (!wanted.message.empty()) condition["message"] = wanted.message;
  RemoveCondition(status, wanted.type);
  ArrayAt(status, "conditions").push_back(std::move(condition));
  return true;
}

void RemoveCondition(json::object& status, std::string_view type) {
  if (FindCondition(status, type) == nullptr) return;
  EraseIf(ArrayAt(status, "conditions"), [&](const json::value& condition) {
    return condition.is_object() && FindString(condition.get_object(), "type") == type;
  });
}

bool HasFinalizer(const Object& object, std::string_view finalizer) {
  if (object.text.find(finalizer) == std::string::npos) return false;  // the usual case, without parsing
  const Document document = object.Parse();
  const auto& finalizers = ArrayOrEmpty(document.root(), "metadata.finalizers");
  return std::ranges::find(finalizers, json::value(finalizer)) != finalizers.end();
}

json::object ControllerRef(const Object& owner) {
  return {{"apiVersion", owner.type->group_version()},
          {"kind", owner.type->kind},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

const json::object* ControllerOf(const json::object& document) {
  for (const auto& reference : ArrayOrEmpty(document, "metadata.ownerReferences")) {
    if (reference.is_object() && BoolAt(reference.get_object(), "controller")) return &reference.get_object();
  }
  return nullptr;
}

// --- hashes ---

std::string SafeEncode(std::string_view text) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string safe;
  for (const char c : text) safe += kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return safe;
}

std::uint32_t Fnv32(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

namespace {

// Serialises members ordered by name, so that equal documents have equal texts.
void AppendCanonical(const json::value& value, std::string& out) {
  if (value.is_object()) {
    std::vector<std::pair<std::string_view, const json::value*>> members;
    for (const auto& member : value.get_object()) members.emplace_back(member.key(), &member.value());
    std::ranges::sort(members);
    out += '{';
    for (const auto& [key, member] : members) {
      out.append(key).append(":");
      AppendCanonical(*member, out);
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const auto& element : value.get_array()) {
      AppendCanonical(element, out);
      out += ',';
    }
    out += ']';
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string TemplateHash(const json::value& pod_template, std::int64_t collision_count) {
  std::string text;
  AppendCanonical(pod_template, text);
  if (collision_count >= 0) text += fmt::to_string(collision_count);
  return SafeEncode(fmt::to_string(Fnv32(text)));
}

}  // namespace berth::sandbox
