#include "sandbox/controllers/controllers.hpp"

#include "sandbox/controllers/cron_job/cron_job.hpp"
#include "sandbox/controllers/daemon_set.hpp"
#include "sandbox/controllers/deployment/deployment.hpp"
#include "sandbox/controllers/disruption.hpp"
#include "sandbox/controllers/endpoints.hpp"
#include "sandbox/controllers/garbage_collector.hpp"
#include "sandbox/controllers/housekeeping.hpp"
#include "sandbox/controllers/job/job.hpp"
#include "sandbox/controllers/node_taints.hpp"
#include "sandbox/controllers/pod_gc.hpp"
#include "sandbox/controllers/replica_set.hpp"
#include "sandbox/controllers/resource_claims/resource_claims.hpp"
#include "sandbox/controllers/service_accounts.hpp"
#include "sandbox/controllers/stateful_set/stateful_set.hpp"
#include "sandbox/controllers/taint_eviction.hpp"

namespace berth::sandbox {

struct Controllers::Impl {
  // The view is registered first, so that it is current when the others read it.
  Impl(Verbs& verbs, TimerQueue& timers, Random& random, const ControllersOptions& options)
      : view(verbs.store()),
        events(verbs),
        context{verbs, timers, random, view, events},
        housekeeping(verbs, timers),
        node_taints(verbs, timers),
        node_lifecycle(context, options.node_lifecycle) {
    if (options.workloads) workloads = std::make_unique<Workloads>(context, options);
  }

  struct Workloads {
    Workloads(ControllerContext& context, const ControllersOptions& options)
        : taint_eviction(context),
          pod_gc(context),
          garbage_collector(context),
          service_accounts(context),
          replica_sets(context),
          deployments(context),
          stateful_sets(context),
          daemon_sets(context),
          jobs(context),
          cron_jobs(context),
          endpoints(context),
          disruption(context),
          volumes(context, options.volumes),
          resource_claims(context) {}

    TaintEviction taint_eviction;
    PodGc pod_gc;
    GarbageCollector garbage_collector;
    ServiceAccounts service_accounts;
    ReplicaSetController replica_sets;
    DeploymentController deployments;
    StatefulSetController stateful_sets;
    DaemonSetController daemon_sets;
    JobController jobs;
    CronJobController cron_jobs;
    EndpointsController endpoints;
    DisruptionController disruption;
    VolumeController volumes;
    ResourceClaimController resource_claims;
  };

  ClusterView view;
  EventRecorder events;
  ControllerContext context;
  Housekeeping housekeeping;
  NodeTaints node_taints;
  NodeLifecycle node_lifecycle;
  std::unique_ptr<Workloads> workloads;
};

Controllers::Controllers(Verbs& verbs, TimerQueue& timers, Random& random, const ControllersOptions& options)
    : impl_(std::make_unique<Impl>(verbs, timers, random, options)) {}
Controllers::~Controllers() = default;
EventRecorder& Controllers::events() { return impl_->events; }
ClusterView& Controllers::view() { return impl_->view; }

}  // namespace berth::sandbox
