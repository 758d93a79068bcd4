#include "cel/library/addresses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/go_quote.hpp"
#include "cel/numbers.hpp"

namespace berth::cel {
namespace {

constexpr std::size_t kFirstV4Byte = 12;

std::unexpected<Error> AddressError(std::string_view text, const std::string& why, std::string_view at = {}) {
  std::string message = "ParseAddr(" + GoQuote(text) + "): " + why;
  if (!at.empty()) message += " (at " + GoQuote(at) + ")";
  return Invalid(std::move(message));
}

// Four decimal numbers. `all`: the whole text, which ends with `part`; for errors.
Expected<> ParseV4Into(std::string_view all, std::string_view part, std::uint8_t* fields) {
  int value = 0;
  int digits = 0;
  std::size_t field = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) return AddressError(all, "IPv4 field has octet with leading zero");
      value = value * 10 + (c - '0');
      ++digits;
      if (value > 255) return AddressError(all, "IPv4 field has value >255");
    } else if (c == '.') {
      if (i == 0 || i + 1 == part.size() || part[i - 1] == '.') {
        return AddressError(all, "IPv4 field must have at least one digit", part.substr(i));
      }
      if (field == 3) return AddressError(all, "IPv4 address too long");
      fields[field++] = static_cast<std::uint8_t>(value);
      value = 0;
      digits = 0;
    } else {
      return AddressError(all, "unexpected character", part.substr(i));
    }
  }
  if (field < 3) return AddressError(all, "IPv4 address too short");
  fields[3] = static_cast<std::uint8_t>(value);
  return {};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

Expected<IpAddress> ParseV6(std::string_view text) {
  IpAddress address;
  address.v6 = true;
  std::string_view rest = text;
  if (const std::size_t percent = text.find('%'); percent != text.npos) {
    address.zone = text.substr(percent + 1);
    rest = text.substr(0, percent);
    if (address.zone.empty()) return AddressError(text, "zone must be a non-empty string");
  }
  auto& bytes = address.bytes;
  std::size_t at = 0;
  std::size_t ellipsis = 16;  // 16: none
  if (rest.starts_with("::")) {
    ellipsis = 0;
    rest.remove_prefix(2);
    if (rest.empty()) return address;
  }
  while (at < 16) {
    std::size_t length = 0;
    unsigned group = 0;
    for (; length < rest.size() && HexDigit(rest[length]) >= 0; ++length) {
      group = group << 4 | static_cast<unsigned>(HexDigit(rest[length]));
      if (length > 3) return AddressError(text, "each group must have 4 or less digits", rest);
    }
    if (length == 0)
      return AddressError(text, "each colon-separated field must have at least one digit", rest);
    if (length < rest.size() && rest[length] == '.') {
      if (ellipsis == 16 && at != 12) {
        return AddressError(text, "embedded IPv4 address must replace the final 2 fields of the address",
                            rest);
      }
      if (at + 4 > 16) {
        return AddressError(text, "too many hex fields to fit an embedded IPv4 at the end of the address",
                            rest);
      }
      BERTH_RETURN_IF_ERROR(ParseV4Into(text, rest, &bytes[at]));
      rest = {};
      at += 4;
      break;
    }
    bytes[at] = static_cast<std::uint8_t>(group >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(group);
    at += 2;
    rest.remove_prefix(length);
    if (rest.empty()) break;
    if (rest[0] != ':') return AddressError(text, "unexpected character, want colon", rest);
    if (rest.size() == 1) return AddressError(text, "colon must be followed by more characters", rest);
    rest.remove_prefix(1);
    if (rest[0] == ':') {
      if (ellipsis != 16) return AddressError(text, "multiple :: in address", rest);
      ellipsis = at;
      rest.remove_prefix(1);
      if (rest.empty()) break;
    }
  }
  if (!rest.empty()) return AddressError(text, "trailing garbage after address", rest);
  if (at < 16) {
    if (ellipsis == 16) return AddressError(text, "address string too short");
    std::move_backward(bytes.begin() + static_cast<std::ptrdiff_t>(ellipsis),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(ellipsis), 16 - at, std::uint8_t{0});
  } else if (ellipsis != 16) {
    return AddressError(text, "the :: must expand to at least one field of zeros");
  }
  return address;
}

// The longest run of at least two zero groups is written as "::".
std::string V6Text(const IpAddress& address) {
  const auto group = [&](std::size_t i) { return address.bytes[2 * i] << 8 | address.bytes[2 * i + 1]; };
  std::size_t zeros_begin = 8;
  std::size_t zeros_end = 8;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && group(end) == 0) ++end;
    if (end - i >= 2 && end - i > zeros_end - zeros_begin) {
      zeros_begin = i;
      zeros_end = end;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == zeros_begin) {
      text += "::";
      i = zeros_end;
      if (i >= 8) break;
    } else if (i > 0) {
      text += ':';
    }
    text += fmt::format("{:x}", group(i));
  }
  return text;
}

}  // namespace

Expected<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::size_t mark = text.find_first_of(".:%");
  if (mark == text.npos) return AddressError(text, "unable to parse IP");
  if (text[mark] == '%') return AddressError(text, "missing IPv6 address");
  if (text[mark] == ':') return ParseV6(text);
  IpAddress address;
  BERTH_RETURN_IF_ERROR(ParseV4Into(text, text, &address.bytes[kFirstV4Byte]));
  return address;
}

bool IpAddress::IsMapped() const {
  return v6 && std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
         bytes[10] == 0xff && bytes[11] == 0xff;
}

std::string IpAddress::Text() const {
  std::string v4 = fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  if (!v6) return v4;
  const std::string text = IsMapped() ? "::ffff:" + v4 : V6Text(*this);
  return zone.empty() ? text : text + "%" + zone;
}

Expected<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    return Invalid("netip.ParsePrefix(" + GoQuote(text) + "): " + why);
  };
  const std::size_t slash = text.rfind('/');
  if (slash == text.npos) return fail("no '/'");
  auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return fail(address.error().message);
  if (!address->zone.empty()) return fail("IPv6 zones cannot be present in a prefix");
  const std::string_view bits_text = text.substr(slash + 1);
  const bool leading = bits_text.size() > 1 && (bits_text[0] < '1' || bits_text[0] > '9');
  const auto bits = ParseInt(bits_text);
  if (leading || !bits) return fail("bad bits after slash: " + GoQuote(bits_text));
  if (*bits < 0 || *bits > (address->v6 ? 128 : 32)) return fail("prefix length out of range");
  return IpPrefix{std::move(*address), static_cast<int>(*bits)};
}

IpPrefix IpPrefix::Masked() const {
  IpPrefix masked = *this;
  const int first = address.v6 ? 0 : 96;
  for (int bit = first + bits; bit < 128; ++bit) {
    masked.address.bytes[static_cast<std::size_t>(bit) / 8] &= static_cast<std::uint8_t>(~(0x80 >> bit % 8));
  }
  return masked;
}

bool IpPrefix::Contains(const IpAddress& other) const {
  if (other.v6 != address.v6 || !other.zone.empty()) return false;
  return Masked().address == IpPrefix{other, bits}.Masked().address;
}

}  // namespace berth::cel
