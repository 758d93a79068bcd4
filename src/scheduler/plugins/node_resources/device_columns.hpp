// The columns of an extended resource that a DeviceClass provides: on nodes without a device plugin for it,
// the devices of the class count (calculateDRAResourceTotals of kube-scheduler v1.37.1).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/node_resources/resource_kernels.hpp"

namespace berth::devices {
class SelectorEvaluator;
}

namespace berth::plugins {

class DeviceColumns {
 public:
  // By index; the elements do not move.
  struct Column {
    std::vector<std::int64_t> capacity, used;
  };
  using Columns = std::deque<Column>;

  explicit DeviceColumns(framework::Handle& handle);
  ~DeviceColumns();

  // Whether the pod requests one of the resources and a class provides it. Scores then depend on devices.
  bool ProvidesAny(const cluster::Amounts& requests, std::span<const cluster::ResourceId> resources) const;
  // Replaces the columns of `axis` if a class provides the resource. Rows outside `rows` are zero in them.
  // Resources of one attempt need different indexes: the columns stay valid until the next call with the same
  // index.
  void Apply(const framework::Attempt& attempt, cluster::ResourceId resource, const RowSet& rows,
             std::size_t index, ResourceAxis& axis) const;

 private:
  void Count(const framework::Attempt& attempt, const api::DeviceClass& device_class, cluster::Row row,
             Column& out) const;

  framework::Handle& handle_;
  const std::unique_ptr<devices::SelectorEvaluator> selectors_;
  const framework::BufferKey<Columns> columns_;
  // Of the class that is being counted: whether devices of a shape belong to it; nullopt: an error.
  mutable boost::unordered_flat_map<std::uint64_t, std::optional<bool>> belongs_;
};

}  // namespace berth::plugins
