// ElasticQuotas from JSON, and the JSON in their annotations.
#include "kubernetes/api/json_reader.hpp"
#include "kubernetes/api/json_values.hpp"

namespace berth::api::json {

bool Read(const element& value, ElasticQuota& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"min", out.min}, Field{"max", out.max});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

}  // namespace berth::api::json

namespace berth::api {

std::optional<ResourceList> ResourceListFromJson(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text).get(object) != simdjson::SUCCESS) return std::nullopt;
  ResourceList list;
  for (const auto& [name, value] : object) {
    std::string_view amount;
    std::int64_t number = 0;
    if (value.get(amount) == simdjson::SUCCESS) {
      const auto quantity = Quantity::Parse(amount);
      if (!quantity) return std::nullopt;
      list[name] = *quantity;
    } else if (value.get(number) == simdjson::SUCCESS) {
      list[name] = Quantity::FromInteger(number);
    } else {
      return std::nullopt;
    }
  }
  return list;
}

std::optional<std::vector<std::string>> StringsFromJson(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::array array;
  if (parser.parse(text).get(array) != simdjson::SUCCESS) return std::nullopt;
  std::vector<std::string> strings;
  for (const simdjson::dom::element value : array) {
    std::string_view one;
    if (value.get(one) != simdjson::SUCCESS) return std::nullopt;
    strings.emplace_back(one);
  }
  return strings;
}

}  // namespace berth::api
