// ADDRESS:PORT, as flags for plain HTTP take it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace berth::process {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// Nothing if the text has another form. The address may be empty, and is not looked at.
std::optional<HostPort> ParseHostPort(const std::string& text);

}  // namespace berth::process
