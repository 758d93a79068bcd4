#include "scheduler/cluster/cluster_objects.hpp"

namespace berth::cluster {

ClusterObjects::ClusterObjects() = default;
ClusterObjects::~ClusterObjects() = default;

}  // namespace berth::cluster
