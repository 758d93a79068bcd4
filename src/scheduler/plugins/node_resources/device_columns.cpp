#include "scheduler/plugins/node_resources/device_columns.hpp"

#include <algorithm>

#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/device_selectors.hpp"

namespace berth::plugins {
namespace {

// Whether all selectors match; nullopt: one of them is an error. Selectors of unknown kinds match.
std::optional<bool> Belongs(const api::DeviceClass& device_class, std::string_view driver,
                            const devices::SliceDevice& device, devices::SelectorEvaluator& selectors) {
  using Kind = devices::SelectorEvaluator::Answer::Kind;
  for (const api::DeviceSelector& selector : device_class.selectors) {
    if (!selector.cel_expression) continue;
    const Kind kind = selectors.Evaluate(*selector.cel_expression, driver, device).kind;
    if (kind == Kind::kNoMatch) return false;
    if (kind != Kind::kMatch) return std::nullopt;
  }
  return true;
}

}  // namespace

DeviceColumns::DeviceColumns(framework::Handle& handle)
    : handle_(handle), selectors_(MakeDeviceSelectors(true)), columns_(handle.NewBuffer<Columns>()) {}

DeviceColumns::~DeviceColumns() = default;

bool DeviceColumns::ProvidesAny(const cluster::Amounts& requests,
                                std::span<const cluster::ResourceId> resources) const {
  return std::ranges::any_of(resources, [&](cluster::ResourceId resource) {
    return resource.value >= cluster::kFirstScalar && requests.Of(resource) != 0 &&
           handle_.devices.extended().ClassOf(resource) != nullptr;
  });
}

void DeviceColumns::Apply(const framework::Attempt& attempt, cluster::ResourceId resource, const RowSet& rows,
                          std::size_t index, ResourceAxis& axis) const {
  const api::DeviceClass* device_class = handle_.devices.extended().ClassOf(resource);
  if (device_class == nullptr) return;
  belongs_.clear();
  Columns& columns = attempt.Buffer(columns_);
  while (columns.size() <= index) columns.emplace_back();
  Column& column = columns[index];
  column.capacity.assign(attempt.nodes().rows(), 0);
  column.used.assign(attempt.nodes().rows(), 0);
  rows.ForEach([&](std::size_t row) {
    if (!axis.capacity.empty() && axis.capacity[row] != 0) {
      column.capacity[row] = axis.capacity[row];
      column.used[row] = axis.used[row];
    } else {
      Count(attempt, *device_class, static_cast<cluster::Row>(row), column);
    }
  });
  axis.capacity = column.capacity;
  axis.inverse = {};
  axis.used = column.used;
}

// After an error the node counts as one without devices.
void DeviceColumns::Count(const framework::Attempt& attempt, const api::DeviceClass& device_class,
                          cluster::Row row, Column& out) const {
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  bool failed = false;
  const auto counted = handle_.devices.inventory().ForEachCounted(
      attempt.nodes(), row, [&](std::string_view driver, const devices::SliceDevice& device) {
        const auto [known, added] = belongs_.try_emplace(device.shape);
        if (added) known->second = Belongs(device_class, driver, device, *selectors_);
        failed = failed || !known->second;
        if (!known->second.value_or(false)) return;
        ++capacity;
        if (!handle_.devices.allocated().use(device.id).free()) ++used;
      });
  if (!counted || failed) return;
  out.capacity[row] = capacity;
  out.used[row] = used;
}

}  // namespace berth::plugins
