package main

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"berth.test/cluster/controlplane"
)

// Certificates of extenders and schedulers.
type material struct {
	directory    string
	roots        *x509.CertPool
	server       tls.Certificate
	substituting []string
}

// newMaterial creates an authority with a server's and a client's certificate, and a second authority that is not
// trusted.
func newMaterial(directory string) (*material, error) {
	m := &material{directory: directory, roots: x509.NewCertPool()}
	for _, name := range []string{"ca", "other"} {
		authority, err := controlplane.NewAuthority()
		if err != nil {
			return nil, err
		}
		if err := m.write(name+".crt", authority.PEM); err != nil {
			return nil, err
		}
		client, err := authority.Sign(pkix.Name{CommonName: "scheduler"}, false)
		if err != nil {
			return nil, err
		}
		if err := client.Write(directory, name+"-client"); err != nil {
			return nil, err
		}
		if name == "other" {
			continue
		}
		m.roots.AppendCertsFromPEM(authority.PEM)
		server, err := authority.Sign(pkix.Name{CommonName: "extender"}, true)
		if err != nil {
			return nil, err
		}
		if m.server, err = tls.X509KeyPair(server.Certificate, server.Key); err != nil {
			return nil, err
		}
		m.substituting = append(m.substituting, "$CADATA", base64.StdEncoding.EncodeToString(authority.PEM),
			"$CERTDATA", base64.StdEncoding.EncodeToString(client.Certificate), "$KEYDATA", base64.StdEncoding.EncodeToString(client.Key))
	}
	m.substituting = append(m.substituting, "$CA", m.file("ca.crt"), "$OTHER", m.file("other.crt"), "$CERT", m.file("ca-client.crt"), "$KEY", m.file("ca-client.key"),
		"$STRANGECERT", m.file("other-client.crt"), "$STRANGEKEY", m.file("other-client.key"))
	return m, nil
}

func (m *material) file(name string) string { return filepath.Join(m.directory, name) }

func (m *material) write(name string, text []byte) error {
	return os.WriteFile(m.file(name), text, 0o600)
}

// start serves TLS with a certificate of the authority; a mutual server requires a client certificate.
func (m *material) start(server *httptest.Server, mutual bool) {
	server.TLS = &tls.Config{Certificates: []tls.Certificate{m.server}}
	if mutual {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, m.roots
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
}

// secureCases use valid and invalid certificates.
func secureCases() []testCase {
	records := withBody(`{"NodeNames":["a","b"]}`)
	// commonName replies with the client's name as seen by the extender's handler.
	commonName := func(w http.ResponseWriter, r *http.Request, names []string) {
		if len(r.TLS.PeerCertificates) == 0 {
			withBody(`{"Error":"no certificate"}`)(w, r, names)
			return
		}
		withBody(`{"Error":"hello `+r.TLS.PeerCertificates[0].Subject.CommonName+`"}`)(w, r, names)
	}
	secure := func(name, members string, how reply, mutual bool, expect string) testCase {
		return testCase{name: name, extenders: []extender{{members: filter + ", " + members, how: how, tls: true, mutual: mutual}}, expect: expect}
	}
	scheduled, unknown := `"result":"scheduled"`, "x509: certificate signed by unknown authority"
	wrongName := secure("a name that it does not have", `enableHTTPS: true, tlsConfig: {caFile: "$CA", serverName: elsewhere}`, records, false, "x509: certificate is valid for localhost, not elsewhere")
	wrongName.own = "x509: certificate is not valid for the name"
	return []testCase{
		wrongName,
		secure("authority by file", `enableHTTPS: true, tlsConfig: {caFile: "$CA"}`, records, false, scheduled),
		secure("authority by data", `enableHTTPS: true, tlsConfig: {caData: "$CADATA"}`, records, false, scheduled),
		secure("data wins over a file", `enableHTTPS: true, tlsConfig: {caData: "$CADATA", caFile: "$OTHER"}`, records, false, scheduled),
		secure("another authority", `enableHTTPS: true, tlsConfig: {caFile: "$OTHER"}`, records, false, unknown),
		secure("the system's authorities", `tlsConfig: {}`, records, false, unknown),
		secure("another authority, ignorable", `ignorable: true, enableHTTPS: true, tlsConfig: {caFile: "$OTHER"}`, records, false, scheduled),
		secure("another name that it has", `enableHTTPS: true, tlsConfig: {caFile: "$CA", serverName: localhost}`, records, false, scheduled),
		secure("insecure, with another name", `enableHTTPS: true, tlsConfig: {insecure: true, serverName: elsewhere}`, records, false, scheduled),
		secure("insecure, with an authority", `enableHTTPS: true, tlsConfig: {insecure: true, caFile: "$CA"}`, records, false, "not allowed"),
		secure("a certificate by file", `enableHTTPS: true, tlsConfig: {caFile: "$CA", certFile: "$CERT", keyFile: "$KEY"}`, commonName, true, "hello scheduler"),
		secure("a certificate by data", `enableHTTPS: true, tlsConfig: {caData: "$CADATA", certData: "$CERTDATA", keyData: "$KEYDATA"}`, commonName, true, "hello scheduler"),
		secure("no certificate", `enableHTTPS: true, tlsConfig: {caFile: "$CA"}`, commonName, true, "tls: certificate required"),
		secure("a certificate of another authority", `enableHTTPS: true, tlsConfig: {caFile: "$CA", certFile: "$STRANGECERT", keyFile: "$STRANGEKEY"}`, commonName, true, "tls: "),
	}
}
