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

// answer is how an extender answers. `names` are the nodes it was shown, sorted.
type answer func(w http.ResponseWriter, r *http.Request, names []string)

// servers are the extenders of one case.
type servers struct {
	all      []*httptest.Server
	asked    questions
	replaced []string
	material *material // nil: httptest's own certificate
}

func (s *servers) close() {
	for _, server := range s.all {
		server.CloseClientConnections()
		server.Close()
	}
}

func (s *servers) listen()         { s.asked.take() }
func (s *servers) heard() []string { return s.asked.take() }

// add starts an extender and returns its URL. Requests by GET have been redirected.
func (s *servers) add(how answer, tls bool) string { return s.addSecure(how, tls, false) }

// addSecure starts one that shows a certificate of the material's, if there is any.
func (s *servers) addSecure(how answer, tls, mutual bool) string {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		names, shown := understood(body)
		s.asked.add(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), shown))
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

// fill puts the URLs in the place of URL0, URL1, ...
func (s *servers) fill(text string) string { return strings.NewReplacer(s.replaced...).Replace(text) }

// understood finds the names of the nodes, and brings the body into an order that does not depend on the order
// in which nodes are visited.
func understood(body []byte) (names []string, shown string) {
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

// says answers with a text.
func says(text string) answer { return saysWith(http.StatusOK, text) }

func saysWith(status int, text string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// passes lets through the nodes for which keep is true, and calls the key of the names `key`.
func passes(key string, keep func(string) bool) answer {
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

// chunked sends every byte by itself.
func chunked(text string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) {
		for _, c := range text {
			_, _ = io.WriteString(w, string(c))
			w.(http.Flusher).Flush()
		}
	}
}

// late answers after a while.
func late(after time.Duration, then answer) answer {
	return func(w http.ResponseWriter, r *http.Request, names []string) {
		time.Sleep(after)
		then(w, r, names)
	}
}

// hangs says nothing as long as anybody listens.
func hangs(_ http.ResponseWriter, r *http.Request, _ []string) { <-r.Context().Done() }

// hangsAfter sends the beginning of an answer.
func hangsAfter(text string) answer {
	return func(w http.ResponseWriter, r *http.Request, _ []string) {
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// raw sends these bytes and hangs up.
func raw(text string) answer {
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

// redirects to a path; who comes there is answered otherwise.
func redirects(status int, path string, then answer) answer {
	return func(w http.ResponseWriter, r *http.Request, names []string) {
		if r.URL.Path == path && status != 0 {
			then(w, r, names)
			return
		}
		w.Header().Set("Location", path)
		w.WriteHeader(status)
	}
}

// byVerb answers each verb in its own way.
func byVerb(verbs map[string]answer) answer {
	return func(w http.ResponseWriter, r *http.Request, names []string) {
		verb := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if how, ok := verbs[verb]; ok {
			how(w, r, names)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}
}
