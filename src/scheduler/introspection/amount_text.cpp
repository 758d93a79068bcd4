#include "scheduler/introspection/amount_text.hpp"

#include "kubernetes/api/quantity.hpp"

namespace berth::introspection {

std::string AmountText(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") return api::Quantity::FromMilli(amount).Canonical();
  api::Quantity quantity = api::Quantity::FromInteger(amount);
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  if (bytes) quantity.FormatAs(api::Quantity::Parse("1Ki").value());
  return quantity.Canonical();
}

}  // namespace berth::introspection
