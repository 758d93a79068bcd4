#include "cel/library/semver.hpp"

#include <algorithm>

#include "base/go_quote.hpp"
#include "cel/functions.hpp"
#include "cel/numbers.hpp"

namespace berth::cel {
namespace {

struct SemverObject final : OpaqueObject {
  explicit SemverObject(SemanticVersion v) : version(std::move(v)) {}
  const TypePtr& type() const override { return SemverType(); }
  Value Equal(const OpaqueObject& other) const override {
    return Value::Bool(version.Compare(static_cast<const SemverObject&>(other).version) == 0);
  }
  std::string Text() const override { return version.Text(); }
  std::string GoTypeName() const override { return "cel.Semver"; }
  const SemanticVersion version;
};

const SemanticVersion& VersionOf(const Value& value) {
  return static_cast<const SemverObject&>(value.opaque()).version;
}

bool OnlyDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool OnlyIdentifier(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::vector<std::string> SplitText(std::string_view text, char separator,
                                   std::size_t most = std::string_view::npos) {
  std::vector<std::string> parts;
  while (parts.size() + 1 < most) {
    const std::size_t found = text.find(separator);
    if (found == text.npos) break;
    parts.emplace_back(text.substr(0, found));
    text.remove_prefix(found + 1);
  }
  parts.emplace_back(text);
  return parts;
}

Expected<std::uint64_t> ParseNumber(const std::string& text) {
  if (const auto number = ParseUint(text)) return *number;
  return Invalid("strconv.ParseUint: parsing " + GoQuote(text) +
                 (text.empty() ? ": invalid syntax" : ": value out of range"));
}

// "major", "minor" or "patch".
Expected<std::uint64_t> ParsePart(const std::string& text, const std::string& name) {
  if (!OnlyDigits(text)) return Invalid("Invalid character(s) found in " + name + " number " + GoQuote(text));
  if (text.size() > 1 && text[0] == '0') {
    std::string capital = name;
    capital[0] = static_cast<char>(capital[0] - 32);
    return Invalid(capital + " number must not contain leading zeroes " + GoQuote(text));
  }
  return ParseNumber(text);
}

Expected<SemanticVersion::PreRelease> ParsePreRelease(const std::string& text) {
  if (text.empty()) return Invalid("Prerelease is empty");
  if (OnlyDigits(text)) {
    if (text.size() > 1 && text[0] == '0') {
      return Invalid("Numeric PreRelease version must not contain leading zeroes " + GoQuote(text));
    }
    BERTH_TRY(const std::uint64_t number, ParseNumber(text));
    return SemanticVersion::PreRelease{{}, number};
  }
  if (!OnlyIdentifier(text)) return Invalid("Invalid character(s) found in prerelease " + GoQuote(text));
  return SemanticVersion::PreRelease{text, 0};
}

template <class T>
int OrderOf(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int ComparePreRelease(const SemanticVersion::PreRelease& a, const SemanticVersion::PreRelease& b) {
  if (a.text.empty() != b.text.empty()) return a.text.empty() ? -1 : 1;
  return a.text.empty() ? OrderOf(a.number, b.number) : OrderOf(a.text, b.text);
}

// "v1.02" is 1.2.0.
Expected<SemanticVersion> ParseNormalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts = SplitText(text, '.', 3);
  for (std::string& part : parts) {
    if (part.size() <= 1) continue;
    part.erase(0,
               part.find_first_not_of('0') == std::string::npos ? part.size() : part.find_first_not_of('0'));
    if (part.empty() || part[0] < '0' || part[0] > '9') part.insert(part.begin(), '0');
  }
  if (parts.size() < 3 && parts.back().find_first_of("+-") != std::string::npos) {
    return Invalid("short version cannot contain PreRelease/Build meta data");
  }
  while (parts.size() < 3) parts.emplace_back("0");
  return SemanticVersion::Parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

Expected<SemanticVersion> ParseArguments(Arguments args) {
  const bool normalize = args.size() == 2 && args[1].as_bool();
  return normalize ? ParseNormalized(args[0].text()) : SemanticVersion::Parse(args[0].text());
}

Value ToSemver(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  auto version = ParseArguments(args);
  return version ? SemverValue(std::move(*version)) : Value::Error(version.error().message);
}

Value IsSemver(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  return Value::Bool(ParseArguments(args).has_value());
}

template <std::uint64_t SemanticVersion::* part>
Value VersionPart(CallContext&, Arguments args) {
  return Value::Int(static_cast<std::int64_t>(VersionOf(args[0]).*part));
}

Value CompareVersions(CallContext&, Arguments args) {
  return Value::Int(VersionOf(args[0]).Compare(VersionOf(args[1])));
}
Value IsGreaterVersion(CallContext&, Arguments args) {
  return Value::Bool(VersionOf(args[0]).Compare(VersionOf(args[1])) > 0);
}
Value IsLessVersion(CallContext&, Arguments args) {
  return Value::Bool(VersionOf(args[0]).Compare(VersionOf(args[1])) < 0);
}

}  // namespace

Expected<SemanticVersion> SemanticVersion::Parse(std::string_view text) {
  if (text.empty()) return Invalid("Version string empty");
  std::vector<std::string> parts = SplitText(text, '.', 3);
  if (parts.size() != 3) return Invalid("No Major.Minor.Patch elements found");
  SemanticVersion version;
  BERTH_TRY(version.major, ParsePart(parts[0], "major"));
  BERTH_TRY(version.minor, ParsePart(parts[1], "minor"));
  std::string& patch = parts[2];
  std::vector<std::string> builds;
  std::vector<std::string> pre_releases;
  if (const std::size_t plus = patch.find('+'); plus != patch.npos) {
    builds = SplitText(std::string_view(patch).substr(plus + 1), '.');
    patch.resize(plus);
  }
  if (const std::size_t minus = patch.find('-'); minus != patch.npos) {
    pre_releases = SplitText(std::string_view(patch).substr(minus + 1), '.');
    patch.resize(minus);
  }
  BERTH_TRY(version.patch, ParsePart(patch, "patch"));
  for (const std::string& pre_release : pre_releases) {
    BERTH_TRY(auto parsed, ParsePreRelease(pre_release));
    version.pre_release.push_back(std::move(parsed));
  }
  for (const std::string& build : builds) {
    if (build.empty()) return Invalid("Build meta data is empty");
    if (!OnlyIdentifier(build))
      return Invalid("Invalid character(s) found in build meta data " + GoQuote(build));
    version.build.push_back(build);
  }
  return version;
}

int SemanticVersion::Compare(const SemanticVersion& other) const {
  for (const auto part : {&SemanticVersion::major, &SemanticVersion::minor, &SemanticVersion::patch}) {
    if (const int order = OrderOf(this->*part, other.*part)) return order;
  }
  if (pre_release.empty() || other.pre_release.empty())
    return OrderOf(pre_release.empty(), other.pre_release.empty());
  for (std::size_t i = 0; i < std::min(pre_release.size(), other.pre_release.size()); ++i) {
    if (const int order = ComparePreRelease(pre_release[i], other.pre_release[i])) return order;
  }
  return OrderOf(pre_release.size(), other.pre_release.size());
}

std::string SemanticVersion::Text() const {
  std::string text = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  for (std::size_t i = 0; i < pre_release.size(); ++i) {
    text += i == 0 ? "-" : ".";
    text += pre_release[i].text.empty() ? std::to_string(pre_release[i].number) : pre_release[i].text;
  }
  for (std::size_t i = 0; i < build.size(); ++i) text += (i == 0 ? "+" : ".") + build[i];
  return text;
}

const TypePtr& SemverType() {
  static const TypePtr type = ObjectOf("kubernetes.Semver");
  return type;
}

Value SemverValue(SemanticVersion version) {
  return Value::FromObject(ValueKind::kOpaque, new SemverObject(std::move(version)));
}

void AddKubernetesSemver(FunctionRegistry& registry) {
  const TypePtr& v = SemverType();
  registry.AddGlobal("semver", "string_to_semver", {StringType()}, v, ToSemver);
  registry.AddGlobal("semver", "string_bool_to_semver", {StringType(), BoolType()}, v, ToSemver);
  registry.AddGlobal("isSemver", "is_semver_string", {StringType()}, BoolType(), IsSemver);
  registry.AddGlobal("isSemver", "is_semver_string_bool", {StringType(), BoolType()}, BoolType(), IsSemver);
  registry.AddMember("isGreaterThan", "semver_is_greater_than", {v, v}, BoolType(), IsGreaterVersion);
  registry.AddMember("isLessThan", "semver_is_less_than", {v, v}, BoolType(), IsLessVersion);
  registry.AddMember("compareTo", "semver_compare_to", {v, v}, IntType(), CompareVersions);
  registry.AddMember("major", "semver_major", {v}, IntType(), VersionPart<&SemanticVersion::major>);
  registry.AddMember("minor", "semver_minor", {v}, IntType(), VersionPart<&SemanticVersion::minor>);
  registry.AddMember("patch", "semver_patch", {v}, IntType(), VersionPart<&SemanticVersion::patch>);
}

}  // namespace berth::cel
