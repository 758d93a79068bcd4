// The models of GPUs in the cluster, and what requests need of them.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/devices/allocator.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_demand.hpp"
#include "scheduler/plugins/gpu_fragmentation/usable_gpus.hpp"

namespace berth::plugins {

// A model is an extended resource of the arguments, whose devices are whole, or devices of ResourceSlices
// that belong to a class of the arguments and are equal for all asks known so far. Its units are thousandths
// of the shared capacity; devices that cannot be shared, or lack the capacity, have one unit. Devices that
// consume counters of their pool (partitions) do not count: they overlap. Scheduler loop only.
//
// Authors of claims choose the asks: beyond kMostAsks, or kMostSelectorBytes of expressions, besides those of
// the mix, all are dropped. An ask is evaluated once for each kind of device, while kMostKnownNeeds suffice.
class GpuCatalog {
 public:
  static constexpr std::size_t kMostModels = 1024;  // devices of further ones do not count
  static constexpr std::size_t kMostAsks = 512;
  static constexpr std::size_t kMostSelectorBytes = std::size_t{1} << 20;

  // The arguments must outlive it.
  GpuCatalog(const GpuFragmentationArgs& args, const GpuDemands& demands, framework::Handle& handle);
  ~GpuCatalog();

  // Drops asks and models if there are too many of them or a device class has changed. To be called at the
  // begin of a decision.
  void Refresh();
  // Drops asks and models, as if there had been no decision.
  void Clear();
  // The asks known so far, those of the mix, do not count for the limits.
  void ExemptKnownAsks();
  // The index of the ask in needs(). May drop the models.
  std::uint32_t AskOf(const GpuAsk& ask);
  const GpuNeeds& needs() const { return needs_; }
  // Change when all indices of asks, or of models, have become invalid.
  std::uint64_t ask_epoch() const { return ask_epoch_; }
  std::uint64_t model_epoch() const { return model_epoch_; }

  // Equal for rows, and for states of a row, whose devices of slices are equal; 0: there are none.
  std::uint64_t PictureOf(const cluster::NodeTable& nodes, cluster::Row row) const;
  // Replaces `out` by the devices of the row, those of slices first. `free`: by resource of the arguments,
  // the amount that is not requested.
  void Read(const cluster::NodeTable& nodes, cluster::Row row, std::span<const std::int64_t> free,
            std::vector<GpuGroup>& out);

 private:
  // Of devices of slices.
  struct Model {
    std::string driver = {};
    std::shared_ptr<const api::ResourceSlice> slice = {};  // keeps the device
    devices::SliceDevice device = {};                      // one of them
    std::string capacity = {};  // the name of the shared capacity; empty: the devices are whole
    std::int64_t total = 1;
    std::uint32_t classes = 0;  // a bit by class
  };
  static constexpr std::size_t kMostKnownNeeds = std::size_t{1} << 22;
  static constexpr std::size_t kMostShapes = 1 << 20;
  static constexpr std::uint32_t kNoModel = UINT32_MAX;

  void DropModels();
  void ReadSlices(const devices::NodeDevices& node, std::vector<GpuGroup>& out);
  // kNoModel: the device does not count.
  std::uint32_t ModelOf(const devices::NodePool& pool, const devices::Slice& slice,
                        const devices::SliceDevice& device);
  std::uint32_t AddModel(Model model);
  // By ask. Valid until the next call.
  const std::vector<std::int64_t>& NeedsOf(const Model& model);
  void ForgetNeeds();
  bool TooManyAsks() const;
  std::int64_t FreeOf(std::uint32_t model, const devices::SliceDevice& device) const;
  std::int64_t NeedOf(const GpuAsk& ask, const Model& model) const;
  bool Accepts(const GpuAsk& ask, const Model& model) const;
  // Whether all expressions match.
  bool Matches(const std::vector<std::string>& expressions, const Model& model) const;
  bool IsIn(const api::DeviceClass& device_class, const Model& model) const;

  const GpuFragmentationArgs& args_;
  const GpuDemands& demands_;
  framework::Handle& handle_;
  const std::unique_ptr<devices::SelectorEvaluator> selectors_;
  std::uint64_t classes_version_ = 0;
  std::uint64_t ask_epoch_ = 1, model_epoch_ = 1;
  GpuNeeds needs_;
  std::vector<Model> models_;  // by index; the resources of the arguments come first
  FlatTextMap<std::uint32_t> model_of_signature_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> model_of_shape_;
  // By shape, then by ask: may lack the latest asks. Kept when models are dropped because of an ask.
  boost::unordered_flat_map<std::uint64_t, std::vector<std::int64_t>> needs_of_shape_;
  std::size_t known_needs_ = 0;  // in needs_of_shape_
  std::vector<GpuAsk> asks_;
  std::size_t selector_bytes_ = 0;                           // of asks_
  std::size_t exempt_asks_ = 0, exempt_selector_bytes_ = 0;  // of the mix
  FlatTextMap<std::uint32_t> ask_of_key_;
};

}  // namespace berth::plugins
