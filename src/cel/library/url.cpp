#include "cel/library/url.hpp"

#include <algorithm>

#include "base/go_quote.hpp"
#include "cel/library/addresses.hpp"

namespace berth::cel {
namespace {

// The part of a URL decides which characters are written as they are.
enum class UrlPart : std::uint8_t { kPath, kHost, kZone, kUser, kQuery, kFragment };

bool IsAlphanumeric(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool MustEscape(unsigned char c, UrlPart part) {
  if (IsAlphanumeric(c)) return false;
  const auto in = [c](std::string_view set) { return c != 0 && set.find(static_cast<char>(c)) != set.npos; };
  if (part == UrlPart::kHost || part == UrlPart::kZone) {
    if (in("!$&'()*+,;=:[]<>\"")) return false;
  }
  if (in("-_.~")) return false;
  if (in("$&+,/:;=?@")) {
    switch (part) {
      case UrlPart::kPath:
        return c == '?';
      case UrlPart::kUser:
        return in("@/?:");
      case UrlPart::kFragment:
        return false;
      default:
        return true;
    }
  }
  return !(part == UrlPart::kFragment && in("!()*"));
}

std::string Escape(std::string_view text, UrlPart part) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ' && part == UrlPart::kQuery) {
      escaped += '+';
    } else if (MustEscape(byte, part)) {
      escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::unexpected<Error> BadEscape(std::string_view text) {
  return Invalid("invalid URL escape " + GoQuote(text));
}

Expected<std::string> Unescape(std::string_view text, UrlPart part) {
  std::string plain;
  const bool host = part == UrlPart::kHost || part == UrlPart::kZone;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      const std::string_view sequence = text.substr(i, 3);
      if (sequence.size() < 3 || HexValue(sequence[1]) < 0 || HexValue(sequence[2]) < 0)
        return BadEscape(sequence);
      const auto byte = static_cast<unsigned char>(HexValue(sequence[1]) << 4 | HexValue(sequence[2]));
      if (part == UrlPart::kHost && HexValue(sequence[1]) < 8 && sequence != "%25")
        return BadEscape(sequence);
      if (part == UrlPart::kZone && sequence != "%25" && byte != ' ' && MustEscape(byte, UrlPart::kHost)) {
        return BadEscape(sequence);
      }
      plain += static_cast<char>(byte);
      i += 2;
    } else if (c == '+' && part == UrlPart::kQuery) {
      plain += ' ';
    } else {
      if (host && static_cast<unsigned char>(c) < 0x80 && MustEscape(static_cast<unsigned char>(c), part)) {
        return Invalid("invalid character " + GoQuote(std::string_view(&c, 1)) + " in host name");
      }
      plain += c;
    }
  }
  return plain;
}

bool IsPort(std::string_view text) {
  return text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(),
                                                        [](char c) { return c >= '0' && c <= '9'; }));
}

std::unexpected<Error> BadPort(std::string_view port) {
  return Invalid("invalid port " + GoQuote(port) + " after host");
}

Expected<std::string> ParseLiteral(std::string_view host) {
  const std::size_t close = host.rfind(']');
  if (close == host.npos) return Invalid("missing ']' in host");
  const std::string_view port = host.substr(close + 1);
  if (!IsPort(port)) return BadPort(port);
  const std::string_view name = host.substr(1, close - 1);
  std::string plain;
  const std::size_t zone = name.find("%25");
  BERTH_TRY(plain, Unescape(name.substr(0, zone), UrlPart::kHost));
  if (zone != name.npos) {
    BERTH_TRY(const std::string zone_text, Unescape(name.substr(zone), UrlPart::kZone));
    plain += zone_text;
  }
  const auto address = IpAddress::Parse(plain);
  if (!address) return Invalid("invalid host: " + address.error().message);
  if (!address->v6) return Invalid("invalid IP-literal");
  return "[" + plain + "]" + std::string(port);
}

Expected<std::string> ParseHost(const std::string& scheme, std::string_view host) {
  const std::size_t open = host.rfind('[');
  if (open != host.npos && open > 0) return Invalid("invalid IP-literal");
  if (open == 0) return ParseLiteral(host);
  std::size_t colon = host.find(':');
  if (colon != host.npos) {
    // Other schemes may have several hosts.
    if (scheme != "http" && scheme != "https") colon = host.rfind(':');
    if (!IsPort(host.substr(colon))) return BadPort(host.substr(colon));
  }
  return Unescape(host, UrlPart::kHost);
}

bool IsUserInfo(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlphanumeric(static_cast<unsigned char>(c)) ||
           (c != '\0' && std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos);
  });
}

Expected<> ParseAuthority(Url& url, std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  BERTH_TRY(url.host, ParseHost(url.scheme, at == authority.npos ? authority : authority.substr(at + 1)));
  if (at == authority.npos) return {};
  const std::string_view user = authority.substr(0, at);
  if (!IsUserInfo(user)) return Invalid("net/url: invalid userinfo");
  const std::size_t colon = user.find(':');
  url.has_user = true;
  url.has_password = colon != user.npos;
  BERTH_TRY(url.user, Unescape(user.substr(0, colon), UrlPart::kUser));
  if (!url.has_password) return {};
  BERTH_TRY(url.password, Unescape(user.substr(colon + 1), UrlPart::kUser));
  return {};
}

// Splits off "http:". The rest is the whole text if there is no scheme.
Expected<std::pair<std::string, std::string_view>> SplitScheme(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
    if ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.') {
      if (i == 0) break;
      continue;
    }
    if (c != ':') break;
    if (i == 0) return Invalid("missing protocol scheme");
    return std::pair(std::string(text.substr(0, i)), text.substr(i + 1));
  }
  return std::pair(std::string(), text);
}

Expected<Url> ParseUrl(std::string_view text, bool request) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      return Invalid("net/url: invalid control character in URL");
    }
  }
  if (text.empty() && request) return Invalid("empty url");
  Url url;
  if (text == "*") {
    url.path = "*";
    return url;
  }
  BERTH_TRY(auto split, SplitScheme(text));
  url.scheme = std::move(split.first);
  for (char& c : url.scheme) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  std::string_view rest = split.second;
  if (rest.ends_with('?') && std::count(rest.begin(), rest.end(), '?') == 1) {
    url.force_query = true;
    rest.remove_suffix(1);
  } else if (const std::size_t question = rest.find('?'); question != rest.npos) {
    url.raw_query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = rest;
      return url;
    }
    if (request) return Invalid("invalid URI for request");
    if (rest.substr(0, rest.find('/')).find(':') != rest.npos) {
      return Invalid("first path segment in URL cannot contain colon");
    }
  }
  if ((!url.scheme.empty() || (!request && !rest.starts_with("///"))) && rest.starts_with("//")) {
    const std::size_t slash = rest.find('/', 2);
    BERTH_RETURN_IF_ERROR(ParseAuthority(url, rest.substr(2, slash == rest.npos ? slash : slash - 2)));
    rest = slash == rest.npos ? std::string_view() : rest.substr(slash);
  } else if (!url.scheme.empty() && rest.starts_with('/')) {
    url.omit_host = true;
  }
  BERTH_TRY(url.path, Unescape(rest, UrlPart::kPath));
  if (rest != Escape(url.path, UrlPart::kPath)) url.raw_path = rest;
  return url;
}

// Whether an encoding that the URL came with can be kept.
bool IsValidEncoding(std::string_view text, UrlPart part) {
  return std::all_of(text.begin(), text.end(), [part](char c) {
    return (c != '\0' && std::string_view("!$&'()*+,;=:@[]%").find(c) != std::string_view::npos) ||
           !MustEscape(static_cast<unsigned char>(c), part);
  });
}

std::string EscapedAs(const std::string& raw, const std::string& plain, UrlPart part) {
  if (!raw.empty() && IsValidEncoding(raw, part)) {
    const auto unescaped = Unescape(raw, part);
    if (unescaped && *unescaped == plain) return raw;
  }
  return plain == "*" && part == UrlPart::kPath ? plain : Escape(plain, part);
}

std::unexpected<Error> ParseError(std::string_view text, const Error& error) {
  return Invalid("parse " + GoQuote(text) + ": " + error.message);
}

}  // namespace

Expected<Url> Url::Parse(std::string_view text) {
  const std::size_t hash = text.find('#');
  auto url = ParseUrl(text.substr(0, hash), false);
  if (!url) return ParseError(text.substr(0, hash), url.error());
  if (hash == text.npos || hash + 1 == text.size()) return url;
  const std::string_view fragment = text.substr(hash + 1);
  auto plain = Unescape(fragment, UrlPart::kFragment);
  if (!plain) return ParseError(text, plain.error());
  url->fragment = std::move(*plain);
  if (fragment != Escape(url->fragment, UrlPart::kFragment)) url->raw_fragment = fragment;
  return url;
}

Expected<Url> Url::ParseRequest(std::string_view text) {
  auto url = ParseUrl(text, true);
  if (!url) return ParseError(text, url.error());
  return url;
}

std::string Url::EscapedPath() const { return EscapedAs(raw_path, path, UrlPart::kPath); }

std::string Url::Hostname() const {
  std::string_view name = host;
  const std::size_t colon = name.rfind(':');
  if (colon != name.npos && IsPort(name.substr(colon))) name = name.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::string Url::Port() const {
  const std::size_t colon = host.rfind(':');
  return colon != host.npos && IsPort(std::string_view(host).substr(colon)) ? host.substr(colon + 1)
                                                                            : std::string();
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::Query() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> query;
  std::string_view rest = raw_query;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty() || pair.find(';') != pair.npos) continue;
    const std::size_t equals = pair.find('=');
    const auto key = Unescape(pair.substr(0, equals), UrlPart::kQuery);
    const auto value =
        Unescape(equals == pair.npos ? std::string_view() : pair.substr(equals + 1), UrlPart::kQuery);
    if (!key || !value) continue;
    auto found =
        std::find_if(query.begin(), query.end(), [&](const auto& entry) { return entry.first == *key; });
    if (found == query.end()) found = query.insert(query.end(), {*key, {}});
    found->second.push_back(*value);
  }
  return query;
}

std::string Url::Text() const {
  std::string text;
  if (!scheme.empty()) text += scheme + ":";
  if (!opaque.empty()) {
    text += opaque;
  } else {
    const bool authority = !scheme.empty() || !host.empty() || has_user;
    const bool omitted = omit_host && host.empty() && !has_user;
    if (authority && !omitted) {
      if (!host.empty() || !path.empty() || has_user) text += "//";
      if (has_user) {
        text += Escape(user, UrlPart::kUser);
        if (has_password) text += ":" + Escape(password, UrlPart::kUser);
        text += '@';
      }
      text += Escape(host, UrlPart::kHost);
    }
    const std::string escaped = EscapedPath();
    if (!escaped.empty() && escaped[0] != '/' && !host.empty()) text += '/';
    if (text.empty() && escaped.substr(0, escaped.find('/')).find(':') != std::string::npos) text += "./";
    text += escaped;
  }
  if (force_query || !raw_query.empty()) text += "?" + raw_query;
  if (!fragment.empty()) text += "#" + EscapedAs(raw_fragment, fragment, UrlPart::kFragment);
  return text;
}

}  // namespace berth::cel
