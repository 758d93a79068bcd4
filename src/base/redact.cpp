#include "base/redact.hpp"

namespace berth {

std::string RedactUrl(std::string_view url) {
  constexpr std::string_view kSeparator = "://";
  const std::size_t scheme_end = url.find(kSeparator);
  if (scheme_end == url.npos) return std::string(url);
  const std::size_t begin = scheme_end + kSeparator.size();
  const std::string_view authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  const std::size_t user_end = authority.rfind('@');
  if (user_end == authority.npos) return std::string(url);
  const std::size_t colon = authority.substr(0, user_end).find(':');
  if (colon == authority.npos) return std::string(url);
  return std::string(url.substr(0, begin + colon + 1)) + "xxxxx" + std::string(url.substr(begin + user_end));
}

}  // namespace berth
