#include "service/target.hpp"

#include <algorithm>

namespace berth::service {
namespace {

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Unescape(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || Hex(text[i + 1]) < 0 || Hex(text[i + 2]) < 0) return std::nullopt;
      out += static_cast<char>(Hex(text[i + 1]) * 16 + Hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return out;
}

void ParseQuery(std::string_view text, Target& target) {
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty() || pair.contains(';')) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto key = Unescape(pair.substr(0, equals), true);
    auto value = Unescape(pair.substr(std::min(equals + 1, pair.size())), true);
    if (key && value) target.query.emplace_back(std::move(*key), std::move(*value));
  }
}

}  // namespace

bool Target::Has(std::string_view key) const {
  return std::ranges::any_of(query, [&](const auto& pair) { return pair.first == key; });
}

std::string_view Target::Get(std::string_view key) const {
  const auto found = std::ranges::find(query, key, [](const auto& pair) { return pair.first; });
  return found == query.end() ? std::string_view() : found->second;
}

std::optional<Target> ParseTarget(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, control)) return std::nullopt;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(std::min(text.find_first_of("/?", scheme.size()), text.size()));
    if (text.empty()) text = "/";
  }
  if (!text.starts_with('/') && !text.starts_with('?')) return std::nullopt;
  Target target;
  const auto query = std::min(text.find('?'), text.size());
  auto path = Unescape(text.substr(0, query), false);
  if (!path) return std::nullopt;
  target.path = std::move(*path);
  target.raw_query = text.substr(std::min(query + 1, text.size()));
  ParseQuery(target.raw_query, target);
  return target;
}

}  // namespace berth::service
