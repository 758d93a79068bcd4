package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"berth.test/cluster/controlplane"
)

// fault is a failure between a scheduler and its API server.
type fault int

const (
	none      fault = iota
	hanging         // no responses, no forwarding
	resetting       // connections are reset in the middle of a response
	throttling
	failing
	garbage // responses are not JSON
	halving // responses end in the middle of a document
	reorder // events of a watch are reordered
)

// faultProxy terminates TLS and speaks HTTP in both directions, so that it can change the data.
type faultProxy struct {
	server *http.Server
	url    string
	mutex  sync.Mutex
	fault  fault
	change chan struct{} // closed when the fault changes
	open   map[net.Conn]bool
}

func startFaultProxy(control *controlplane.ControlPlane) (*faultProxy, error) {
	listener, forward, err := control.Impersonate()
	if err != nil {
		return nil, err
	}
	p := &faultProxy{url: "https://" + listener.Addr().String(), change: make(chan struct{}), open: make(map[net.Conn]bool)}
	forward.ModifyResponse = p.corrupt
	p.server = &http.Server{Handler: p.refuse(forward), ConnState: p.record, ErrorLog: forward.ErrorLog}
	go p.server.Serve(listener)
	return p, nil
}

func (p *faultProxy) stop() { p.server.Close() }

func (p *faultProxy) now() (fault, chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.fault, p.change
}

// set starts a fault, or ends it with none. It closes all connections so that the fault takes effect; only a
// hanging server leaves them open.
func (p *faultProxy) set(f fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	before := p.fault
	p.fault = f
	close(p.change)
	p.change = make(chan struct{})
	if f == hanging || before == hanging {
		return
	}
	for connection := range p.open {
		connection.Close()
	}
}

func (p *faultProxy) record(connection net.Conn, state http.ConnState) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(p.open, connection)
	} else {
		p.open[connection] = true
	}
}

// refuse responds itself if the fault needs no API server.
func (p *faultProxy) refuse(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, change := p.now()
		switch f {
		case hanging:
			select {
			case <-change:
			case <-r.Context().Done():
				return
			}
		case throttling:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		case failing:
			http.Error(w, "something broke", http.StatusInternalServerError)
			return
		case garbage:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "\x00\xff<html>not what you asked for</html>\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// spoil changes the API server's response.
func (p *faultProxy) corrupt(response *http.Response) error {
	f, change := p.now()
	watch := strings.Contains(response.Request.URL.RawQuery, "watch=true")
	body := response.Body
	switch {
	case f == reorder && watch:
		framed := strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeProtobuf)
		response.Body = &swapPairs{events: bufio.NewReader(body), framed: framed, closer: body}
	case f == halving && response.Request.Method == http.MethodGet:
		response.Body = &cutOff{body, 1000, false}
		response.Header.Del("Content-Length")
		response.ContentLength = -1
	case f == resetting:
		response.Body = &cutOff{body, 500, true}
	case watch:
		response.Body = &stoppable{body, p, change}
	}
	return nil
}

// cutOff ends a body after some bytes, regularly or by breaking the connection.
type cutOff struct {
	io.ReadCloser
	left   int
	broken bool
}

func (c *cutOff) Read(buffer []byte) (int, error) {
	if c.left == 0 {
		if c.broken {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	n, err := c.ReadCloser.Read(buffer[:min(len(buffer), c.left)])
	c.left -= n
	return n, err
}

// stoppable blocks while the server hangs.
type stoppable struct {
	io.ReadCloser
	proxy  *faultProxy
	change chan struct{}
}

func (s *stoppable) Read(buffer []byte) (int, error) {
	n, err := s.ReadCloser.Read(buffer)
	for {
		f, change := s.proxy.now()
		if f != hanging {
			return n, err
		}
		<-change
	}
}

// swapped exchanges each second event of a watch with its successor.
type swapPairs struct {
	events  *bufio.Reader
	framed  bool // protobuf: each event has a length prefix of four bytes
	closer  io.Closer
	pending bytes.Buffer
}

func (s *swapPairs) Read(buffer []byte) (int, error) {
	if s.pending.Len() == 0 {
		first, err := s.next()
		if err != nil {
			return 0, err
		}
		// The beginning of an event: its type, the first field of the message.
		modified := `{"type":"MODIFIED"`
		if s.framed {
			modified = "\x0a\x08MODIFIED"
		}
		if bytes.HasPrefix(first[s.lengthBytes():], []byte(modified)) {
			second, err := s.next()
			if err != nil {
				return 0, err
			}
			s.pending.Write(second)
		}
		s.pending.Write(first)
	}
	return s.pending.Read(buffer)
}

func (s *swapPairs) lengthBytes() int {
	if s.framed {
		return 4
	}
	return 0
}

// next returns one event with its length prefix or line end.
func (s *swapPairs) next() ([]byte, error) {
	if !s.framed {
		return s.events.ReadBytes('\n')
	}
	length, err := s.events.Peek(s.lengthBytes())
	if err != nil {
		return nil, err
	}
	event := make([]byte, s.lengthBytes()+int(binary.BigEndian.Uint32(length)))
	_, err = io.ReadFull(s.events, event)
	return event, err
}

func (s *swapPairs) Close() error { return s.closer.Close() }

const stepTimeout = 90 * time.Second
