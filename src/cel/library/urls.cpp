// Kubernetes' library for URLs.
#include "cel/functions.hpp"
#include "cel/library/url.hpp"

namespace berth::cel {
namespace {

const TypePtr& UrlType() {
  static const TypePtr type = ObjectOf("kubernetes.URL");
  return type;
}

struct UrlObject final : OpaqueObject {
  explicit UrlObject(Url u) : url(std::move(u)) {}
  const TypePtr& type() const override { return UrlType(); }
  Value Equal(const OpaqueObject& other) const override {
    return Value::Bool(url.Text() == static_cast<const UrlObject&>(other).url.Text());
  }
  std::string Text() const override { return url.Text(); }
  std::string GoTypeName() const override { return "cel.URL"; }
  const Url url;
};

const Url& UrlOf(const Value& value) { return static_cast<const UrlObject&>(value.opaque()).url; }

Value StringToUrl(CallContext& context, Arguments args) {
  const std::string& text = args[0].text();
  if (!context.budget.Spend(4 * text.size())) return {};
  constexpr const char* kError = "URL parse error during conversion from string: ";
  if (const auto request = Url::ParseRequest(text); !request)
    return Value::Error(kError + request.error().message);
  auto url = Url::Parse(text);
  if (!url) return Value::Error(kError + url.error().message);
  return Value::FromObject(ValueKind::kOpaque, new UrlObject(std::move(*url)));
}

Value IsUrl(CallContext& context, Arguments args) {
  if (!context.budget.Spend(4 * args[0].text().size())) return {};
  return Value::Bool(Url::ParseRequest(args[0].text()).has_value());
}

Value Scheme(CallContext&, Arguments args) { return Value::String(UrlOf(args[0]).scheme); }
Value Host(CallContext&, Arguments args) { return Value::String(UrlOf(args[0]).host); }
Value UrlHostname(CallContext&, Arguments args) { return Value::String(UrlOf(args[0]).Hostname()); }
Value UrlPort(CallContext&, Arguments args) { return Value::String(UrlOf(args[0]).Port()); }
Value UrlPath(CallContext&, Arguments args) { return Value::String(UrlOf(args[0]).EscapedPath()); }

Value UrlQuery(CallContext& context, Arguments args) {
  const std::string& raw = UrlOf(args[0]).raw_query;
  // Keys are searched linearly.
  if (!context.budget.Spend(raw.size() * (1 + raw.size() / 256))) return {};
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [key, values] : UrlOf(args[0]).Query()) {
    std::vector<Value> list;
    for (std::string& value : values) list.push_back(Value::String(std::move(value)));
    entries.emplace_back(Value::String(key), Value::List(std::move(list)));
  }
  return Value::Map(std::move(entries));
}

}  // namespace

void AddKubernetesUrls(FunctionRegistry& registry) {
  const TypePtr& url = UrlType();
  registry.AddGlobal("url", "string_to_url", {StringType()}, url, StringToUrl);
  registry.AddMember("getScheme", "url_get_scheme", {url}, StringType(), Scheme);
  registry.AddMember("getHost", "url_get_host", {url}, StringType(), Host);
  registry.AddMember("getHostname", "url_get_hostname", {url}, StringType(), UrlHostname);
  registry.AddMember("getPort", "url_get_port", {url}, StringType(), UrlPort);
  registry.AddMember("getEscapedPath", "url_get_escaped_path", {url}, StringType(), UrlPath);
  registry.AddMember("getQuery", "url_get_query", {url}, MapOf(StringType(), ListOf(StringType())), UrlQuery);
  registry.AddGlobal("isURL", "is_url_string", {StringType()}, BoolType(), IsUrl);
}

}  // namespace berth::cel
