#include "tools/simulate/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/go_quote.hpp"
#include "base/nearest.hpp"
#include "base/utf8_prefix.hpp"

namespace berth::simulate {
namespace {

constexpr std::size_t kAbsent = SIZE_MAX;

// The beginning of a text, for errors.
std::string Shown(std::string_view text) {
  constexpr std::size_t kMost = 20;
  return GoQuote(Utf8Prefix(text, kMost));
}

}  // namespace

Expected<CsvReader> CsvReader::Open(std::string file, std::string_view text,
                                    const std::vector<std::string>& columns) {
  CsvReader reader;
  reader.file_ = std::move(file);
  reader.rest_ = text;
  if (!reader.ReadRow()) {
    BERTH_RETURN_IF_ERROR(reader.Finish());
    return Invalid(fmt::format("{}: the file is empty", reader.file_));
  }
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

Expected<void> CsvReader::Finish() const {
  if (!error_.empty()) return Invalid(error_);
  return {};
}

bool CsvReader::ReadRow() {
  if (rest_.empty() || !error_.empty()) return false;
  line_ = next_line_++;
  fields_.assign(1, {});
  bool quoted = false, closed = false;  // the last field
  std::size_t opened_in = 0;            // the line of its quote
  std::size_t i = 0;
  for (; i < rest_.size(); ++i) {
    const char c = rest_[i];
    if (quoted) {
      next_line_ += c == '\n' ? 1 : 0;
      if (c != '"') {
        fields_.back() += c;
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '"') {
        fields_.back() += rest_[++i];
      } else {
        quoted = false;
        closed = true;
      }
    } else if (c == '"' && fields_.back().empty() && !closed) {
      quoted = true;
      opened_in = next_line_ - 1;
    } else if (c == ',') {
      fields_.emplace_back();
      closed = false;
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      // Mostly a missing quote in an earlier row, which this one would be part of.
      if (closed) {
        error_ = fmt::format(
            "{}:{}: {}: expected a comma or the end of the line after the closing quote, got {}; the quoted "
            "field begins in line {}",
            file_, next_line_ - 1, ColumnName(fields_.size() - 1),
            Shown(rest_.substr(i, rest_.find_first_of(",\n", i) - i)), opened_in);
        return false;
      }
      fields_.back() += c;
    }
  }
  if (quoted) {
    error_ =
        fmt::format("{}:{}: {}: expected a closing quote, got the end of the file; the field begins with {}",
                    file_, opened_in, ColumnName(fields_.size() - 1), Shown(fields_.back()));
    return false;
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

std::string CsvReader::ColumnName(std::size_t position) const {
  const auto found = std::ranges::find(positions_, position);
  if (found == positions_.end()) return fmt::format("column {}", position + 1);
  return names_[static_cast<std::size_t>(found - positions_.begin())];
}

std::string CsvReader::Place(std::size_t column) const {
  return fmt::format("{}:{}: {}: ", file_, line_, names_[column]);
}

}  // namespace berth::simulate
