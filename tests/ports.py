"""Free TCP ports for servers that a test starts."""
import random
import socket

_reserved = []


def free_port():
    """A free port that this process keeps to itself. It lies below the ephemeral range: some time passes before it is
    used, and an outgoing connection must not get it meanwhile."""
    for _ in range(100):
        port = random.randrange(20000, 32000)
        # Reserved until the process ends; cluster/controlplane/ports.go uses the same names.
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0berth-test-port-{port}")
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        _reserved.append(reservation)
        return port
    raise OSError("found no free port between 20000 and 32000")
