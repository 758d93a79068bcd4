#include "process/host_port.hpp"

#include <charconv>

namespace berth::process {

std::optional<HostPort> ParseHostPort(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  HostPort address;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc{} || rest != end) return std::nullopt;
  address.host = text.substr(0, colon);
  return address;
}

}  // namespace berth::process
