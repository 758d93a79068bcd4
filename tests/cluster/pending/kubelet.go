package main

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"berth.test/cluster/controlplane"
)

// kubelet is the part of a kubelet that forwards ports: every pod is in the network of this machine.
type kubelet struct {
	listener net.Listener
	server   *http.Server
}

func startKubelet(authority *controlplane.Authority) (*kubelet, error) {
	pair, err := authority.Sign(pkix.Name{CommonName: "kubelet"}, true)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, err
	}
	k := &kubelet{}
	if k.listener, err = tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}}); err != nil {
		return nil, err
	}
	k.server = &http.Server{Handler: http.HandlerFunc(forward)}
	go k.server.Serve(k.listener)
	return k, nil
}

func (k *kubelet) port() int { return k.listener.Addr().(*net.TCPAddr).Port }

func (k *kubelet) stop() { k.server.Close() }

// forward serves /portForward/NAMESPACE/POD: for each connection the client opens a stream for data and one for errors.
func forward(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardV1Name}); err != nil {
		return
	}
	errorStreams := sync.Map{} // by request ID
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replySent <-chan struct{}) error {
		request := stream.Headers().Get(v1.PortForwardRequestIDHeader)
		if stream.Headers().Get(v1.StreamType) == v1.StreamTypeError {
			errorStreams.Store(request, stream)
			return nil
		}
		go func() {
			<-replySent
			err := connect(stream, stream.Headers().Get(v1.PortHeader))
			if reports, found := errorStreams.LoadAndDelete(request); found {
				if err != nil {
					fmt.Fprint(reports.(httpstream.Stream), err)
				}
				reports.(httpstream.Stream).Close()
			}
			stream.Reset()
		}()
		return nil
	})
	if connection != nil {
		<-connection.CloseChan()
	}
}

// connect copies between a stream and a port of this machine until one side closes.
func connect(stream io.ReadWriter, port string) error {
	target, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	defer target.Close()
	done := make(chan struct{}, 2)
	for _, ends := range [][2]io.ReadWriter{{stream, target}, {target, stream}} {
		go func() {
			io.Copy(ends[0], ends[1])
			done <- struct{}{}
		}()
	}
	<-done
	return nil
}
