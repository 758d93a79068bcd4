package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// writesStage sends requests of replicas whose API server answers with a given code.
type writesStage struct {
	*testing.T
	writes *writes
}

func (s *writesStage) send(replica, method, path, body string, code int) {
	next := http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		if code == unanswered {
			panic(http.ErrAbortHandler)
		}
		answer.WriteHeader(code)
	})
	defer func() { _ = recover() }()
	s.writes.record(replica, next).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body)))
}

func (s *writesStage) lease(replica string, code int) {
	body, err := json.Marshal(&coordinationv1.Lease{TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("host_" + replica)}})
	if err != nil {
		s.Fatal(err)
	}
	s.send(replica, http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"+controlplane.LeaseName, string(body), code)
}

func (s *writesStage) bind(replica, pod string, code int) {
	s.send(replica, http.MethodPost, "/api/v1/namespaces/default/pods/"+pod+"/binding", "", code)
}

// Provokes each violation once: otherwise a checker without findings would prove nothing.
func TestWritesFindsViolations(t *testing.T) {
	const lost = unanswered
	tests := []struct {
		name   string
		play   func(s *writesStage)
		holder string // of the Lease when pod p was bound
		want   string
	}{
		{"the leader binds", func(s *writesStage) { s.lease("a", 200); s.bind("a", "p", 201) }, "a", ""},
		{"the answer is lost", func(s *writesStage) { s.lease("a", 200); s.bind("a", "p", lost) }, "a", ""},
		{"the leader sends again after a lost answer", func(s *writesStage) { s.lease("a", 200); s.bind("a", "p", lost); s.bind("a", "p", 409) }, "a", ""},
		{"the next leader binds after a lost request", func(s *writesStage) {
			s.lease("a", 200)
			s.bind("a", "p", lost)
			s.lease("b", 200)
			s.bind("b", "p", 201)
		}, "b", ""},
		{"a standby sends events and reads", func(s *writesStage) {
			s.lease("a", 200)
			s.bind("a", "p", 201)
			s.send("b", http.MethodPost, "/api/v1/namespaces/default/events", "", 201)
			s.send("b", http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", 201)
			s.send("b", http.MethodGet, "/api/v1/namespaces/default/pods/p", "", 200)
		}, "a", ""},
		{"a standby binds", func(s *writesStage) { s.lease("a", 200); s.lease("b", 409); s.bind("b", "p", 201) }, "a", `b sent POST /api/v1/namespaces/default/pods/p/binding while the leader was "a"`},
		{"a standby writes a claim", func(s *writesStage) {
			s.lease("a", 200)
			s.bind("a", "p", 201)
			s.send("b", http.MethodPatch, "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status", "", 200)
		}, "a", "b sent PATCH"},
		{"no replica leads", func(s *writesStage) { s.bind("a", "p", 201) }, "", `while the leader was ""`},
		{"the leader writes after the release", func(s *writesStage) {
			s.lease("a", 200)
			s.writes.lead("a", "")
			s.bind("a", "p", 201)
		}, "a", `while the leader was ""`},
		{"a write takes effect under another leader", func(s *writesStage) {
			s.lease("a", 200)
			s.writes.record("a", http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
				s.lease("b", 200)
				answer.WriteHeader(201)
			})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/default/pods/p/binding", nil))
		}, "a", `took effect when the leader was "b"`},
		{"the next leader binds again", func(s *writesStage) {
			s.lease("a", 200)
			s.bind("a", "p", 201)
			s.lease("b", 200)
			s.bind("b", "p", 409)
		}, "a", `bound by "a", and b sent another binding`},
		{"the next leader binds after a lost answer", func(s *writesStage) {
			s.lease("a", 200)
			s.bind("a", "p", lost)
			s.lease("b", 200)
			s.bind("b", "p", 409)
		}, "a", `bound by "a", and b sent another binding`},
		{"etcd names another leader", func(s *writesStage) { s.lease("b", 200); s.lease("a", 200); s.bind("a", "p", 201) }, "b", `was bound by a while the leader was "b"`},
		{"another scheduler binds", func(s *writesStage) { s.lease("a", 200) }, "a", "which sent no binding"},
	}
	for _, test := range tests {
		s := &writesStage{t, newWrites()}
		test.play(s)
		found := s.writes.check(map[string]string{"p": "host_" + test.holder})
		if test.want == "" && len(found) > 0 || test.want != "" && !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, test.want) }) {
			t.Errorf("%s: %q, want %q", test.name, found, test.want)
		}
	}
}

func TestMomentsHoldBindings(t *testing.T) {
	work := newPlainWorkload(20, 60)
	work.addDevices()
	work.addGangs()
	members := func(gang string) (pods []string) {
		for _, pod := range work.fitting {
			if gangOf(pod) == gang {
				pods = append(pods, pod.Name)
			}
		}
		return pods
	}
	held := func(m moment, pods ...string) (held []string) {
		for _, pod := range pods {
			if m.holds(pod) {
				held = append(held, pod)
			}
		}
		return held
	}
	for seed := range uint64(20) {
		// gang-2 has a member outside of these pods.
		pods := work.fitting[:52]
		m := newPartOfGang(pods, rand.New(rand.NewPCG(seed, 0))).(*partOfGang)
		if m.most < 1 || m.most >= gangSize || m.skip != 0 {
			t.Fatalf("seed %d: %d members are bound, %d gangs before", seed, m.most, m.skip)
		}
		first, other, split := members("gang-0"), members("gang-1"), members("gang-2")
		want := first[m.most:]
		if got := held(m, slices.Concat(split, first, []string{"pod-9"}, other)...); !slices.Equal(got, want) {
			t.Errorf("seed %d: held are %q, want %q", seed, got, want)
		}
		if got := held(m, first...); !slices.Equal(got, want) {
			t.Errorf("seed %d: held are %q when they are sent again, want %q", seed, got, want)
		}
	}
	second := newPartOfGang(work.fitting, rand.New(rand.NewPCG(0, 0))).(*partOfGang)
	second.skip, second.most = 1, 2
	if got := held(second, slices.Concat(members("gang-2"), members("gang-0"), members("gang-2"))...); !slices.Equal(got, members("gang-0")[2:]) {
		t.Errorf("held are %q", got)
	}
	m := &allocatedClaim{pods: map[string]bool{"x": true, "y": true, "z": true}, skip: 1}
	if got := held(m, "p", "x", "p", "y", "z", "y"); !slices.Equal(got, []string{"y", "y"}) {
		t.Errorf("held are %q", got)
	}
}

// A held binding ends with its connection, and is not forwarded.
func TestHeldBindingIsNotForwarded(t *testing.T) {
	w := newWrites()
	w.lead("a", "host_a")
	w.await(&allocatedClaim{pods: map[string]bool{"p": true}})
	forwarded := false
	server := httptest.NewServer(w.record("a", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { forwarded = true })))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/api/v1/namespaces/default/pods/p/binding", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(request); err == nil {
		t.Error("the binding was answered")
	}
	server.Close() // waits for the handler
	if found := w.check(nil); forwarded || len(w.bindings) > 0 || len(found) > 0 {
		t.Errorf("forwarded: %v, sent %v, violations %q", forwarded, w.bindings, found)
	}
}
