#include "scheduler/plugins/gpu_fragmentation/gpu_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/append_format.hpp"
#include "scheduler/devices/capacity.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/device_selectors.hpp"

namespace berth::plugins {
namespace {

// The device's name of the capacity, which may have the driver as domain or none; empty: it has none.
std::string CapacityName(const api::Device& device, std::string_view driver, const std::string& wanted) {
  if (device.capacity.contains(wanted)) return wanted;
  const std::size_t slash = wanted.find('/');
  std::string other;
  if (slash == wanted.npos) {
    other = std::string(driver) + "/" + wanted;
  } else if (std::string_view(wanted).substr(0, slash) == driver) {
    other = wanted.substr(slash + 1);
  }
  return device.capacity.contains(other) ? other : "";
}

// What a request takes of a whole device of this resource.
std::int64_t NeedOfResource(const GpuAsk& ask, std::uint32_t resource) {
  const bool whole = !ask.capacity && ask.selectors.empty();
  const bool accepted =
      ask.kind == GpuAsk::Kind::kResource ? ask.index == resource : ask.kind == GpuAsk::Kind::kAny && whole;
  return accepted ? 1 : GpuNeeds::kUnusable;
}

void AddTo(std::string& signature, const api::CapacityRequestPolicy& policy) {
  const auto add = [&](const std::optional<api::Quantity>& amount) {
    signature += amount ? " " + amount->Canonical() : " -";
  };
  add(policy.default_request);
  for (const api::Quantity& value : policy.valid_values) signature += " " + value.Canonical();
  if (!policy.valid_range) return;
  signature += " range";
  add(policy.valid_range->min);
  add(policy.valid_range->max);
  add(policy.valid_range->step);
}

}  // namespace

GpuCatalog::GpuCatalog(const GpuFragmentationArgs& args, const GpuDemands& demands, framework::Handle& handle)
    : args_(args), demands_(demands), handle_(handle), selectors_(MakeDeviceSelectors()) {
  classes_version_ = handle_.objects.Of<api::DeviceClass>().version();
  DropModels();
}

GpuCatalog::~GpuCatalog() = default;

void GpuCatalog::Refresh() {
  if (TooManyAsks()) return Clear();
  const std::uint64_t version = handle_.objects.Of<api::DeviceClass>().version();
  if (classes_version_ == version && model_of_shape_.size() <= kMostShapes) return;
  classes_version_ = version;
  ForgetNeeds();
  DropModels();
}

bool GpuCatalog::TooManyAsks() const {
  return asks_.size() - exempt_asks_ > kMostAsks ||
         selector_bytes_ - exempt_selector_bytes_ > kMostSelectorBytes;
}

void GpuCatalog::ExemptKnownAsks() {
  exempt_asks_ = asks_.size();
  exempt_selector_bytes_ = selector_bytes_;
}

void GpuCatalog::Clear() {
  asks_.clear();
  ask_of_key_.clear();
  selector_bytes_ = exempt_asks_ = exempt_selector_bytes_ = 0;
  ForgetNeeds();
  ++ask_epoch_;
  classes_version_ = handle_.objects.Of<api::DeviceClass>().version();
  DropModels();
}

void GpuCatalog::ForgetNeeds() {
  needs_of_shape_.clear();
  known_needs_ = 0;
}

void GpuCatalog::DropModels() {
  ++model_epoch_;
  models_.clear();
  model_of_shape_.clear();
  model_of_signature_.clear();
  needs_ = {};
  for (std::size_t ask = 0; ask < asks_.size(); ++ask) needs_.AddAsk({});
  for (std::uint32_t resource = 0; resource < args_.resources.size(); ++resource) {
    std::vector<std::int64_t> needs;
    for (const GpuAsk& ask : asks_) needs.push_back(NeedOfResource(ask, resource));
    needs_.AddModel(1, needs);
    models_.emplace_back();
  }
}

// --- devices ---

std::uint64_t GpuCatalog::PictureOf(const cluster::NodeTable& nodes, cluster::Row row) const {
  if (handle_.objects.Of<api::ResourceSlice>().size() == 0) return 0;
  const auto& node = handle_.devices.inventory().Of(nodes, row);
  return node ? node->picture : 0;
}

void GpuCatalog::Read(const cluster::NodeTable& nodes, cluster::Row row, std::span<const std::int64_t> free,
                      std::vector<GpuGroup>& out) {
  out.clear();
  if (handle_.objects.Of<api::ResourceSlice>().size() > 0) {
    const auto& node = handle_.devices.inventory().Of(nodes, row);
    if (node) ReadSlices(*node, out);
  }
  for (std::uint32_t resource = 0; resource < free.size(); ++resource) {
    if (free[resource] > 0) out.push_back({resource, 1, free[resource]});
  }
}

void GpuCatalog::ReadSlices(const devices::NodeDevices& node, std::vector<GpuGroup>& out) {
  for (const devices::NodePool& pool : node.pools) {
    if (pool.incomplete || pool.invalid) continue;
    for (std::size_t s = 0; s < pool.slices.size(); ++s) {
      const devices::Slice& slice = *pool.slices[s];
      for (std::size_t d = 0; d < slice.devices.size(); ++d) {
        if (!pool.IsUsable(s, d)) continue;
        const std::uint32_t model = ModelOf(pool, slice, slice.devices[d]);
        if (model == kNoModel) continue;
        const std::int64_t free = FreeOf(model, slice.devices[d]);
        if (!out.empty() && out.back().model == model && out.back().free == free) {
          ++out.back().count;
        } else {
          out.push_back({model, free, 1});
        }
      }
    }
  }
}

std::uint32_t GpuCatalog::ModelOf(const devices::NodePool& pool, const devices::Slice& slice,
                                  const devices::SliceDevice& device) {
  const auto [known, is_new] = model_of_shape_.try_emplace(device.shape, kNoModel);
  if (!is_new) return known->second;
  const api::Device& object = *device.device;
  if (!object.consumes_counters.empty()) return kNoModel;
  Model model{.driver = pool.driver, .slice = slice.object, .device = device};
  for (std::size_t i = 0; i < args_.device_classes.size(); ++i) {
    const auto device_class = handle_.objects.Of<api::DeviceClass>().Find(args_.device_classes[i]);
    if (device_class != nullptr && IsIn(*device_class, model)) model.classes |= 1U << i;
  }
  if (model.classes == 0) return kNoModel;
  if (handle_.devices.features().consumable_capacity && object.allow_multiple_allocations) {
    model.capacity = CapacityName(object, pool.driver, args_.capacity);
    if (!model.capacity.empty()) model.total = object.capacity.at(model.capacity).value.MilliValue();
    if (model.total <= 0) return kNoModel;
  }
  const std::uint32_t index = AddModel(std::move(model));
  model_of_shape_[device.shape] = index;
  return index;
}

// Devices with different attributes, such as a serial number, are of one model as long as no ask tells them
// apart. Asks that could do so drop the models.
std::uint32_t GpuCatalog::AddModel(Model model) {
  const api::Device& device = *model.device.device;
  std::string signature = fmt::format("{}\n{} {} {}\n", model.driver, model.classes, model.total,
                                      device.allow_multiple_allocations);
  for (const auto& [name, capacity] : device.capacity) {
    signature += fmt::format("{}={}", name, capacity.value.Canonical());
    if (capacity.request_policy) AddTo(signature, *capacity.request_policy);
    signature += '\n';
  }
  const std::vector<std::int64_t>& needs = NeedsOf(model);
  for (const std::int64_t need : needs) AppendFormat(signature, "{} ", need);
  const auto [known, is_new] = model_of_signature_.try_emplace(std::move(signature), kNoModel);
  if (!is_new || models_.size() >= kMostModels) return known->second;
  known->second = needs_.AddModel(model.total, needs);
  models_.push_back(std::move(model));
  return known->second;
}

// Devices are often read again, because a new ask has dropped the models: only that ask is evaluated then.
const std::vector<std::int64_t>& GpuCatalog::NeedsOf(const Model& model) {
  if (known_needs_ > kMostKnownNeeds) ForgetNeeds();
  std::vector<std::int64_t>& needs = needs_of_shape_[model.device.shape];
  known_needs_ += asks_.size() - needs.size();
  needs.reserve(asks_.size());
  while (needs.size() < asks_.size()) needs.push_back(NeedOf(asks_[needs.size()], model));
  return needs;
}

std::int64_t GpuCatalog::FreeOf(std::uint32_t model, const devices::SliceDevice& device) const {
  const devices::AllocatedDevices::Use& use = handle_.devices.allocated().use(device.id);
  const std::int64_t total = models_[model].total;
  if (use.free()) return total;
  const std::string& capacity = models_[model].capacity;
  if (use.claims > 0 || capacity.empty()) return 0;
  const auto consumed = use.consumed.find(capacity);
  return consumed == use.consumed.end() ? total
                                        : std::max<std::int64_t>(total - consumed->second.MilliValue(), 0);
}

// --- requests ---

std::uint32_t GpuCatalog::AskOf(const GpuAsk& ask) {
  if (const auto known = ask_of_key_.find(ask.key); known != ask_of_key_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(asks_.size());
  asks_.push_back(ask);
  ask_of_key_.emplace(ask.key, index);
  for (const std::string& selector : ask.selectors) selector_bytes_ += selector.size();
  const bool by_attributes = !ask.selectors.empty() || ask.kind == GpuAsk::Kind::kResource;
  if (by_attributes && models_.size() > args_.resources.size()) {
    DropModels();
    return index;
  }
  std::vector<std::int64_t> needs;
  for (std::uint32_t model = 0; model < models_.size(); ++model) {
    needs.push_back(model < args_.resources.size() ? NeedOfResource(ask, model)
                                                   : NeedOf(ask, models_[model]));
  }
  needs_.AddAsk(std::move(needs));
  return index;
}

std::int64_t GpuCatalog::NeedOf(const GpuAsk& ask, const Model& model) const {
  if (!Accepts(ask, model)) return GpuNeeds::kUnusable;
  const api::Device& device = *model.device.device;
  const bool fractional = handle_.devices.features().fractional_capacity_range;
  std::optional<api::QuantityMap> requested = ask.capacity;
  // A typical pod of the arguments names the capacity as the arguments do.
  if (ask.kind == GpuAsk::Kind::kAny && requested && !model.capacity.empty())
    requested = api::QuantityMap{{model.capacity, requested->begin()->second}};
  if (!devices::HasCapacity(device, requested, {}, {}, fractional).value_or(false))
    return GpuNeeds::kUnusable;
  if (model.capacity.empty()) return model.total;
  const auto consumed = devices::ConsumedCapacity(device, requested, fractional);
  if (!consumed) return GpuNeeds::kUnusable;
  const auto amount = consumed->find(model.capacity);
  return amount == consumed->end() ? 0 : std::max<std::int64_t>(amount->second.MilliValue(), 0);
}

bool GpuCatalog::Accepts(const GpuAsk& ask, const Model& model) const {
  if (ask.kind == GpuAsk::Kind::kResource) {
    const api::DeviceClass* device_class = handle_.devices.extended().ClassOf(demands_.resource(ask.index));
    return device_class != nullptr && IsIn(*device_class, model);
  }
  if (ask.kind == GpuAsk::Kind::kClass && (model.classes & (1U << ask.index)) == 0) return false;
  return Matches(ask.selectors, model);
}

bool GpuCatalog::IsIn(const api::DeviceClass& device_class, const Model& model) const {
  std::vector<std::string> expressions;
  for (const api::DeviceSelector& selector : device_class.selectors)
    expressions.push_back(selector.cel_expression.value_or(""));
  return Matches(expressions, model);
}

bool GpuCatalog::Matches(const std::vector<std::string>& expressions, const Model& model) const {
  return std::ranges::all_of(expressions, [&](const std::string& expression) {
    return selectors_->Evaluate(expression, model.driver, model.device).kind ==
           devices::SelectorEvaluator::Answer::Kind::kMatch;
  });
}

}  // namespace berth::plugins
