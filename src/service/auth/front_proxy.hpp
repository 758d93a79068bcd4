// Users for whom a trusted front proxy sends requests.
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
#include "service/auth/certificate_verifier.hpp"
#include "service/auth/user.hpp"

namespace berth::service {

// From the flags --requestheader-*, or from the ConfigMap's keys with the same names.
struct FrontProxy {
  std::shared_ptr<const http::AuthorityPool> authorities{};  // null: no front proxy
  std::vector<std::string> allowed_names{};                  // common names; empty: any
  std::vector<std::string> username_headers{};
  std::vector<std::string> uid_headers{};
  std::vector<std::string> group_headers{};
  std::vector<std::string> extra_header_prefixes{};
};

// The user given by the headers, without checking the sender; nullopt without a user name. The first user
// name and uid are used, all groups, and all values of all extra headers.
std::optional<User> UserOfHeaders(const http::Headers& headers, const FrontProxy& proxy);

// nullopt: no result, because the client presented no certificate or sent no user name. An error: its
// certificate is not the proxy's.
Expected<std::optional<User>> UserOfFrontProxy(const http::Request& request, const FrontProxy& proxy,
                                               CertificateVerifier& verifier, WallTime now);

}  // namespace berth::service
