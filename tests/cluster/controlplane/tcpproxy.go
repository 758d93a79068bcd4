package controlplane

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// TCPProxy forwards bytes to the API server, and can cut connections.
type TCPProxy struct {
	listener net.Listener
	target   string

	mutex   sync.Mutex
	open    []net.Conn
	blocked bool
	hanging bool
	cuts    int
}

// StartTCPProxy starts a proxy of the server at host:port on a free port.
func StartTCPProxy(target string) (*TCPProxy, error) {
	return StartTCPProxyAt("127.0.0.1:0", target)
}

// StartTCPProxyAt is StartTCPProxy at this host:port.
func StartTCPProxyAt(address, target string) (*TCPProxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &TCPProxy{listener: listener, target: target}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.carry(client)
		}
	}()
	return p, nil
}

// URL is the address of the API server through the proxy.
func (p *TCPProxy) URL() string { return "https://" + p.listener.Addr().String() }

// Stop accepts no further connections.
func (p *TCPProxy) Stop() { p.listener.Close() }

func (p *TCPProxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	p.mutex.Lock()
	if p.blocked {
		p.mutex.Unlock()
		return
	}
	p.open = append(p.open, client)
	p.mutex.Unlock()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := way[0].Read(buffer)
				for p.hangs() {
					time.Sleep(10 * time.Millisecond)
				}
				if n > 0 {
					if _, err := way[1].Write(buffer[:n]); err != nil {
						break
					}
				}
				if err != nil {
					break
				}
			}
			done <- struct{}{}
		}()
	}
	<-done
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for i, open := range p.open {
		if open == client {
			p.open = append(p.open[:i], p.open[i+1:]...)
			break
		}
	}
}

// usual is the usual number of connections of a scheduler.
const usual = 20

// Cut resets a random connection in the middle of its data. The probability per connection is independent of
// their number: otherwise a long list that runs alone, while the watches wait for their retry, would be hit
// by every cut and never end.
func (p *TCPProxy) Cut(random *rand.Rand) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	drawn := random.IntN(max(usual, len(p.open)))
	if drawn >= len(p.open) {
		return
	}
	p.cuts++
	reset(p.open[drawn])
}

// Block resets all connections and rejects new ones until it is lifted.
func (p *TCPProxy) Block(blocked bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.blocked = blocked
	if blocked {
		for _, connection := range p.open {
			reset(connection)
		}
	}
}

// Cuts is the number of connections that Cut has reset.
func (p *TCPProxy) Cuts() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.cuts
}

// Hang keeps connections open without forwarding data, like a network that drops packets.
func (p *TCPProxy) Hang(hang bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.hanging = hang
}

func (p *TCPProxy) hangs() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.hanging
}

func reset(connection net.Conn) {
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	connection.Close()
}
