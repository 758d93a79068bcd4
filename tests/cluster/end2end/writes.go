package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"berth.test/cluster/controlplane"
)

// writes records the writes of replicas with leader election, which have a proxy each, and checks that only the leader
// writes. A replica is the leader from the API server's acceptance of its Lease until that of another one's.
// Events, Leases and reviews are not writes: a replica that stands by may send them.
type writes struct {
	mutex    sync.Mutex
	leader   string            // a replica's name; empty if there is none
	replicas map[string]string // names by identity
	bindings map[string][]binding
	// moment is the next one at which the leader is killed.
	moment moment
	broken []string
}

// binding is a request that was forwarded to the API server, and the code of the answer. Without an answer (unanswered) or
// with a server error the pod may be bound.
type binding struct {
	replica string
	code    int
}

const unanswered = 0

func (b binding) accepted() bool  { return b.code/100 == 2 }
func (b binding) uncertain() bool { return b.code == unanswered || b.code >= 500 }

// moment is a time at which the leader is killed. It holds bindings back, so that the state of the cluster does not pass
// by unnoticed. Calls are serialized.
type moment interface {
	// holds returns whether a binding is not forwarded. Its connection then stays open until its sender closes it.
	holds(pod string) bool
	// reached returns whether the state is reached, and its description.
	reached(*reader) (bool, string)
}

// never is the moment that holds no binding and is never reached.
type never struct{}

func (never) holds(string) bool              { return false }
func (never) reached(*reader) (bool, string) { return false, "" }

func newWrites() *writes {
	return &writes{replicas: make(map[string]string), bindings: make(map[string][]binding), moment: never{}}
}

// record is the handler for the requests of one replica. next forwards them.
func (w *writes) record(replica string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		switch kind := resourceOf(r.URL.Path); {
		case r.Method == http.MethodGet || kind == "events" || kind == "":
			next.ServeHTTP(answer, r)
		case kind == "leases":
			w.recordLease(replica, answer, r, next)
		default:
			w.recordWrite(replica, answer, r, next)
		}
	})
}

// resourceOf returns the plural of a path's resource, empty if it has no namespace.
func resourceOf(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	_, rest, _ = strings.Cut(rest, "/")
	kind, _, _ := strings.Cut(rest, "/")
	return kind
}

func (w *writes) recordLease(replica string, answer http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), body)
	lease, ok := object.(*coordinationv1.Lease)
	if err != nil || !ok || lease.Spec.HolderIdentity == nil {
		w.addError("%s wrote a lease that the test cannot read: %v", replica, err)
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(&observed{answer, func(code int) {
		if code/100 == 2 {
			w.lead(replica, *lease.Spec.HolderIdentity)
		}
	}}, r)
}

// lead records an accepted Lease. Without an identity the replica has released it.
func (w *writes) lead(replica, identity string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if identity == "" {
		w.leader = ""
		return
	}
	w.leader, w.replicas[identity] = replica, replica
}

func (w *writes) leading() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.leader
}

func (w *writes) addError(format string, args ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (w *writes) recordWrite(replica string, answer http.ResponseWriter, r *http.Request, next http.Handler) {
	what := r.Method + " " + r.URL.Path
	if leader := w.leading(); leader != replica {
		w.addError("%s sent %s while the leader was %q", replica, what, leader)
	}
	pod, binds := boundBy(r.URL.Path)
	if binds && w.holds(pod) {
		// The server notices the end of a connection after it has read the body.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	code := unanswered
	defer func() {
		if binds && code == unanswered {
			w.bind(pod, binding{replica, code})
		}
	}()
	next.ServeHTTP(&observed{answer, func(answered int) {
		code = answered
		if leader := w.leading(); leader != replica && answered/100 == 2 {
			w.addError("%s of %s took effect when the leader was %q", what, replica, leader)
		}
		if binds {
			w.bind(pod, binding{replica, code})
		}
	}}, r)
}

// boundBy returns the pod whose binding is created at a path.
func boundBy(path string) (pod string, ok bool) {
	_, rest, _ := strings.Cut(path, "/pods/")
	return strings.CutSuffix(rest, "/binding")
}

func (w *writes) holds(pod string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.moment.holds(pod)
}

func (w *writes) bind(pod string, b binding) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.bindings[pod] = append(w.bindings[pod], b)
}

// await makes a moment the next one.
func (w *writes) await(m moment) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.moment = m
}

func (w *writes) reached(r *reader) (bool, string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.moment.reached(r)
}

// check returns all violations. holders are the holders of the Lease by bound pod, at the revision of its binding.
func (w *writes) check(holders map[string]string) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	violations := slices.Clone(w.broken)
	for _, pod := range slices.Sorted(maps.Keys(holders)) {
		violations = append(violations, checkWriters(pod, w.replicas[holders[pod]], w.bindings[pod])...)
	}
	return violations
}

// checkWriters checks that the leader bound the pod, and that no other replica sent a binding when the pod was bound.
func checkWriters(pod, leader string, sent []binding) (violations []string) {
	written := false
	for _, b := range sent {
		switch {
		case b.replica == leader:
			written = written || b.accepted() || b.uncertain()
		case b.accepted():
			violations = append(violations, fmt.Sprintf("pod %s was bound by %s while the leader was %q", pod, b.replica, leader))
		case b.code == http.StatusConflict:
			violations = append(violations, fmt.Sprintf("pod %s was bound by %q, and %s sent another binding", pod, leader, b.replica))
		}
	}
	if !written {
		violations = append(violations, fmt.Sprintf("pod %s was bound while the leader was %q, which sent no binding", pod, leader))
	}
	return violations
}

// observed is a response writer that reports the code before the client receives it.
type observed struct {
	http.ResponseWriter
	report func(code int)
}

func (o *observed) WriteHeader(code int) {
	o.report(code)
	o.ResponseWriter.WriteHeader(code)
}

// Unwrap lets net/http flush.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// startRecorder starts the proxy of a replica.
func (w *writes) startRecorder(control *controlplane.ControlPlane, replica string) (*controlplane.HTTPSProxy, error) {
	return controlplane.StartHTTPSProxy(control, func(next http.Handler) http.Handler { return w.record(replica, next) })
}
