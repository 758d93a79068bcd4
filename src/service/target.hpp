// A request's path and query, read as Go's net/url reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::service {

struct Target {
  std::string path;                                        // escapes undone
  std::string raw_query;                                   // what stands behind the ?
  std::vector<std::pair<std::string, std::string>> query;  // in order

  bool Has(std::string_view key) const;
  // The first value; empty if there is none.
  std::string_view Get(std::string_view key) const;
};

// Of a request line: "/path?query", or an absolute URL. Nothing if it is neither, or has a wrong escape in
// its path; a wrong escape in the query only loses that parameter.
std::optional<Target> ParseTarget(std::string_view text);

}  // namespace berth::service
