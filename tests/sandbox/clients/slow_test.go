package clients

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (c *cluster) dial(t *testing.T) net.Conn {
	t.Helper()
	connection := must[net.Conn](t)(net.Dial("tcp", strings.TrimPrefix(c.config.Host, "http://")))
	t.Cleanup(func() { connection.Close() })
	return connection
}

// residentMiB is the resident memory of the sandbox.
func (c *cluster) residentMiB(t *testing.T) int {
	t.Helper()
	status := string(must[[]byte](t)(os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Pid))))
	_, rest, _ := strings.Cut(status, "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}

// Requests that arrive slowly are served.
func TestSlowRequests(t *testing.T) {
	c := start(t, "--nodes=0")
	const body = `{"metadata":{"name":"slow"}}`
	request := fmt.Sprintf("POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	connection := c.dial(t)
	for i := range len(request) {
		if _, err := connection.Write([]byte{request[i]}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	response := must[*http.Response](t)(http.ReadResponse(bufio.NewReader(connection), nil))
	if response.StatusCode != http.StatusCreated {
		t.Errorf("%s", response.Status)
	}
}

func TestLimits(t *testing.T) {
	c := start(t, "--nodes=0")
	post := func(body io.Reader, header map[string]string) *http.Response {
		request := must[*http.Request](t)(http.NewRequest("POST", c.config.Host+"/api/v1/namespaces/default/configmaps", body))
		request.Header.Set("Content-Type", "application/json")
		for name, value := range header {
			request.Header.Set(name, value)
		}
		return must[*http.Response](t)(http.DefaultClient.Do(request))
	}
	large := post(strings.NewReader(strings.Repeat("x", 4<<20)), nil)
	text, _ := io.ReadAll(large.Body)
	if large.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "Request entity too large: limit is 3145728") {
		t.Errorf("a large body: %s %s", large.Status, text)
	}
	if got := post(strings.NewReader("{}"), map[string]string{"X-Large": strings.Repeat("x", 100<<10)}); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %s", got.Status)
	}
}

// Watchers that do not read are disconnected once their backlog is too large; the server's memory stays bounded and
// other clients are served.
func TestWatchersThatDoNotRead(t *testing.T) {
	c := start(t, "--nodes=0", "--watch-window=100")
	ctx := context.Background()
	const stuck = 20
	var connections []net.Conn
	for range stuck {
		connection := c.dial(t)
		fmt.Fprint(connection, "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n")
		connections = append(connections, connection)
	}
	maps := c.client.CoreV1().ConfigMaps("default")
	must[*corev1.ConfigMap](t)(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "big"}}, metav1.CreateOptions{}))
	filler := strings.Repeat("x", 512<<10)
	most := 0
	for i := range 200 { // 100 MiB for each of them
		patch := fmt.Sprintf(`{"data":{"filler":"%d %s"}}`, i, filler)
		must[*corev1.ConfigMap](t)(maps.Patch(ctx, "big", types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
		most = max(most, c.residentMiB(t))
	}
	t.Logf("at most %d MiB resident with %d watchers that do not read", most, stuck)
	if most > 400 {
		t.Errorf("%d MiB resident", most)
	}
	for i, connection := range connections {
		_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
		received, err := io.Copy(io.Discard, connection)
		if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
			t.Errorf("watcher %d is still connected after %d bytes", i, received)
		}
	}
	if _, err := maps.Get(ctx, "big", metav1.GetOptions{}); err != nil {
		t.Errorf("the server afterwards: %v", err)
	}
}
