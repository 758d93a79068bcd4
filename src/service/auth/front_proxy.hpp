// Users on whose behalf a trusted proxy asks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/authorities.hpp"
#include "http/message.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// Of the flags --requestheader-*, or of the ConfigMap's keys of the same names.
struct FrontProxy {
  std::shared_ptr<const http::AuthorityPool> authorities{};  // null: there is no such proxy
  std::vector<std::string> allowed_names{};                  // common names; empty: any
  std::vector<std::string> username_headers{};
  std::vector<std::string> uid_headers{};
  std::vector<std::string> group_headers{};
  std::vector<std::string> extra_header_prefixes{};
};

// The user that the headers speak of, whoever sent them; nothing without a user name. The first user name and
// uid count, all groups, and all values of all extra headers.
std::optional<User> UserOfHeaders(const http::Headers& headers, const FrontProxy& proxy);

// Nothing: no opinion, as the client showed no certificate or no user name. An error: its certificate is not
// the proxy's.
Expected<std::optional<User>> AskFrontProxy(const http::Request& request, const FrontProxy& proxy,
                                            WallTime now);

}  // namespace berth::service
