package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"

	"berth.test/cluster/controlplane"
)

// proxy is between the scheduler and its API server. It counts the scheduler's writes, and a scenario can
// intercept a request.
type proxy struct {
	server *controlplane.HTTPSProxy

	mutex    sync.Mutex
	requests map[string]map[string]int // namespace, kind of request: number
	last     time.Time                 // of the last write
	hooks    []*hook
}

// hook intercepts one request by the suffix of its path.
type hook struct {
	suffix string
	handle func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

func startProxy(control *controlplane.ControlPlane) (p *proxy, err error) {
	p = &proxy{requests: make(map[string]map[string]int)}
	p.server, err = controlplane.StartHTTPSProxy(control, p.count)
	return p, err
}

func (p *proxy) stop() { p.server.Stop() }

func (p *proxy) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		if h := p.note(r); h != nil {
			h.handle(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// note counts a request and returns its hook, if any.
func (p *proxy) note(r *http.Request) *hook {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.last = time.Now()
	if _, rest, namespaced := strings.Cut(r.URL.Path, "/namespaces/"); namespaced {
		namespace, rest, _ := strings.Cut(rest, "/")
		if p.requests[namespace] == nil {
			p.requests[namespace] = make(map[string]int)
		}
		p.requests[namespace][kindOf(r.Method, rest)]++
	}
	for i, h := range p.hooks {
		if strings.HasSuffix(r.URL.Path, h.suffix) {
			p.hooks = append(p.hooks[:i:i], p.hooks[i+1:]...)
			return h
		}
	}
	return nil
}

// kindOf names the purpose of a request; rest is the path after the namespace.
func kindOf(method, rest string) string {
	switch {
	case (method == http.MethodPut || method == http.MethodPatch) && strings.HasPrefix(rest, "resourceclaims/"):
		// kube-scheduler updates the whole object, Berth patches what changes.
		if strings.HasSuffix(rest, "/status") {
			return "status changes of resource claims"
		}
		return "changes of resource claims"
	case method == http.MethodPost && strings.HasSuffix(rest, "/binding"):
		return "bindings"
	case method == http.MethodPatch && strings.HasSuffix(rest, "/status"):
		return "status patches"
	case method == http.MethodPost && rest == "events":
		return "events"
	case method == http.MethodPatch && strings.HasPrefix(rest, "events/"):
		return "event patches"
	case (method == http.MethodPut || method == http.MethodPatch) && strings.HasPrefix(rest, "persistentvolumeclaims/"):
		// kube-scheduler updates the whole claim, Berth patches the annotation.
		return "changes of claims"
	}
	return method + " " + rest
}

// written is the number of requests per kind in a namespace.
func (p *proxy) written(namespace string) map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	numbers := make(map[string]int)
	for kind, number := range p.requests[namespace] {
		numbers[kind] = number
	}
	return numbers
}

// silentFor is the time since the scheduler's last write.
func (p *proxy) silentFor() time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return time.Since(p.last)
}

// once passes the next request with this path suffix to the handler.
func (p *proxy) once(suffix string, handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.hooks = append(p.hooks, &hook{suffix, handle})
}

// forget removes unused hooks and returns their number.
func (p *proxy) forget() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	unused := len(p.hooks)
	p.hooks = nil
	return unused
}

// carryAfter runs a step before it forwards the request.
func carryAfter(do func()) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return after(do, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) })
}

// after runs a step before it handles the request. A failing step must not end the server's goroutine: then
// the scheduler gets no response, which the outcome shows.
func after(do func(), handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if err := controlplane.Played(do); err != nil {
			log.Printf("scenarios: before %s: %v", r.URL.Path, err)
			panic(http.ErrAbortHandler)
		}
		handle(w, r, next)
	}
}

// containing passes the first of these requests whose body contains the text to the handler, and forwards the
// others.
func (p *proxy) containing(suffix, text string, handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	p.once(suffix, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(text)) {
			handle(w, r, next)
			return
		}
		p.containing(suffix, text, handle)
		next.ServeHTTP(w, r)
	})
}

// answering responds with an error of the API server.
func answering(code int, reason, message string) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`+"\n", message, reason, code)
	}
}
