package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// HTTPSProxy reads the requests to the API server, which have to come in by a token, and can step in.
type HTTPSProxy struct {
	URL    string
	server *http.Server
}

// StartHTTPSProxy starts one; wrap is given what carries a request on.
func StartHTTPSProxy(control *ControlPlane, wrap func(next http.Handler) http.Handler) (*HTTPSProxy, error) {
	listener, forward, err := control.Impersonate()
	if err != nil {
		return nil, err
	}
	p := &HTTPSProxy{URL: "https://" + listener.Addr().String(), server: &http.Server{Handler: wrap(forward), ErrorLog: forward.ErrorLog}}
	go p.server.Serve(listener)
	return p, nil
}

// Impersonate listens in the API server's name; what it returns besides carries requests on to the real one, and breaks
// the connection where that fails.
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

// LoseAnswer carries a request on and breaks the connection instead of answering.
func LoseAnswer(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&nobody{make(http.Header)}, r)
	panic(http.ErrAbortHandler)
}

// nobody takes an answer and throws it away.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header            { return n.header }
func (n *nobody) Write(text []byte) (int, error) { return len(text), nil }
func (n *nobody) WriteHeader(int)                {}
