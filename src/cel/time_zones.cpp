// Time zones by IANA name, from the system's time zone files (TZif, RFC 8536).
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "cel/times.hpp"

namespace berth::cel {
namespace {

constexpr std::size_t kMaxFileSize = 64 << 10;
// More names than there are zones are not kept: names are chosen by users.
constexpr std::size_t kMaxCachedZones = 1024;

struct LocalTime {
  std::int64_t offset = 0;
  bool daylight = false;
};

struct Transition {
  std::int64_t at = 0;
  std::size_t type = 0;
};

// A rule for all times after the last transition: "CET-1CEST,M3.5.0,M10.5.0/3".
struct Rule {
  std::int64_t standard = 0;
  std::int64_t daylight = 0;
  bool changes = false;
  struct Date {
    char kind = 'M';  // M: month, week, day; J: day from 1 without February 29; 0: day from 0
    int month = 0, week = 0, day = 0;
    std::int64_t time = 7200;
  };
  Date begin, end;
};

struct Zone {
  std::vector<LocalTime> types;
  std::vector<Transition> transitions;
  std::optional<Rule> rule;
};

// ---- files

// Reads big-endian numbers; `ok` is false after the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::int64_t Number(std::size_t size) {
    if (rest_.size() < size) {
      ok = false;
      return 0;
    }
    std::uint64_t value = static_cast<signed char>(rest_[0]) < 0 ? ~std::uint64_t{0} : 0;
    for (const char c : rest_.substr(0, size)) value = value << 8 | static_cast<unsigned char>(c);
    rest_.remove_prefix(size);
    return static_cast<std::int64_t>(value);
  }
  void Skip(std::size_t size) {
    ok = ok && size <= rest_.size();
    rest_.remove_prefix(std::min(size, rest_.size()));
  }
  std::string_view rest() const { return rest_; }
  bool ok = true;

 private:
  std::string_view rest_;
};

struct Header {
  std::size_t utc_indicators, standard_indicators, leaps, transitions, types, characters;
};

std::optional<Header> ReadHeader(Reader& reader) {
  if (!reader.rest().starts_with("TZif")) return std::nullopt;
  reader.Skip(20);
  std::array<std::size_t, 6> counts{};
  for (std::size_t& count : counts) count = static_cast<std::size_t>(reader.Number(4)) & 0xffffff;
  if (!reader.ok) return std::nullopt;
  return Header{counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
}

std::size_t BodySize(const Header& h, std::size_t time_size) {
  return h.transitions * (time_size + 1) + h.types * 6 + h.characters + h.leaps * (time_size + 4) +
         h.standard_indicators + h.utc_indicators;
}

std::optional<Rule> ParseRule(std::string_view text);

std::optional<Zone> ParseZone(std::string_view bytes) {
  Reader reader(bytes);
  auto header = ReadHeader(reader);
  if (!header || bytes[4] < '2') return std::nullopt;
  reader.Skip(BodySize(*header, 4));
  header = ReadHeader(reader);
  if (!header || header->types == 0) return std::nullopt;
  Zone zone;
  zone.transitions.resize(std::min(header->transitions, bytes.size()));
  for (Transition& transition : zone.transitions) transition.at = reader.Number(8);
  for (Transition& transition : zone.transitions) {
    transition.type = static_cast<std::size_t>(reader.Number(1)) & 0xff;
    if (transition.type >= header->types) return std::nullopt;
  }
  zone.types.resize(std::min(header->types, bytes.size()));
  for (LocalTime& type : zone.types) {
    type.offset = reader.Number(4);
    type.daylight = reader.Number(1) != 0;
    reader.Skip(1);
  }
  reader.Skip(header->characters + header->leaps * 12 + header->standard_indicators + header->utc_indicators);
  if (!reader.ok) return std::nullopt;
  std::string_view footer = reader.rest();
  if (footer.starts_with('\n')) footer.remove_prefix(1);
  zone.rule = ParseRule(footer.substr(0, footer.find('\n')));
  return zone;
}

// ---- rules

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : rest_(text) {}

  bool Name() {
    const bool quoted = Accept('<');
    std::size_t length = 0;
    while (length < rest_.size() && (quoted ? rest_[length] != '>' : IsLetter(rest_[length]))) ++length;
    rest_.remove_prefix(length);
    return length > 0 && (!quoted || Accept('>'));
  }
  bool Time(std::int64_t& seconds) {
    const bool negative = Accept('-');
    if (!negative) Accept('+');
    int part = 0;
    if (!Integer(part)) return false;
    seconds = part * 3600;
    for (const int unit : {60, 1}) {
      if (!Accept(':')) break;
      if (!Integer(part)) return false;
      seconds += part * unit;
    }
    if (negative) seconds = -seconds;
    return true;
  }
  bool Date(Rule::Date& date) {
    if (!Accept(',')) return false;
    if (Accept('M')) {
      date.kind = 'M';
      if (!Integer(date.month) || !Accept('.') || !Integer(date.week) || !Accept('.') || !Integer(date.day))
        return false;
      if (date.month < 1 || date.month > 12 || date.week < 1 || date.week > 5 || date.day > 6) return false;
    } else {
      date.kind = Accept('J') ? 'J' : '0';
      if (!Integer(date.day) || date.day > 366) return false;
    }
    return !Accept('/') || Time(date.time);
  }
  bool empty() const { return rest_.empty(); }
  bool StartsDate() const { return rest_.starts_with(','); }

 private:
  static bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  bool Accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Integer(int& value) {
    std::size_t length = 0;
    value = 0;
    while (length < rest_.size() && length < 4 && rest_[length] >= '0' && rest_[length] <= '9') {
      value = value * 10 + (rest_[length++] - '0');
    }
    rest_.remove_prefix(length);
    return length > 0;
  }
  std::string_view rest_;
};

std::optional<Rule> ParseRule(std::string_view text) {
  RuleParser parser(text);
  Rule rule;
  if (!parser.Name() || !parser.Time(rule.standard)) return std::nullopt;
  rule.standard = -rule.standard;
  if (parser.empty()) return rule;
  rule.changes = true;
  rule.daylight = rule.standard + 3600;
  if (!parser.Name()) return std::nullopt;
  if (!parser.StartsDate()) {
    if (!parser.Time(rule.daylight)) return std::nullopt;
    rule.daylight = -rule.daylight;
  }
  return parser.Date(rule.begin) && parser.Date(rule.end) ? std::optional(rule) : std::nullopt;
}

bool LeapYear(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

// Seconds from the beginning of the year, local time.
std::int64_t InYear(const Rule::Date& date, std::int64_t year, int first_weekday) {
  constexpr std::array<int, 13> kDaysBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  const bool leap = LeapYear(year);
  int day = date.day;
  if (date.kind == 'J') {
    day = date.day - 1 + (leap && date.day >= 60);
  } else if (date.kind == 'M') {
    const auto month = static_cast<std::size_t>(date.month);
    const int before = kDaysBefore[month - 1] + (leap && date.month > 2);
    const int after = kDaysBefore[month] + (leap && date.month > 1);
    const int weekday = (first_weekday + before) % 7;
    day = before + (date.day - weekday + 7) % 7 + (date.week - 1) * 7;
    while (day >= after) day -= 7;
  }
  return std::int64_t{day} * 86400 + date.time;
}

std::int64_t OffsetByRule(const Rule& rule, std::int64_t seconds) {
  if (!rule.changes) return rule.standard;
  const CivilTime utc = ToCivil(seconds);
  const std::int64_t in_year =
      std::int64_t{utc.day_of_year} * 86400 + utc.hour * 3600 + utc.minute * 60 + utc.second;
  const int first_weekday = ((utc.day_of_week - utc.day_of_year) % 7 + 7) % 7;
  const std::int64_t begin = InYear(rule.begin, utc.year, first_weekday) - rule.standard;
  const std::int64_t end = InYear(rule.end, utc.year, first_weekday) - rule.daylight;
  const bool daylight = begin < end ? in_year >= begin && in_year < end : in_year >= begin || in_year < end;
  return daylight ? rule.daylight : rule.standard;
}

std::int64_t OffsetAt(const Zone& zone, std::int64_t seconds) {
  const auto next = std::upper_bound(zone.transitions.begin(), zone.transitions.end(), seconds,
                                     [](std::int64_t at, const Transition& t) { return at < t.at; });
  if (next == zone.transitions.end() && zone.rule) return OffsetByRule(*zone.rule, seconds);
  if (next != zone.transitions.begin()) return zone.types[std::prev(next)->type].offset;
  const auto standard =
      std::find_if(zone.types.begin(), zone.types.end(), [](const LocalTime& t) { return !t.daylight; });
  return standard == zone.types.end() ? zone.types[0].offset : standard->offset;
}

// ---- the cache

bool IsZoneName(std::string_view name) {
  return !name.starts_with('/') && name.find("..") == name.npos && name.find('\\') == name.npos &&
         name.find('\0') == name.npos && name.size() < 256;
}

std::optional<Zone> LoadZone(const std::string& name) {
  for (const char* directory :
       {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/usr/lib/locale/TZ/", "/etc/zoneinfo/"}) {
    std::ifstream file(directory + name, std::ios::binary);
    std::string bytes(kMaxFileSize, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (auto zone = ParseZone(bytes)) return zone;
  }
  return std::nullopt;
}

}  // namespace

Value NamedZoneOffset(std::string_view name, std::int64_t seconds) {
  if (name.empty() || name == "UTC" || name == "Local") return Value::Int(0);
  if (!IsZoneName(name)) return Value::Error("time: invalid location name");
  static std::mutex mutex;
  static std::map<std::string, std::optional<Zone>, std::less<>> zones;
  const std::lock_guard lock(mutex);
  auto zone = zones.find(name);
  if (zone == zones.end()) {
    if (zones.size() >= kMaxCachedZones) zones.clear();
    zone = zones.emplace(std::string(name), LoadZone(std::string(name))).first;
  }
  if (!zone->second) return Value::Error("unknown time zone " + std::string(name));
  return Value::Int(OffsetAt(*zone->second, seconds));
}

}  // namespace berth::cel
