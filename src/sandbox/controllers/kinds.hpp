// The resource types that controllers use, by name.
#pragma once

#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

struct ControlledKinds {
  const ResourceType& config_maps;
  const ResourceType& service_accounts;
  const ResourceType& services;
  const ResourceType& endpoints;
  const ResourceType& endpoint_slices;
  const ResourceType& deployments;
  const ResourceType& replica_sets;
  const ResourceType& stateful_sets;
  const ResourceType& daemon_sets;
  const ResourceType& controller_revisions;
  const ResourceType& jobs;
  const ResourceType& cron_jobs;
  const ResourceType& claims;
  const ResourceType& volumes;
  const ResourceType& storage_classes;
  const ResourceType& resource_claims;
  const ResourceType& resource_claim_templates;
  const ResourceType& resource_slices;
  const ResourceType& device_classes;
  const ResourceType& pod_groups;
};
const ControlledKinds& Kinds();

}  // namespace berth::sandbox
