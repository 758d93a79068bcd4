// A request's path and query, parsed as in Go's net/url.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::service {

struct Target {
  std::string path;                                        // percent-decoded
  std::string raw_query;                                   // the text after the ?
  std::vector<std::pair<std::string, std::string>> query;  // in order

  bool Has(std::string_view key) const;
  // The first value; empty if there is none.
  std::string_view Get(std::string_view key) const;
};

// Parses the target of a request line: "/path?query", or an absolute URL. nullopt if it is neither, or has an
// invalid escape in its path; an invalid escape in the query only drops that parameter.
std::optional<Target> ParseTarget(std::string_view text);

}  // namespace berth::service
