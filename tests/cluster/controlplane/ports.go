package controlplane

import (
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"sync"
)

// FreePorts finds free ports that this process keeps to itself. They lie below the ephemeral range: some time passes
// before they are used, and an outgoing connection must not get one of them meanwhile.
func FreePorts(count int) (ports []int, err error) {
	const lowest, highest, attempts = 20000, 32000, 100
	for range attempts {
		port := lowest + mathrand.IntN(highest-lowest)
		if failed := reserve(port); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		if ports = append(ports, port); len(ports) == count {
			return ports, nil
		}
	}
	return nil, err
}

// reserved are the sockets that stand for the ports of this process, until it ends.
var (
	reserved      []net.Listener
	reservedMutex sync.Mutex
)

// reserve fails for a port that is in use, or that a test of this machine has reserved and does not use yet. A
// reservation is a socket in Linux' abstract namespace, which tests/ports.py uses as well.
func reserve(port int) error {
	reservation, err := net.Listen("unix", fmt.Sprintf("@berth-test-port-%d", port))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return errors.Join(err, reservation.Close())
	}
	reservedMutex.Lock()
	reserved = append(reserved, reservation)
	reservedMutex.Unlock()
	return listener.Close()
}
