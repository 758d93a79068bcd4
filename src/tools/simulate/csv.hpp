// Reads CSV files, with or without a header line (RFC 4180: fields may be in double quotes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::simulate {

// Columns are selected by name when the file is opened; rows are read one after the other. The text must
// outlive the reader.
class CsvReader {
 public:
  // A column name with '?' at the end may be missing; its fields are then empty. Errors name the file and the
  // missing column.
  static Expected<CsvReader> Open(std::string file, std::string_view text,
                                  const std::vector<std::string>& columns);

  // A file without a header line, whose columns have these names.
  static CsvReader OpenWithoutHeader(std::string file, std::string_view text,
                                     std::vector<std::string> columns);

  // Reads the next row. False at the end of the text, or of what can be read.
  bool Next();
  // Must be called after the last row. Errors name file, line and column of a quoted field without an end.
  Expected<void> Finish() const;
  // The field of the i-th selected column of the row.
  const std::string& Field(std::size_t column) const;
  // The field as a number that is not negative. Errors name file, line, column and value.
  Expected<double> Number(std::size_t column) const;
  // The same; `otherwise` if the field is empty.
  Expected<double> Number(std::size_t column, double otherwise) const;
  // "file:line: column: ".
  std::string Place(std::size_t column) const;

 private:
  bool ReadRow();
  // Of a column of the file.
  std::string ColumnName(std::size_t position) const;

  std::string file_;
  std::string_view rest_;
  std::size_t line_ = 0;                // the first one of the row
  std::size_t next_line_ = 1;           // of the text that is left
  std::string error_;                   // empty: none so far
  std::vector<std::string> names_;      // of the selected columns
  std::vector<std::size_t> positions_;  // of the selected columns; kAbsent: not in the file
  std::vector<std::string> fields_;     // of the row, all columns
};

}  // namespace berth::simulate
