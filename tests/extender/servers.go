package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"
)

// reply writes the response of an extender. `names` are the nodes of the request, sorted.
type reply func(w http.ResponseWriter, r *http.Request, names []string)

// servers are the extenders of one case.
type servers struct {
	all      []*httptest.Server
	requests requestLog
	replaced []string
	material *material // nil: httptest's own certificate
}

func (s *servers) close() {
	for _, server := range s.all {
		server.CloseClientConnections()
		server.Close()
	}
}

func (s *servers) listen()                 { s.requests.take() }
func (s *servers) requestsSoFar() []string { return s.requests.take() }

// add starts an extender and returns its URL. A GET is the target of a redirect.
func (s *servers) add(how reply, tls bool) string { return s.addSecure(how, tls, false) }

// addSecure starts one with a certificate of the material, if there is any.
func (s *servers) addSecure(how reply, tls, mutual bool) string {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		names, shown := normalized(body)
		s.requests.add(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), shown))
		how(w, r, names)
	})
	server := httptest.NewUnstartedServer(handler)
	if tls && s.material != nil {
		s.material.start(server, mutual)
	} else if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	s.all = append(s.all, server)
	s.replaced = append(s.replaced, fmt.Sprintf("URL%d", len(s.all)-1), server.URL)
	return server.URL
}

// fill replaces URL0, URL1, ...
func (s *servers) fill(text string) string { return strings.NewReplacer(s.replaced...).Replace(text) }

// normalized returns the names of the nodes, and the body in an order that does not depend on the order in which nodes
// are visited.
func normalized(body []byte) (names []string, shown string) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(body, &parts) != nil {
		return nil, string(body)
	}
	if json.Unmarshal(parts["NodeNames"], &names) == nil && names != nil {
		slices.Sort(names)
		sorted, _ := json.Marshal(names)
		return names, strings.Replace(string(body), string(parts["NodeNames"]), string(sorted), 1)
	}
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if json.Unmarshal(parts["Nodes"], &list) == nil {
		for _, node := range list.Items {
			names = append(names, node.Metadata.Name)
		}
		slices.Sort(names)
		if len(names) > 0 {
			return names, string(body)
		}
	}
	return names, string(body)
}

// withBody replies with a text.
func withBody(text string) reply { return withStatus(http.StatusOK, text) }

func withStatus(status int, text string) reply {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// passes accepts the nodes for which keep is true; `key` is the key of the names in the reply.
func passes(key string, keep func(string) bool) reply {
	return func(w http.ResponseWriter, _ *http.Request, names []string) {
		left := []string{}
		for _, name := range names {
			if keep(name) {
				left = append(left, name)
			}
		}
		text, _ := json.Marshal(left)
		_, _ = fmt.Fprintf(w, `{"%s":%s}`, key, text)
	}
}

func all(string) bool { return true }

func but(name string) func(string) bool { return func(n string) bool { return n != name } }

// chunked sends every byte in its own chunk.
func chunked(text string) reply {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) {
		for _, c := range text {
			_, _ = io.WriteString(w, string(c))
			w.(http.Flusher).Flush()
		}
	}
}

// late delays the reply.
func late(after time.Duration, then reply) reply {
	return func(w http.ResponseWriter, r *http.Request, names []string) {
		time.Sleep(after)
		then(w, r, names)
	}
}

// hangs sends nothing until the client disconnects.
func hangs(_ http.ResponseWriter, r *http.Request, _ []string) { <-r.Context().Done() }

// hangsAfter sends the beginning of a reply, then nothing.
func hangsAfter(text string) reply {
	return func(w http.ResponseWriter, r *http.Request, _ []string) {
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// raw sends these bytes and closes the connection.
func raw(text string) reply {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(connection, text)
		if tcp, ok := connection.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_ = connection.Close()
	}
}

// redirects redirects to a path, which sends another reply.
func redirects(status int, path string, then reply) reply {
	return func(w http.ResponseWriter, r *http.Request, names []string) {
		if r.URL.Path == path && status != 0 {
			then(w, r, names)
			return
		}
		w.Header().Set("Location", path)
		w.WriteHeader(status)
	}
}

// byVerb has a reply for each verb.
func byVerb(verbs map[string]reply) reply {
	return func(w http.ResponseWriter, r *http.Request, names []string) {
		verb := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if how, ok := verbs[verb]; ok {
			how(w, r, names)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}
}
