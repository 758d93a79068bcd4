package clients

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "test.berth.dev/greeted"

// greeter annotates every labelled config map once, and keeps a finalizer until it has removed the annotation.
type greeter struct {
	client.Client
	events events.EventRecorder
}

func (g *greeter) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var found corev1.ConfigMap
	if err := g.Get(ctx, r.NamespacedName, &found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if found.Labels["made"] != "by-test" {
		return ctrl.Result{}, nil
	}
	before := found.DeepCopy()
	if !found.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(&found, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(g.Patch(ctx, &found, client.MergeFrom(before)))
	}
	if !controllerutil.AddFinalizer(&found, finalizer) {
		return ctrl.Result{}, nil
	}
	found.Labels["greeted"] = "yes"
	if err := g.Update(ctx, &found); err != nil {
		return ctrl.Result{}, err
	}
	g.events.Eventf(&found, nil, corev1.EventTypeNormal, "Greeted", "Greet", "hello")
	return ctrl.Result{}, nil
}

func TestControllerRuntimesManager(t *testing.T) {
	log.SetLogger(logr.Discard())
	c := start(t, "--nodes=0")
	manager := must[ctrl.Manager](t)(ctrl.NewManager(c.config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "greeter", LeaderElectionNamespace: "default",
		Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
	}))
	reconciler := &greeter{manager.GetClient(), manager.GetEventRecorder("greeter")}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	const count = 50
	for i := range count {
		c.configMap(t, fmt.Sprintf("guest-%d", i))
	}
	maps := c.client.CoreV1().ConfigMaps("default")
	within(t, 20*time.Second, "all are greeted", func() bool {
		list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "greeted=yes"})
		return err == nil && len(list.Items) == count
	})
	within(t, 10*time.Second, "events", func() bool {
		list, err := c.client.EventsV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=Greeted"})
		return err == nil && len(list.Items) == count && list.Items[0].Note == "hello"
	})
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "made=by-test"}); err != nil {
		t.Fatal(err)
	}
	within(t, 20*time.Second, "all are gone", func() bool {
		list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "made=by-test"})
		return err == nil && len(list.Items) == 0
	})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the manager: %v", err)
	}
}
