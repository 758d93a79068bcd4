// Command jobset is JobSet's controller manager for tests/cluster/kueue. JobSet's own program also rotates certificates.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/metrics"
	"sigs.k8s.io/jobset/pkg/webhooks"
)

func main() {
	port := flag.Int("webhook-port", 0, "the `PORT` of the webhooks")
	certificates := flag.String("certificates", "", "the `DIRECTORY` with tls.crt and tls.key of the webhooks")
	health := flag.String("health", "", "the `ADDRESS` of /readyz")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	options := ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: *health,
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates}),
	}
	if err := run(ctrl.SetupSignalHandler(), options); err != nil {
		fmt.Fprintf(os.Stderr, "jobset: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options ctrl.Options) error {
	options.Scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(options.Scheme); err != nil {
			return err
		}
	}
	metrics.Register()
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 500 // JobSet's defaults
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("readyz", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func addControllers(ctx context.Context, mgr ctrl.Manager) error {
	if err := controllers.SetupJobSetIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := controllers.SetupPodIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	sets := controllers.NewJobSetReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorderFor("jobset"))
	if err := sets.SetupWithManager(mgr); err != nil {
		return err
	}
	pods := controllers.NewPodReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorderFor("pod"))
	if err := pods.SetupWithManager(mgr); err != nil {
		return err
	}
	admission, err := webhooks.NewJobSetWebhook(mgr.GetClient())
	if err != nil {
		return err
	}
	if err := admission.SetupWebhookWithManager(mgr); err != nil {
		return err
	}
	return webhooks.NewPodWebhook(mgr.GetClient()).SetupWebhookWithManager(mgr)
}
