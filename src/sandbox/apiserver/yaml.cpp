#include "sandbox/apiserver/yaml.hpp"

#include <charconv>

#include "config/value.hpp"

namespace berth::sandbox {
namespace {

json::value ToJson(const config::Value& value);

json::value Number(const std::string& text) {
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size()) return integer;
  double number = 0;
  const auto real = std::from_chars(text.data(), text.data() + text.size(), number);
  return real.ec == std::errc() ? json::value(number) : json::value(text);
}

json::value ToJson(const config::Value& value) {
  using Kind = config::Value::Kind;
  switch (value.kind) {
    case Kind::kNull:
      return nullptr;
    case Kind::kBool:
      return value.text == "true";
    case Kind::kNumber:
      return Number(value.text);
    case Kind::kString:
      return json::value(value.text);
    case Kind::kList: {
      json::array list;
      for (const auto& item : value.items) list.push_back(ToJson(item));
      return list;
    }
    case Kind::kMap:
      break;
  }
  json::object object;
  for (const auto& [key, member] : value.members) object[key] = ToJson(member);
  return object;
}

}  // namespace

Expected<Document> ParseYamlDocument(std::string_view text) {
  BERTH_TRY(const config::Value value, yaml::ParseValue(text));
  if (value.kind != config::Value::Kind::kMap) {
    return Invalid("cannot unmarshal a value that is not an object");
  }
  Document document;
  document.root() = ToJson(value).get_object();
  return document;
}

}  // namespace berth::sandbox
