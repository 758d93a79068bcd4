#include "scheduler/plugins/fair_order/fair_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/json_fields.hpp"
#include "scheduler/plugins/encode_later.hpp"
#include "scheduler/plugins/priority_sort/priority_sort.hpp"
#include "scheduler/plugins/tentative_placement.hpp"

namespace berth::plugins {
namespace {

using framework::QueuedEntity;
using framework::TenantId;

// Requests that exceed 2^63 in sum wrap to negative amounts, and nodes may offer any amount: the totals must
// not overflow.
constexpr std::int64_t kMostOfOne = std::int64_t{1} << 50;
std::int64_t Bounded(std::int64_t amount) { return amount < 0 ? kMostOfOne : std::min(amount, kMostOfOne); }
std::int64_t BoundedSum(std::int64_t a, std::int64_t b) { return std::min(a + b, std::int64_t{1} << 62); }

// No namespace and no value of a label has these names.
constexpr std::string_view kNone = "<none>", kOther = "<other>";
// The last name of paths whose tenant is above other tenants, too: its own pods.
constexpr std::string_view kOwn = "<own>";

TenantTreeOptions TreeOptions(const FairOrderArgs& args) {
  return {.priority_first = args.priority == FairOrderArgs::Priority::kBeforeTenant, .ageing = args.ageing};
}

// In a saved state, so that sums do not overflow.
constexpr std::uint32_t kMostUnsettled = 1U << 30;

std::string NameOf(std::span<const TenantTree::Step> path) {
  std::string name;
  for (const TenantTree::Step& step : path) {
    if (step.name == kOwn) continue;
    if (!name.empty()) name += '/';
    name += step.name;
  }
  return name;
}

}  // namespace

framework::PluginOrError FairOrder::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(FairOrderArgs args, ParseFairOrderArgs(raw));
  return std::make_unique<FairOrder>(std::move(args), handle);
}

FairOrder::FairOrder(FairOrderArgs args, framework::Handle& handle)
    : args_(std::move(args)),
      handle_(handle),
      tree_(TreeOptions(args_), args_.resources.size()),
      amounts_(args_.resources.size()) {
  for (const std::string& name : args_.resources)
    resources_.push_back(name == "pods" ? cluster::ResourceId{} : handle.symbols.InternResource(name));
  FlatTextMap<const FairOrderArgs::Tenant*> by_name;
  FlatTextSet parents;
  for (const FairOrderArgs::Tenant& tenant : args_.tenants) {
    weights_.emplace(tenant.name, tenant.weight.value_or(args_.default_weight));
    by_name.emplace(tenant.name, &tenant);
    if (!tenant.parent.empty()) parents.insert(tenant.parent);
  }
  for (const FairOrderArgs::Tenant& tenant : args_.tenants) {
    Path& path = configured_[tenant.name];
    for (const FairOrderArgs::Tenant* at = &tenant;; at = by_name.at(at->parent)) {
      path.push_back({at->name, WeightOf(at->name)});
      if (at->parent.empty()) break;
    }
    std::ranges::reverse(path);
    if (parents.contains(tenant.name)) path.push_back({kOwn, args_.default_weight});
  }
}

FairOrder::~FairOrder() {
  if (started_) handle_.nodes.Forget(*this);
}

bool FairOrder::Less(const QueuedEntity& a, const QueuedEntity& b) const {
  return PrioritySort::Before(a, b);
}

void FairOrder::Start() {
  BERTH_CHECK(!started_ && tree_.empty(), tenants_.size());
  started_ = true;
  UpdateTotals();
  handle_.nodes.Observe(*this);
}

void FairOrder::Stop() {
  BERTH_CHECK(started_, tenants_.size());
  started_ = false;
  handle_.nodes.Forget(*this);
  for (TenantId id = 0; id < tenants_.size(); ++id) {
    Tenant& tenant = tenants_[id];
    if (tenant.node == nullptr) continue;
    tree_.Settle(*tenant.node, tenant.node->unsettled());
    tenant.pods = 0;
    RemoveIfUnused(id);
  }
  on_nodes_.clear();
  attempted_.clear();
}

// --- tenants ---

TenantId FairOrder::TenantOf(const QueuedEntity& entry) { return IdOf(*entry.leading_pod().info.pod); }

TenantId FairOrder::IdOf(const api::Pod& pod) {
  const Path& path = PathOf(pod);
  if (const TenantTree::Node* known = tree_.Find(path)) return known->id;
  if (tenants() < static_cast<std::size_t>(args_.max_tenants)) return AddTenant(path);
  const Path other{{kOther, args_.default_weight}};
  const TenantTree::Node* known = tree_.Find(other);
  return known != nullptr ? known->id : AddTenant(other);
}

TenantId FairOrder::AddTenant(const Path& path) {
  if (free_.empty()) {
    free_.push_back(static_cast<TenantId>(tenants_.size()));
    tenants_.emplace_back();
  }
  const TenantId id = free_.back();
  free_.pop_back();
  Tenant& tenant = tenants_[id];
  tenant.node = &tree_.Add(path);
  tenant.node->id = id;
  tenant.name = NameOf(path);
  if (handle_.metrics != nullptr && series_ < static_cast<std::size_t>(args_.max_series)) {
    tenant.series = std::make_unique<TenantSeries>(*handle_.metrics, tenant.name, tenant.node->weight());
    ++series_;
  }
  return id;
}

void FairOrder::RemoveIfUnused(TenantId id) {
  Tenant& tenant = tenants_[id];
  if (tenant.pods > 0 || tenant.waiting > 0 || tenant.node->unsettled() > 0) return;
  tree_.Remove(*tenant.node);
  if (tenant.series != nullptr) --series_;
  tenant = {};
  free_.push_back(id);
}

const FairOrder::Path& FairOrder::PathOf(const api::Pod& pod) {
  std::string_view name = pod.metadata.ns;
  if (!args_.tenant_label.empty()) {
    const std::string* value = pod.metadata.labels.Find(args_.tenant_label);
    name = value == nullptr || value->empty() ? kNone : std::string_view(*value);
  }
  path_.clear();
  if (args_.separator.empty()) {
    if (const auto known = configured_.find(name); known != configured_.end()) return known->second;
    path_.push_back({name, args_.default_weight});
    return path_;
  }
  // Names after the deepest level stay together.
  for (std::size_t begin = 0; begin <= name.size();) {
    std::size_t end = name.find(args_.separator, begin);
    if (end == std::string_view::npos || path_.size() + 1 == FairOrderArgs::kDeepest) end = name.size();
    path_.push_back({name.substr(begin, end - begin), WeightOf(name.substr(0, end))});
    begin = end + 1;
  }
  path_.push_back({kOwn, args_.default_weight});
  return path_;
}

double FairOrder::WeightOf(std::string_view name) const {
  const auto known = weights_.find(name);
  return known == weights_.end() ? args_.default_weight : known->second;
}

// --- what tenants use ---

void FairOrder::OnPodAdded(cluster::Row, const cluster::PlacedPod& pod) {
  const TenantId id = IdOf(*pod.pod);
  Tenant& tenant = tenants_[id];
  on_nodes_.insert_or_assign(&pod, OnNode{.tenant = id, .settled = tenant.node->unsettled() > 0});
  ++tenant.pods;
  tree_.Use(*tenant.node, AmountsOf(pod, 1));
  tree_.Settle(*tenant.node, 1);
  ShowShare(tenant);
}

void FairOrder::OnPodRemoved(cluster::Row, const cluster::PlacedPod& pod) {
  const auto known = on_nodes_.find(&pod);
  BERTH_CHECK(known != on_nodes_.end(), pod.pod->metadata.uid);
  const auto [id, settled] = known->second;
  on_nodes_.erase(known);
  Tenant& tenant = tenants_[id];
  --tenant.pods;
  tree_.Use(*tenant.node, AmountsOf(pod, -1));
  if (settled && IsTentative(handle_.groups, *pod.pod)) Unsettle(id);
  ShowShare(tenant);
  RemoveIfUnused(id);
}

// The attempts of a group's members and of other pods of the tenant stay unsettled if the group does not fit.
void FairOrder::Unsettle(TenantId id) {
  tree_.Unsettle(*tenants_[id].node);
  if (!std::exchange(tenants_[id].attempted, true)) attempted_.push_back(id);
}

const std::vector<std::int64_t>& FairOrder::AmountsOf(const cluster::PlacedPod& pod, std::int64_t sign) {
  for (std::size_t i = 0; i < resources_.size(); ++i)
    amounts_[i] = sign * (resources_[i].known() ? Bounded(pod.use().requested.Of(resources_[i])) : 1);
  return amounts_;
}

void FairOrder::ShowShare(Tenant& tenant) {
  if (tenant.series != nullptr) tenant.series->SetShare(tenant.node->share());
}

// The observer is not notified of a changed node.
void FairOrder::UpdateTotals() {
  if (node_changes_ == handle_.nodes.node_changes()) return;
  node_changes_ = handle_.nodes.node_changes();
  std::vector<std::int64_t> totals;
  for (const cluster::ResourceId resource : resources_) {
    const auto column = resource.known() ? handle_.nodes.allocatable(resource) : handle_.nodes.allowed_pods();
    totals.push_back(
        std::transform_reduce(column.begin(), column.end(), std::int64_t{0}, BoundedSum, Bounded));
  }
  if (std::ranges::equal(totals, tree_.totals())) return;
  tree_.SetTotals(std::move(totals));
  for (Tenant& tenant : tenants_) {
    if (tenant.node != nullptr) ShowShare(tenant);
  }
}

// --- the queue ---

void FairOrder::OnWaiting(TenantId id, const QueuedEntity* first, std::size_t count, MonoTime now) {
  Tenant& tenant = tenants_[id];
  tenant.waiting = count;
  if (tenant.series != nullptr) tenant.series->SetWaiting(count);
  if (first != nullptr) return tree_.Wait(*tenant.node, first->priority, now);
  tree_.StopWaiting(*tenant.node);
  RemoveIfUnused(id);
}

// Counts until a pod of the tenant is on a node: attempts that do not place a pod are counted so.
void FairOrder::OnAttempt(const QueuedEntity& entry, MonoTime now) {
  ForgetAttempts(now);
  const TenantId id = TenantOf(entry);
  Tenant& tenant = tenants_[id];
  tree_.Attempt(*tenant.node, now);
  if (!std::exchange(tenant.attempted, true)) attempted_.push_back(id);
}

void FairOrder::ForgetAttempts(MonoTime now) {
  if (now < forget_at_) return;
  forget_at_ = now + kUnsettledPeriod;
  std::vector<TenantId> attempted;
  attempted.swap(attempted_);
  for (const TenantId id : attempted) {
    Tenant& tenant = tenants_[id];
    // The tenant may have been removed, and another one have the id.
    if (!std::exchange(tenant.attempted, false)) continue;
    tree_.Settle(*tenant.node, tenant.node->unsettled());
    RemoveIfUnused(id);
  }
}

void FairOrder::ForEachWaiting(const Visit& visit) {
  UpdateTotals();
  tree_.ForEachWaiting([&](const TenantTree::Node& node) { return visit(node.id); });
}

framework::TenantState FairOrder::StateOf(TenantId id) const {
  const Tenant& tenant = tenants_[id];
  const TenantTree::Node& node = *tenant.node;
  framework::TenantState state;
  state.name = tenant.name;
  state.share = node.share();
  if (node.dominant() >= 0) state.resource = args_.resources[static_cast<std::size_t>(node.dominant())];
  state.weight = node.weight();
  state.waiting = tenant.waiting;
  state.unsettled = node.unsettled();
  state.since = node.since();
  return state;
}

// --- recordings ---

Expected<framework::StateEncoder> FairOrder::SaveState() {
  const Path other{{kOther, args_.default_weight}};
  if (tree_.Find(other) != nullptr) return Invalid("more tenants than maxTenants have pods");
  Saved saved{.tenants = tree_.Save(), .forget_at = forget_at_};
  Path path;
  SaveAttempted(saved.tenants, path);
  return EncodeLater(std::move(saved));
}

void FairOrder::SaveAttempted(TenantTree::Saved& node, Path& path) {
  if (node.children.empty() && !path.empty()) node.attempted = tenants_[tree_.Find(path)->id].attempted;
  for (TenantTree::Saved& child : node.children) {
    path.push_back({child.name, child.weight});
    SaveAttempted(child, path);
    path.pop_back();
  }
}

Expected<void> FairOrder::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  attempted_.clear();
  for (Tenant& tenant : tenants_) tenant.attempted = false;
  Path path;
  BERTH_RETURN_IF_ERROR(RestoreLeaves(saved.tenants, path));
  BERTH_RETURN_IF_ERROR(tree_.Restore(saved.tenants));
  forget_at_ = saved.forget_at;
  return {};
}

// Tenants without pods exist while they have unsettled attempts.
Expected<void> FairOrder::RestoreLeaves(const TenantTree::Saved& node, Path& path) {
  const auto invalid = [&](std::string_view why) {
    return Invalid(fmt::format("tenant \"{}\": {}", NameOf(path), why));
  };
  if (path.size() > FairOrderArgs::kDeepest + 1) return invalid("expected a shorter path");
  const TenantTree::Node* const known = path.empty() ? nullptr : tree_.Find(path);
  if (!node.children.empty()) {
    if (known != nullptr && tree_.IsLeaf(*known)) return invalid("expected none below it");
    for (const TenantTree::Saved& child : node.children) {
      path.push_back({child.name, child.weight});
      BERTH_RETURN_IF_ERROR(RestoreLeaves(child, path));
      path.pop_back();
    }
    return {};
  }
  if (path.empty()) return {};
  if (known != nullptr && !tree_.IsLeaf(*known)) return invalid("expected others below it");
  if (node.unsettled > kMostUnsettled || !(node.weight > 0 && std::isfinite(node.weight)))
    return invalid("expected a number of attempts and a weight");
  if (known == nullptr &&
      (node.unsettled == 0 || !started_ || tenants() > static_cast<std::size_t>(args_.max_tenants)))
    return invalid("it has no pods");
  const TenantId id = known != nullptr ? known->id : AddTenant(path);
  tenants_[id].attempted = node.attempted;
  if (node.attempted) attempted_.push_back(id);
  return {};
}

}  // namespace berth::plugins
