#include "kubernetes/client/lease_record.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace berth::client {

namespace json = boost::json;

namespace {

Expected<std::string> Text(const json::object& object, std::string_view key, std::string_view path) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return Invalid(fmt::format("{}.{}: expected a string", path, key));
  return std::string(value->get_string());
}

Expected<std::int64_t> Number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return 0;
  if (!value->is_int64()) return Invalid(fmt::format("spec.{}: expected an integer", key));
  return value->get_int64();
}

Expected<LeaseRecord> ReadSpec(const json::object& spec) {
  LeaseRecord record;
  BERTH_TRY(record.holder, Text(spec, "holderIdentity", "spec"));
  BERTH_TRY(record.lease_seconds, Number(spec, "leaseDurationSeconds"));
  BERTH_TRY(record.acquired, Text(spec, "acquireTime", "spec"));
  BERTH_TRY(record.renewed, Text(spec, "renewTime", "spec"));
  BERTH_TRY(record.transitions, Number(spec, "leaseTransitions"));
  BERTH_TRY(record.strategy, Text(spec, "strategy", "spec"));
  BERTH_TRY(record.preferred_holder, Text(spec, "preferredHolder", "spec"));
  return record;
}

}  // namespace

Lease::Lease(json::object&& document) : document_(std::make_unique<json::object>(std::move(document))) {}
Lease::Lease(const Lease& other)
    : document_(std::make_unique<json::object>(*other.document_, json::storage_ptr())),
      record_(other.record_),
      resource_version_(other.resource_version_),
      uid_(other.uid_) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;

Lease Lease::Fresh(std::string_view ns, std::string_view name) {
  return Lease(json::object{{"kind", "Lease"},
                            {"apiVersion", "coordination.k8s.io/v1"},
                            {"metadata", {{"name", name}, {"namespace", ns}}}});
}

Expected<Lease> Lease::Parse(std::string_view text) {
  boost::system::error_code ec;
  json::value root = json::parse(text, ec);
  if (ec) return Invalid("not valid JSON: " + ec.message());
  if (!root.is_object()) return Invalid("expected an object");
  Lease lease(std::move(root.get_object()));
  json::value* metadata = lease.document_->if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return Invalid("metadata: expected an object");
  BERTH_TRY(lease.resource_version_, Text(metadata->get_object(), "resourceVersion", "metadata"));
  BERTH_TRY(lease.uid_, Text(metadata->get_object(), "uid", "metadata"));
  json::value& spec = (*lease.document_)["spec"];
  if (spec.is_null()) spec.emplace_object();
  if (!spec.is_object()) return Invalid("spec: expected an object");
  BERTH_TRY(lease.record_, ReadSpec(spec.get_object()));
  return lease;
}

std::string Lease::With(const LeaseRecord& record) const {
  json::object document(*document_, json::storage_ptr());
  json::value& spec = document["spec"];
  if (!spec.is_object()) spec.emplace_object();
  json::object& fields = spec.get_object();
  fields["holderIdentity"] = record.holder;
  fields["leaseDurationSeconds"] = record.lease_seconds;
  fields["acquireTime"] = record.acquired.empty() ? json::value() : json::value(record.acquired);
  fields["renewTime"] = record.renewed.empty() ? json::value() : json::value(record.renewed);
  fields["leaseTransitions"] = record.transitions;
  fields.erase("strategy");
  fields.erase("preferredHolder");
  return json::serialize(document);
}

}  // namespace berth::client
