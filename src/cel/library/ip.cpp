// Kubernetes' libraries for IP addresses and CIDR blocks.
#include <algorithm>

#include "base/go_quote.hpp"
#include "cel/functions.hpp"
#include "cel/library/addresses.hpp"

namespace berth::cel {
namespace {

const TypePtr& IpType() {
  static const TypePtr type = OpaqueOf("net.IP");
  return type;
}

const TypePtr& CidrType() {
  static const TypePtr type = OpaqueOf("net.CIDR");
  return type;
}

struct IpObject final : OpaqueObject {
  explicit IpObject(IpAddress a) : address(std::move(a)) {}
  const TypePtr& type() const override { return IpType(); }
  Value Equal(const OpaqueObject& other) const override {
    return Value::Bool(address == static_cast<const IpObject&>(other).address);
  }
  std::int64_t size() const override { return address.v6 ? 16 : 4; }
  std::string Text() const override { return address.Text(); }
  std::string GoTypeName() const override { return "cel.IP"; }
  const IpAddress address;
};

struct CidrObject final : OpaqueObject {
  explicit CidrObject(IpPrefix p) : prefix(std::move(p)) {}
  const TypePtr& type() const override { return CidrType(); }
  Value Equal(const OpaqueObject& other) const override {
    return Value::Bool(prefix == static_cast<const CidrObject&>(other).prefix);
  }
  std::int64_t size() const override { return (prefix.bits + 7) / 8; }
  std::string Text() const override { return prefix.Text(); }
  std::string GoTypeName() const override { return "cel.CIDR"; }
  const IpPrefix prefix;
};

const IpAddress& AddressOf(const Value& value) {
  return static_cast<const IpObject&>(value.opaque()).address;
}
const IpPrefix& PrefixOf(const Value& value) { return static_cast<const CidrObject&>(value.opaque()).prefix; }
Value IpValue(IpAddress address) {
  return Value::FromObject(ValueKind::kOpaque, new IpObject(std::move(address)));
}
Value CidrValue(IpPrefix prefix) {
  return Value::FromObject(ValueKind::kOpaque, new CidrObject(std::move(prefix)));
}

Expected<IpAddress> ParseAddress(const std::string& text) {
  auto address = IpAddress::Parse(text);
  if (!address) {
    return Invalid("IP Address " + GoQuote(text) +
                   " parse error during conversion from string: " + address.error().message);
  }
  if (!address->zone.empty())
    return Invalid("IP address " + GoQuote(text) + " with zone value is not allowed");
  if (address->IsMapped()) return Invalid("IPv4-mapped IPv6 address " + GoQuote(text) + " is not allowed");
  return address;
}

Expected<IpPrefix> ParseCidr(const std::string& text) {
  auto prefix = IpPrefix::Parse(text);
  if (!prefix) {
    return Invalid("network address parse error during conversion from string: " + prefix.error().message);
  }
  if (prefix->address.IsMapped())
    return Invalid("IPv4-mapped IPv6 address " + GoQuote(text) + " is not allowed");
  return prefix;
}

Value StringToIp(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  auto address = ParseAddress(args[0].text());
  return address ? IpValue(std::move(*address)) : Value::Error(address.error().message);
}

Value IsIp(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  return Value::Bool(ParseAddress(args[0].text()).has_value());
}

Value IsCanonical(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  const auto address = ParseAddress(args[0].text());
  return address ? Value::Bool(address->Text() == args[0].text()) : Value::Error(address.error().message);
}

Value IpToString(CallContext&, Arguments args) { return Value::String(AddressOf(args[0]).Text()); }
Value Family(CallContext&, Arguments args) { return Value::Int(AddressOf(args[0]).v6 ? 6 : 4); }

bool IsUnspecified(const IpAddress& a) {
  return std::all_of(a.bytes.begin(), a.bytes.end(), [](std::uint8_t b) { return b == 0; });
}
bool IsLoopback(const IpAddress& a) {
  if (!a.v6) return a.bytes[12] == 127;
  return a.bytes[15] == 1 &&
         std::all_of(a.bytes.begin(), a.bytes.end() - 1, [](std::uint8_t b) { return b == 0; });
}
bool IsMulticast(const IpAddress& a) { return a.v6 ? a.bytes[0] == 0xff : (a.bytes[12] & 0xf0) == 0xe0; }
bool IsLinkLocalMulticast(const IpAddress& a) {
  if (!a.v6) return a.bytes[12] == 224 && a.bytes[13] == 0 && a.bytes[14] == 0;
  return a.bytes[0] == 0xff && (a.bytes[1] & 0x0f) == 0x02;
}
bool IsLinkLocalUnicast(const IpAddress& a) {
  if (!a.v6) return a.bytes[12] == 169 && a.bytes[13] == 254;
  return a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80;
}
bool IsBroadcast(const IpAddress& a) {
  return !a.v6 && std::all_of(a.bytes.begin() + 12, a.bytes.end(), [](std::uint8_t b) { return b == 255; });
}
bool IsGlobalUnicast(const IpAddress& a) {
  return !IsBroadcast(a) && !IsUnspecified(a) && !IsLoopback(a) && !IsMulticast(a) && !IsLinkLocalUnicast(a);
}

template <bool (*predicate)(const IpAddress&)>
Value AddressIs(CallContext&, Arguments args) {
  return Value::Bool(predicate(AddressOf(args[0])));
}

// ---- CIDR

constexpr const char* kCidrError = "network address parse error during conversion from string: ";

Value StringToCidr(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  auto prefix = ParseCidr(args[0].text());
  return prefix ? CidrValue(std::move(*prefix)) : Value::Error(kCidrError + prefix.error().message);
}

Value IsCidr(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[0].text().size())) return {};
  return Value::Bool(ParseCidr(args[0].text()).has_value());
}

Value ContainsAddress(CallContext&, Arguments args) {
  return Value::Bool(PrefixOf(args[0]).Contains(AddressOf(args[1])));
}

Value ContainsPrefix(const IpPrefix& outer, const IpPrefix& inner) {
  return Value::Bool(outer.bits <= inner.bits && outer.Contains(inner.address));
}

// A text that is no address gives the wrong type of argument, not its own error.
Value ContainsAddressText(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[1].text().size())) return {};
  const auto address = ParseAddress(args[1].text());
  return address ? Value::Bool(PrefixOf(args[0]).Contains(*address)) : Value::NoSuchOverload();
}

Value ContainsCidr(CallContext&, Arguments args) {
  return ContainsPrefix(PrefixOf(args[0]), PrefixOf(args[1]));
}

Value ContainsCidrText(CallContext& context, Arguments args) {
  if (!context.budget.Spend(args[1].text().size())) return {};
  const auto prefix = ParseCidr(args[1].text());
  if (!prefix) return Value::Error(kCidrError + prefix.error().message);
  return ContainsPrefix(PrefixOf(args[0]), *prefix);
}

Value CidrToIp(CallContext&, Arguments args) { return IpValue(PrefixOf(args[0]).address); }
Value PrefixLength(CallContext&, Arguments args) { return Value::Int(PrefixOf(args[0]).bits); }
Value Masked(CallContext&, Arguments args) { return CidrValue(PrefixOf(args[0]).Masked()); }
Value CidrToString(CallContext&, Arguments args) { return Value::String(PrefixOf(args[0]).Text()); }

}  // namespace

void AddKubernetesIp(FunctionRegistry& registry) {
  const TypePtr& ip = IpType();
  registry.AddGlobal("ip", "string_to_ip", {StringType()}, ip, StringToIp);
  registry.AddMember("family", "ip_family", {ip}, IntType(), Family);
  registry.AddGlobal("ip.isCanonical", "ip_is_canonical", {StringType()}, BoolType(), IsCanonical);
  registry.AddMember("isUnspecified", "ip_is_unspecified", {ip}, BoolType(), AddressIs<IsUnspecified>);
  registry.AddMember("isLoopback", "ip_is_loopback", {ip}, BoolType(), AddressIs<IsLoopback>);
  registry.AddMember("isLinkLocalMulticast", "ip_is_link_local_multicast", {ip}, BoolType(),
                     AddressIs<IsLinkLocalMulticast>);
  registry.AddMember("isLinkLocalUnicast", "ip_is_link_local_unicast", {ip}, BoolType(),
                     AddressIs<IsLinkLocalUnicast>);
  registry.AddMember("isGlobalUnicast", "ip_is_global_unicast", {ip}, BoolType(), AddressIs<IsGlobalUnicast>);
  registry.AddGlobal("isIP", "is_ip", {StringType()}, BoolType(), IsIp);
  registry.AddGlobal("string", "ip_to_string", {ip}, StringType(), IpToString);
}

void AddKubernetesCidr(FunctionRegistry& registry) {
  const TypePtr& cidr = CidrType();
  registry.AddGlobal("cidr", "string_to_cidr", {StringType()}, cidr, StringToCidr);
  registry.AddMember("containsIP", "cidr_contains_ip_string", {cidr, StringType()}, BoolType(),
                     ContainsAddressText);
  registry.AddMember("containsIP", "cidr_contains_ip_ip", {cidr, IpType()}, BoolType(), ContainsAddress);
  registry.AddMember("containsCIDR", "cidr_contains_cidr_string", {cidr, StringType()}, BoolType(),
                     ContainsCidrText);
  registry.AddMember("containsCIDR", "cidr_contains_cidr", {cidr, cidr}, BoolType(), ContainsCidr);
  registry.AddMember("ip", "cidr_ip", {cidr}, IpType(), CidrToIp);
  registry.AddMember("prefixLength", "cidr_prefix_length", {cidr}, IntType(), PrefixLength);
  registry.AddMember("masked", "cidr_masked", {cidr}, cidr, Masked);
  registry.AddGlobal("isCIDR", "is_cidr", {StringType()}, BoolType(), IsCidr);
  registry.AddGlobal("string", "cidr_to_string", {cidr}, StringType(), CidrToString);
}

}  // namespace berth::cel
