// Command kueue is Kueue's controller manager for tests/cluster/kueue: its scheduler, its webhooks and its integrations of
// Jobs, pods and JobSets, with topologies. Kueue's own program also has integrations of other projects, MultiKueue, a server
// for pending workloads and the rotation of certificates, which need further programs and are left out.
//
// go.mod selects the libraries of tests/karpenter, of Kubernetes 0.36, so that they are compiled once. The types of
// kubeflow/trainer 2.2.0 need those of 0.35; Kueue uses the name of one kind, which 2.0.0 has, too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs/job"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs/jobset"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs/pod"
	"sigs.k8s.io/kueue/pkg/controller/tas"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/metrics"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

func main() {
	file := flag.String("config", "", "Kueue's configuration at this `PATH`")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *file); err != nil {
		fmt.Fprintf(os.Stderr, "kueue: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	options, cfg, err := config.Load(scheme, file)
	if err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(cfg.FeatureGates); err != nil {
		return err
	}
	config.AddWebhookSettingsTo(&options, &cfg)
	options.Metrics = metricsserver.Options{BindAddress: cfg.Metrics.BindAddress}
	metrics.Register()
	client, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	client.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(*cfg.ClientConnection.QPS, int(*cfg.ClientConnection.Burst))
	mgr, err := ctrl.NewManager(client, options)
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("readyz", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, &cfg); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, kueuev1beta1.AddToScheme, configapi.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, jobframework.ForEachIntegration(func(_ string, integration jobframework.IntegrationCallbacks) error {
		if integration.AddToScheme == nil {
			return nil
		}
		return integration.AddToScheme(scheme)
	})
}

// addControllers adds Kueue's caches, controllers, webhooks and scheduler, in the order of Kueue's own program.
func addControllers(ctx context.Context, mgr ctrl.Manager, cfg *configapi.Configuration) error {
	waits := cfg.WaitForPodsReady != nil
	cache := schdcache.New(mgr.GetClient(), schdcache.WithPodsReadyTracking(waits && *cfg.WaitForPodsReady.BlockAdmission))
	requeuer := qcache.NewRequeuer()
	if err := mgr.Add(requeuer); err != nil {
		return err
	}
	expectations := preemptexpectations.New()
	timestamp := configapi.EvictionTimestamp
	if waits {
		timestamp = *cfg.WaitForPodsReady.RequeuingStrategy.Timestamp
	}
	queues := qcache.NewManager(mgr.GetClient(), cache, requeuer, qcache.WithPodsReadyRequeuingTimestamp(timestamp),
		qcache.WithPreemptionExpectations(expectations))
	if err := indexer.Setup(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := tasindexer.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if failed, err := core.SetupControllers(mgr, queues, cache, cfg, nil, expectations, nil); err != nil {
		return fmt.Errorf("controller %s: %w", failed, err)
	}
	if failed, err := tas.SetupControllers(mgr, queues, cache, cfg, nil); err != nil {
		return fmt.Errorf("controller of topologies %s: %w", failed, err)
	}
	if err := addIntegrations(ctx, mgr, cfg, cache, queues); err != nil {
		return err
	}
	if failed, err := webhooks.Setup(mgr, nil); err != nil {
		return fmt.Errorf("webhook of %s: %w", failed, err)
	}
	go queues.CleanUpOnContext(ctx)
	go cache.CleanUpOnContext(ctx)
	return mgr.Add(scheduler.New(queues, cache, mgr.GetClient(), mgr.GetEventRecorderFor(constants.AdmissionName),
		scheduler.WithPodsReadyRequeuingTimestamp(timestamp), scheduler.WithPreemptionExpectations(expectations)))
}

func addIntegrations(ctx context.Context, mgr ctrl.Manager, cfg *configapi.Configuration, cache *schdcache.Cache, queues *qcache.Manager) error {
	enabled := jobframework.WithEnabledFrameworks(cfg.Integrations.Frameworks)
	if err := jobframework.SetupIndexes(ctx, mgr.GetFieldIndexer(), enabled); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	version := kubeversion.NewServerVersionFetcher(client)
	if err := mgr.Add(version); err != nil {
		return err
	}
	if err := version.FetchServerVersion(); err != nil {
		return err
	}
	namespaces, err := metav1.LabelSelectorAsSelector(cfg.ManagedJobsNamespaceSelector)
	if err != nil {
		return err
	}
	return jobframework.SetupControllers(ctx, mgr, ctrl.Log, enabled,
		jobframework.WithManageJobsWithoutQueueName(cfg.ManageJobsWithoutQueueName),
		jobframework.WithManagedJobsNamespaceSelector(namespaces),
		jobframework.WithWaitForPodsReady(cfg.WaitForPodsReady),
		jobframework.WithKubeServerVersion(version),
		jobframework.WithManagerName(constants.KueueName),
		jobframework.WithCache(cache),
		jobframework.WithQueues(queues))
}
