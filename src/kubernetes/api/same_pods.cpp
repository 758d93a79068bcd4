#include "kubernetes/api/pod.hpp"

namespace berth::api {

// All members are listed, so that adding a member without handling it here is a compile error.

bool SameDemands(const PodSpec& a, const PodSpec& b) {
  const auto& [node_a, scheduler_a, class_a, priority_a, gates_a, selector_a, node_affinity_a, tolerations_a,
               containers_a, init_containers_a, resources_a, overhead_a, image_volumes_a, volumes_a,
               affinity_a, anti_affinity_a, spread_a, claims_a, group_a, host_network_a, never_preempts_a,
               local_storage_a, host_users_a, restarts_all_a, bind_mounts_a] = a;
  const auto& [node_b, scheduler_b, class_b, priority_b, gates_b, selector_b, node_affinity_b, tolerations_b,
               containers_b, init_containers_b, resources_b, overhead_b, image_volumes_b, volumes_b,
               affinity_b, anti_affinity_b, spread_b, claims_b, group_b, host_network_b, never_preempts_b,
               local_storage_b, host_users_b, restarts_all_b, bind_mounts_b] = b;
  return priority_a == priority_b && host_network_a == host_network_b &&
         never_preempts_a == never_preempts_b && restarts_all_a == restarts_all_b &&
         bind_mounts_a == bind_mounts_b && host_users_a == host_users_b && containers_a == containers_b &&
         tolerations_a == tolerations_b && selector_a == selector_b && node_affinity_a == node_affinity_b &&
         init_containers_a == init_containers_b && resources_a == resources_b && overhead_a == overhead_b &&
         image_volumes_a == image_volumes_b && volumes_a == volumes_b && affinity_a == affinity_b &&
         anti_affinity_a == anti_affinity_b && spread_a == spread_b && claims_a == claims_b &&
         group_a == group_b && gates_a == gates_b && scheduler_a == scheduler_b;
}

bool SameResources(const PodStatus& a, const PodStatus& b) {
  const auto& [phase_a, nominated_a, conditions_a, start_a, scheduled_a, claims_a, extended_a, containers_a,
               init_containers_a, allocated_a, requests_a, has_resources_a] = a;
  const auto& [phase_b, nominated_b, conditions_b, start_b, scheduled_b, claims_b, extended_b, containers_b,
               init_containers_b, allocated_b, requests_b, has_resources_b] = b;
  return has_resources_a == has_resources_b && containers_a == containers_b &&
         init_containers_a == init_containers_b && claims_a == claims_b && extended_a == extended_b &&
         allocated_a == allocated_b && requests_a == requests_b;
}

}  // namespace berth::api
