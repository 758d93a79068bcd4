package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// HTTPSProxy terminates TLS in front of the API server, so that tests can intercept requests. Clients must
// use tokens.
type HTTPSProxy struct {
	URL    string
	server *http.Server
}

// StartHTTPSProxy starts a proxy; wrap gets the handler that forwards requests.
func StartHTTPSProxy(control *ControlPlane, wrap func(next http.Handler) http.Handler) (*HTTPSProxy, error) {
	listener, forward, err := control.Impersonate()
	if err != nil {
		return nil, err
	}
	p := &HTTPSProxy{URL: "https://" + listener.Addr().String(), server: &http.Server{Handler: wrap(forward), ErrorLog: forward.ErrorLog}}
	go p.server.Serve(listener)
	return p, nil
}

// Impersonate listens with a certificate of the API server. The returned proxy forwards requests to the real
// one, and breaks the connection on errors.
func (c *ControlPlane) Impersonate() (net.Listener, *httputil.ReverseProxy, error) {
	certificate, err := tls.LoadX509KeyPair(c.File("apiserver.crt"), c.File("apiserver.key"))
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Authority.PEM)
	target, err := url.Parse(c.URL)
	if err != nil {
		return nil, nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true, MaxIdleConnsPerHost: 100}
	forward.FlushInterval = -1
	forward.ErrorLog = log.New(io.Discard, "", 0)
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}})
	return listener, forward, err
}

// Stop closes all connections.
func (p *HTTPSProxy) Stop() { p.server.Close() }

// LoseAnswer forwards a request and breaks the connection instead of answering.
func LoseAnswer(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&discardResponse{make(http.Header)}, r)
	panic(http.ErrAbortHandler)
}

// discardResponse is a response writer that discards the response.
type discardResponse struct{ header http.Header }

func (n *discardResponse) Header() http.Header            { return n.header }
func (n *discardResponse) Write(text []byte) (int, error) { return len(text), nil }
func (n *discardResponse) WriteHeader(int)                {}

// RefuseStreamedList answers a streamed list as servers before 1.32 do, and returns whether the request was one. The
// client then sends an ordinary list.
func RefuseStreamedList(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Query().Get("sendInitialEvents") == "" {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	fmt.Fprintln(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","reason":"Invalid","code":422}`)
	return true
}
