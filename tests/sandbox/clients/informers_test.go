package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
)

func TestInformersFollowEveryChange(t *testing.T) {
	for name, streaming := range map[string]bool{"with streaming lists": true, "with lists and watches": false} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streaming)
			c := start(t, "--nodes=5", "--no-controllers")
			for i := range 600 { // more than a page
				c.configMap(t, fmt.Sprintf("before-%d", i))
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			factory := informers.NewSharedInformerFactory(c.client, 0)
			maps := factory.Core().V1().ConfigMaps()
			nodes := factory.Core().V1().Nodes().Lister()
			maps.Informer()
			factory.Start(ctx.Done())
			for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
				if !synced {
					t.Fatalf("%v did not sync", kind)
				}
			}
			if listed := must[[]*corev1.Node](t)(nodes.List(everything())); len(listed) != 5 {
				t.Errorf("%d nodes", len(listed))
			}
			lister := maps.Lister().ConfigMaps("default")
			if listed := must[[]*corev1.ConfigMap](t)(lister.List(everything())); len(listed) != 600 {
				t.Errorf("%d config maps", len(listed))
			}
			c.configMap(t, "after")
			within(t, 5*time.Second, "an addition", func() bool { _, err := lister.Get("after"); return err == nil })
			if err := c.client.CoreV1().ConfigMaps("default").Delete(ctx, "after", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			within(t, 5*time.Second, "a deletion", func() bool { _, err := lister.Get("after"); return apierrors.IsNotFound(err) })
		})
	}
}

func TestPatchesOfAllTypes(t *testing.T) {
	c := start(t, "--nodes=0")
	maps := c.client.CoreV1().ConfigMaps("default")
	c.configMap(t, "a")
	for kind, body := range map[types.PatchType]string{
		types.MergePatchType:          `{"data":{"merge":"1"}}`,
		types.StrategicMergePatchType: `{"data":{"strategic":"1"}}`,
		types.JSONPatchType:           `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`,
	} {
		must[*corev1.ConfigMap](t)(maps.Patch(context.Background(), "a", kind, []byte(body), metav1.PatchOptions{}))
	}
	got := must[*corev1.ConfigMap](t)(maps.Get(context.Background(), "a", metav1.GetOptions{}))
	if got.Data["merge"] != "1" || got.Data["strategic"] != "1" || got.Labels["json"] != "1" {
		t.Errorf("%v %v", got.Data, got.Labels)
	}
	if _, err := maps.Update(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a stale update: %v", err)
	}
}

func TestServerSideApply(t *testing.T) {
	c := start(t, "--nodes=0")
	maps := c.client.CoreV1().ConfigMaps("default")
	apply := func(manager string, force bool, data map[string]string) error {
		_, err := maps.Apply(context.Background(), applycorev1.ConfigMap("a", "default").WithData(data), metav1.ApplyOptions{FieldManager: manager, Force: force})
		return err
	}
	if err := apply("one", false, map[string]string{"x": "1", "y": "1"}); err != nil {
		t.Fatal(err)
	}
	err := apply("two", false, map[string]string{"x": "2"})
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details.Causes[0].Field != ".data.x" {
		t.Fatalf("the conflict: %v", err)
	}
	if err := apply("two", true, map[string]string{"x": "2"}); err != nil {
		t.Fatal(err)
	}
	if err := apply("one", false, map[string]string{}); err != nil { // releases y; x belongs to two by now
		t.Fatal(err)
	}
	got := must[*corev1.ConfigMap](t)(maps.Get(context.Background(), "a", metav1.GetOptions{}))
	if text, _ := json.Marshal(got.Data); string(text) != `{"x":"2"}` {
		t.Errorf("%s", text)
	}
	extracted, err := applycorev1.ExtractConfigMap(got, "two")
	if err != nil || extracted.Data["x"] != "2" {
		t.Errorf("what two owns: %v, %v", extracted, err)
	}
}

func TestWatchesResumeOrSayThatTheyCannot(t *testing.T) {
	c := start(t, "--nodes=0", "--watch-window=50", "--no-controllers")
	ctx := context.Background()
	maps := c.client.CoreV1().ConfigMaps("default")
	first := c.configMap(t, "first")
	second := c.configMap(t, "second")
	resumed := must[watch.Interface](t)(maps.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion}))
	if event := <-resumed.ResultChan(); event.Type != watch.Added || event.Object.(*corev1.ConfigMap).Name != "second" {
		t.Errorf("resumed with %v", event)
	}
	resumed.Stop()
	page := must[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{Limit: 1}))
	for i := range 100 {
		c.configMap(t, fmt.Sprintf("more-%d", i))
	}
	old := must[watch.Interface](t)(maps.Watch(ctx, metav1.ListOptions{ResourceVersion: second.ResourceVersion}))
	event := <-old.ResultChan()
	if event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("an old version: %v", event)
	}
	_, err := maps.List(ctx, metav1.ListOptions{Limit: 1, Continue: page.Continue})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("an old page: %v", err)
	}
	_, err = maps.List(ctx, metav1.ListOptions{ResourceVersion: second.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("an old state: %v", err)
	}
	all, _, err := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (runtimeObject, error) { return maps.List(ctx, o) })).List(ctx, metav1.ListOptions{Limit: 7})
	if err != nil || len(all.(*metav1InternalList).Items) != 102 {
		t.Errorf("pages of seven: %v", err)
	}
}

// One of two candidates leads; when it steps down, the other one does.
func TestLeaderElection(t *testing.T) {
	c := start(t, "--nodes=0")
	leads := make(chan string, 10)
	candidate := func(ctx context.Context, name string) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "kube-system", "lock", c.client.CoreV1(),
			c.client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			t.Error(err)
			return
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	one, stepDown := context.WithCancel(context.Background())
	two, end := context.WithCancel(context.Background())
	defer end()
	go candidate(one, "one")
	if name := <-leads; name != "one" {
		t.Fatalf("%s leads", name)
	}
	go candidate(two, "two")
	select {
	case name := <-leads:
		t.Fatalf("%s leads, too", name)
	case <-time.After(time.Second):
	}
	stepDown()
	select {
	case name := <-leads:
		if name != "two" {
			t.Fatalf("%s leads", name)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("there is no leader")
	}
}

func TestClientCertificatesAndTokens(t *testing.T) {
	policy := writeFile(t, "policy.yaml", `
anonymous: false
users:
- {name: alice, groups: [dev], token: s3cret}
- {name: bob, groups: [ops], certificate: true}
rules:
- {effect: deny, groups: [dev], verbs: [delete], resources: [pods]}
`)
	c := start(t, "--nodes=0", "--https", "--policy="+policy)
	if _, err := c.client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{}); err != nil {
		t.Errorf("the first user: %v", err)
	}
	alice := *c.config
	alice.CertData, alice.KeyData, alice.BearerToken = nil, nil, "s3cret"
	err := kubernetes.NewForConfigOrDie(&alice).CoreV1().Pods("default").Delete(context.Background(), "x", metav1.DeleteOptions{})
	const denied = `pods "x" is forbidden: User "alice" cannot delete resource "pods" in API group "" in the namespace "default"`
	if err == nil || err.Error() != denied {
		t.Errorf("%v", err)
	}
	unknown := alice
	unknown.BearerToken = "wrong"
	_, err = kubernetes.NewForConfigOrDie(&unknown).CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("a wrong token: %v", err)
	}
}
