// Parses ADDRESS:PORT of the flags for plain HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace berth::process {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// nullopt if the text has another form. The address may be empty and is not validated.
std::optional<HostPort> ParseHostPort(const std::string& text);

}  // namespace berth::process
