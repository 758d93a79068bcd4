// URLs with the rules and texts of Go's package net/url.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace berth::cel {

struct Url {
  std::string scheme, opaque, host, path, raw_path, raw_query, fragment, raw_fragment;
  std::string user, password;
  bool has_user = false, has_password = false, omit_host = false, force_query = false;

  // url.Parse. Errors: `parse "...": ...`.
  static Expected<Url> Parse(std::string_view text);
  // url.ParseRequestURI: absolute URIs and paths only; a fragment belongs to the path or query.
  static Expected<Url> ParseRequest(std::string_view text);

  std::string EscapedPath() const;
  std::string Hostname() const;
  std::string Port() const;
  // Keys in the order of their first appearance. Malformed parts are skipped.
  std::vector<std::pair<std::string, std::vector<std::string>>> Query() const;
  std::string Text() const;
};

}  // namespace berth::cel
