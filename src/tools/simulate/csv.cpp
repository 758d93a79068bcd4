#include "tools/simulate/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.hpp"

namespace berth::simulate {
namespace {

constexpr std::size_t kAbsent = SIZE_MAX;

}  // namespace

Expected<CsvReader> CsvReader::Open(std::string file, std::string_view text,
                                    const std::vector<std::string>& columns) {
  CsvReader reader;
  reader.file_ = std::move(file);
  reader.rest_ = text;
  if (!reader.ReadRow()) return Invalid(fmt::format("{}: the file is empty", reader.file_));
  const std::vector<std::string> header = reader.fields_;
  for (std::string name : columns) {
    const bool optional = name.ends_with('?');
    if (optional) name.pop_back();
    const auto found = std::ranges::find(header, name);
    if (found == header.end() && !optional) {
      const std::string nearest = Nearest(name, header);
      return Invalid(fmt::format("{}:1: the column {} is missing; got {}{}", reader.file_, name,
                                 fmt::join(header, ","),
                                 nearest.empty() ? "" : fmt::format("; the nearest name is {}", nearest)));
    }
    reader.positions_.push_back(found == header.end() ? kAbsent
                                                      : static_cast<std::size_t>(found - header.begin()));
    reader.names_.push_back(std::move(name));
  }
  return reader;
}

CsvReader CsvReader::OpenWithoutHeader(std::string file, std::string_view text,
                                       std::vector<std::string> columns) {
  CsvReader reader;
  reader.file_ = std::move(file);
  reader.rest_ = text;
  for (std::size_t i = 0; i < columns.size(); ++i) reader.positions_.push_back(i);
  reader.names_ = std::move(columns);
  return reader;
}

bool CsvReader::Next() {
  while (ReadRow()) {
    if (fields_.size() > 1 || !fields_.front().empty()) return true;
  }
  return false;
}

bool CsvReader::ReadRow() {
  if (rest_.empty()) return false;
  ++line_;
  fields_.assign(1, {});
  bool quoted = false;
  std::size_t i = 0;
  for (; i < rest_.size(); ++i) {
    const char c = rest_[i];
    if (quoted) {
      if (c != '"') {
        fields_.back() += c;
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '"') {
        fields_.back() += rest_[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields_.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields_.emplace_back();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      fields_.back() += c;
    }
  }
  rest_.remove_prefix(std::min(i + 1, rest_.size()));
  return true;
}

const std::string& CsvReader::Field(std::size_t column) const {
  static const std::string kNone;
  const std::size_t position = positions_[column];
  return position < fields_.size() ? fields_[position] : kNone;
}

Expected<double> CsvReader::Number(std::size_t column) const {
  const std::string& text = Field(column);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && std::isfinite(number) && number >= 0 && number < 9e15) return number;
  return Invalid(fmt::format("{}expected a number that is not negative, got \"{}\"", Place(column), text));
}

Expected<double> CsvReader::Number(std::size_t column, double otherwise) const {
  if (Field(column).empty()) return otherwise;
  return Number(column);
}

std::string CsvReader::Place(std::size_t column) const {
  return fmt::format("{}:{}: {}: ", file_, line_, names_[column]);
}

}  // namespace berth::simulate
