#include "scheduler/load_metrics/query_answer.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/utf8_prefix.hpp"

namespace berth::load_metrics {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t kQuoted = 120;  // bytes quoted from an invalid body
// A response has up to 32 MiB, and texts of the server are copied per signal and into logs.
constexpr std::size_t kTextMax = 1024;  // bytes
constexpr std::size_t kWarningsMax = 10;

// Parses numbers of servers as Go's strconv.ParseFloat: "0.25", "1e+21", "NaN", "+Inf".
std::optional<double> NumberOf(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::quiet_NaN();
  if (error != std::errc{}) return std::nullopt;
  return value;
}

// [time, "value"]
std::optional<double> ValueOf(const element& pair) {
  array items;
  std::string_view text;
  if (pair.get(items) != simdjson::SUCCESS || items.size() != 2) return std::nullopt;
  if (items.at(1).get(text) != simdjson::SUCCESS) return std::nullopt;
  return NumberOf(text);
}

std::unexpected<Error> NoAnswer(int status, std::string_view body, std::string_view why) {
  std::string shown(body.substr(0, kQuoted));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return Fail(ErrorCode::kUnavailable, fmt::format("HTTP status {}: {}: {}", status, why, shown));
}

Expected<std::size_t> ReadVector(const array& result,
                                 const std::function<void(const LabelOf&, double)>& sample) {
  std::size_t histograms = 0;
  for (const element& item : result) {
    object labels;
    element pair;
    if (item["metric"].get(labels) != simdjson::SUCCESS)
      return Fail(ErrorCode::kUnavailable, "a series without \"metric\"");
    if (item["value"].get(pair) != simdjson::SUCCESS) {
      if (item["histogram"].error() != simdjson::SUCCESS)
        return Fail(ErrorCode::kUnavailable, "a series without \"value\"");
      ++histograms;
      continue;
    }
    const auto value = ValueOf(pair);
    if (!value) return Fail(ErrorCode::kUnavailable, "a sample value is not a number");
    sample(
        [&labels](std::string_view name) {
          std::string_view text;
          return labels[name].get(text) == simdjson::SUCCESS ? text : std::string_view();
        },
        *value);
  }
  return histograms;
}

Expected<std::size_t> ReadResult(const object& data,
                                 const std::function<void(const LabelOf&, double)>& sample) {
  std::string_view type;
  if (data["resultType"].get(type) != simdjson::SUCCESS)
    return Fail(ErrorCode::kUnavailable, "no resultType");
  element result;
  if (data["result"].get(result) != simdjson::SUCCESS) return Fail(ErrorCode::kUnavailable, "no result");
  if (type == "scalar") {
    const auto value = ValueOf(result);
    if (!value) return Fail(ErrorCode::kUnavailable, "a scalar value is not a number");
    sample([](std::string_view) { return std::string_view(); }, *value);
    return 0U;
  }
  if (type != "vector")
    return Invalid(
        fmt::format("the query returned a {}: expected an instant vector", Utf8Prefix(type, kQuoted)));
  if (result.is_null()) return 0U;
  array series;
  if (result.get(series) != simdjson::SUCCESS)
    return Fail(ErrorCode::kUnavailable, "the vector is not a list");
  return ReadVector(series, sample);
}

// The server's error. bad_data and execution are errors of the query, all others errors of the server.
std::unexpected<Error> Refusal(int status, const element& document) {
  std::string_view type, text;
  if (document["errorType"].get(type) != simdjson::SUCCESS) type = "error";
  if (document["error"].get(text) != simdjson::SUCCESS) text = "";
  const bool query_error = type == "bad_data" || type == "execution";
  return Fail(
      query_error ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
      fmt::format("HTTP status {}: {}: {}", status, Utf8Prefix(type, kQuoted), Utf8Prefix(text, kTextMax)));
}

}  // namespace

Expected<AnswerNotes> ReadAnswer(int status, std::string_view body,
                                 const std::function<void(const LabelOf&, double)>& sample) {
  thread_local simdjson::dom::parser parser;
  const simdjson::padded_string padded(body);
  element document;
  if (parser.parse(padded).get(document) != simdjson::SUCCESS)
    return NoAnswer(status, body, "not a JSON response of a Prometheus server");
  std::string_view outcome;
  if (document["status"].get(outcome) != simdjson::SUCCESS)
    return NoAnswer(status, body, "no status in the response");
  if (outcome != "success") return Refusal(status, document);
  object data;
  if (document["data"].get(data) != simdjson::SUCCESS)
    return NoAnswer(status, body, "no data in the response");
  auto histograms = ReadResult(data, sample);
  if (!histograms) return std::unexpected(std::move(histograms).error());
  AnswerNotes notes{.warnings = {}, .histograms = *histograms};
  if (array warnings; document["warnings"].get(warnings) == simdjson::SUCCESS) {
    for (const element& item : warnings) {
      if (notes.warnings.size() == kWarningsMax) break;
      if (std::string_view text; item.get(text) == simdjson::SUCCESS)
        notes.warnings.emplace_back(Utf8Prefix(text, kTextMax));
    }
  }
  return notes;
}

}  // namespace berth::load_metrics
