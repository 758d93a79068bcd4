// IP addresses and prefixes with the rules and texts of Go's package net/netip.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::cel {

struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // IPv4: the last four
  std::string zone;

  static Expected<IpAddress> Parse(std::string_view text);
  bool IsMapped() const;  // an IPv4 address within IPv6
  std::string Text() const;
  bool operator==(const IpAddress&) const = default;
};

struct IpPrefix {
  IpAddress address;
  int bits = 0;

  static Expected<IpPrefix> Parse(std::string_view text);
  IpPrefix Masked() const;
  // Whether the address is in the prefix; never for addresses of the other family.
  bool Contains(const IpAddress& other) const;
  std::string Text() const { return address.Text() + "/" + std::to_string(bits); }
  bool operator==(const IpPrefix&) const = default;
};

}  // namespace berth::cel
