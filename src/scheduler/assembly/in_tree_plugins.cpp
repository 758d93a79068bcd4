#include "scheduler/assembly/in_tree_plugins.hpp"

#include "scheduler/plugins/capacity_scheduling/capacity_scheduling.hpp"
#include "scheduler/plugins/cpu_usage/cpu_usage.hpp"
#include "scheduler/plugins/data_locality/data_locality.hpp"
#include "scheduler/plugins/default_binder/default_binder.hpp"
#include "scheduler/plugins/default_preemption/default_preemption.hpp"
#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"
#include "scheduler/plugins/eviction_budget/eviction_budget.hpp"
#include "scheduler/plugins/fair_order/fair_order.hpp"
#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"
#include "scheduler/plugins/gangs/gangs.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_fragmentation.hpp"
#include "scheduler/plugins/group_reservation/group_reservation.hpp"
#include "scheduler/plugins/image_locality/image_locality.hpp"
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"
#include "scheduler/plugins/load_aware/load_aware.hpp"
#include "scheduler/plugins/load_variation_risk_balancing/load_variation_risk_balancing.hpp"
#include "scheduler/plugins/low_risk_over_commitment/low_risk_over_commitment.hpp"
#include "scheduler/plugins/network_traffic/network_traffic.hpp"
#include "scheduler/plugins/node_affinity/node_affinity.hpp"
#include "scheduler/plugins/node_cost/node_cost.hpp"
#include "scheduler/plugins/node_declared_features/node_declared_features.hpp"
#include "scheduler/plugins/node_name/node_name.hpp"
#include "scheduler/plugins/node_ports/node_ports.hpp"
#include "scheduler/plugins/node_resource_topology_match/node_resource_topology_match.hpp"
#include "scheduler/plugins/node_resources/balanced_allocation.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"
#include "scheduler/plugins/node_unschedulable/node_unschedulable.hpp"
#include "scheduler/plugins/node_volume_limits/node_volume_limits.hpp"
#include "scheduler/plugins/pod_group_pods_count/pod_group_pods_count.hpp"
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.hpp"
#include "scheduler/plugins/preemption_toleration/preemption_toleration.hpp"
#include "scheduler/plugins/priority_sort/priority_sort.hpp"
#include "scheduler/plugins/sample_plugin/sample_plugin.hpp"
#include "scheduler/plugins/scheduling_gates/scheduling_gates.hpp"
#include "scheduler/plugins/taint_toleration/taint_toleration.hpp"
#include "scheduler/plugins/target_load_packing/target_load_packing.hpp"
#include "scheduler/plugins/topology_placement/topology_placement.hpp"
#include "scheduler/plugins/volume_binding/volume_binding.hpp"
#include "scheduler/plugins/volume_restrictions/volume_restrictions.hpp"
#include "scheduler/plugins/volume_zone/volume_zone.hpp"

namespace berth::assembly {
namespace {

// Plugins of well-known tutorials on custom schedulers, under the names and with the arguments used there.
void AddTutorialPlugins(runtime::Registry& registry) {
  for (const auto* name : {"NetworkTraffic", "network_traffic"})
    registry.Add(name, plugins::NetworkTraffic::Factory(name), plugins::NetworkTrafficArgsCodec());
  for (const auto* name : {"CPUUsage", "custom"})
    registry.Add(name, plugins::CpuUsage::Factory(name), plugins::CpuUsageArgsCodec());
  registry.Add("sample-plugin", plugins::SamplePlugin::Create, plugins::SamplePluginArgsCodec());
  registry.SetNote("sample-plugin", "plugin sample-plugin only writes log lines, with -v=3");
}

// The load-aware plugins of kubernetes-sigs/scheduler-plugins, with its names and arguments.
void AddTrimaranPlugins(runtime::Registry& registry) {
  registry.Add("TargetLoadPacking", plugins::TargetLoadPacking::Create,
               plugins::TargetLoadPackingArgsCodec());
  registry.Add("LoadVariationRiskBalancing", plugins::LoadVariationRiskBalancing::Create,
               plugins::LoadVariationArgsCodec());
  registry.Add("LowRiskOverCommitment", plugins::LowRiskOverCommitment::Create,
               plugins::OverCommitmentArgsCodec());
}

// Groups of other projects; Coscheduling under the name and with the arguments of scheduler-plugins.
void AddGangPlugins(runtime::Registry& registry) {
  registry.Add("Gangs", plugins::Gangs::Create, plugins::GangsArgsCodec());
  registry.Add("GroupReservation", plugins::GroupReservation::Create, plugins::GroupReservationArgsCodec());
  registry.Add("Coscheduling", plugins::Coscheduling::Create, plugins::CoschedulingArgsCodec());
}

}  // namespace

runtime::Registry InTreePlugins() {
  using framework::Make;
  runtime::Registry registry;
  registry.Add("SchedulingGates", Make<plugins::SchedulingGates>);
  registry.Add("PrioritySort", Make<plugins::PrioritySort>);
  registry.Add("FairOrder", plugins::FairOrder::Create, plugins::FairOrderArgsCodec());
  registry.Add("NodeName", Make<plugins::NodeName>);
  registry.Add("NodeUnschedulable", Make<plugins::NodeUnschedulable>);
  registry.Add("TaintToleration", Make<plugins::TaintToleration>);
  registry.Add("NodeAffinity", plugins::NodeAffinity::Create, plugins::NodeAffinityArgsCodec());
  registry.Add("NodePorts", Make<plugins::NodePorts>);
  registry.Add("NodeResourcesFit", plugins::NodeResourcesFit::Create, plugins::NodeResourcesFitArgsCodec());
  registry.Add("NodeResourcesBalancedAllocation", plugins::NodeResourcesBalancedAllocation::Create,
               plugins::BalancedAllocationArgsCodec());
  registry.Add("ImageLocality", Make<plugins::ImageLocality>);
  registry.Add("VolumeRestrictions", Make<plugins::VolumeRestrictions>);
  registry.Add("NodeVolumeLimits", Make<plugins::NodeVolumeLimits>);
  registry.Add("VolumeZone", Make<plugins::VolumeZone>);
  registry.Add("VolumeBinding", plugins::VolumeBinding::Create, plugins::VolumeBindingArgsCodec());
  registry.Add("PodTopologySpread", plugins::PodTopologySpread::Create,
               plugins::PodTopologySpreadArgsCodec());
  registry.Add("InterPodAffinity", plugins::InterPodAffinity::Create, plugins::InterPodAffinityArgsCodec());
  registry.Add("DynamicResources", plugins::DynamicResources::Create, plugins::DynamicResourcesArgsCodec());
  registry.Add("NodeDeclaredFeatures", Make<plugins::NodeDeclaredFeatures>);
  registry.Add("DefaultBinder", Make<plugins::DefaultBinder>);
  registry.Add("GangScheduling", Make<plugins::GangScheduling>);
  registry.Add("TopologyPlacementGenerator", Make<plugins::TopologyPlacementGenerator>);
  registry.Add("PodGroupPodsCount", Make<plugins::PodGroupPodsCount>);
  registry.Add("DefaultPreemption", plugins::DefaultPreemption::Create,
               plugins::DefaultPreemptionArgsCodec());
  registry.Add("PreemptionToleration", plugins::PreemptionToleration::Create,
               plugins::PreemptionTolerationArgsCodec());
  registry.Add("EvictionBudget", plugins::EvictionBudget::Create, plugins::EvictionBudgetArgsCodec());
  registry.Add("LoadAware", plugins::LoadAware::Create, plugins::LoadAwareArgsCodec());
  registry.Add("CapacityScheduling", plugins::CapacityScheduling::Create,
               plugins::CapacitySchedulingArgsCodec());
  registry.Add("NodeResourceTopologyMatch", plugins::NodeResourceTopologyMatch::Create,
               plugins::NodeResourceTopologyMatchArgsCodec());
  registry.Add("NodeCost", plugins::NodeCost::Create, plugins::NodeCostArgsCodec());
  registry.Add("GpuFragmentation", plugins::GpuFragmentation::Create, plugins::GpuFragmentationArgsCodec());
  registry.Add("DataLocality", plugins::DataLocality::Create, plugins::DataLocalityArgsCodec());
  AddGangPlugins(registry);
  AddTrimaranPlugins(registry);
  AddTutorialPlugins(registry);
  return registry;
}

}  // namespace berth::assembly
