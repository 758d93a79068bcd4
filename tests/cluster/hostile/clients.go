package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

// connect opens a connection of the attacker, whose address differs from the observer's.
func (v *victim) connect(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	return dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", v.port))
}

// pipeline sends a request many times at once and reads the responses. A server may close the connection before.
func (v *victim) pipeline(ctx context.Context, config *tls.Config, request string, count int) error {
	plain, err := v.connect(ctx)
	if err != nil {
		return err
	}
	defer plain.Close()
	_ = plain.SetDeadline(time.Now().Add(v.o.limit))
	connection := tls.Client(plain, config)
	if connection.HandshakeContext(ctx) != nil {
		return nil
	}
	go func() {
		for range count {
			if _, err := io.WriteString(connection, request); err != nil {
				return
			}
		}
	}()
	responses := bufio.NewReader(connection)
	for range count {
		response, err := http.ReadResponse(responses, nil)
		if err != nil {
			return nil
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return nil
		}
	}
	return nil
}

func certificates(ctx context.Context, v *victim) error {
	chain, err := makeChain(231)
	if err != nil {
		return err
	}
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return chain, nil }}
	for range scaled(v.o.scale, 10, 2) {
		if err := v.pipeline(ctx, config, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 600); err != nil {
			return err
		}
	}
	return nil
}

// makeChain creates a client certificate with intermediates up to this number. No server trusts the last one. All have
// the same name, so that each of them could be the issuer of each other one.
func makeChain(length int) (*tls.Certificate, error) {
	name := pkix.Name{CommonName: "a"}
	chain := &tls.Certificate{Certificate: make([][]byte, length)}
	var issuer *x509.Certificate
	var issuerKey *ecdsa.PrivateKey
	for i := length - 1; i >= 0; i-- {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: name,
			NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour)}
		if i > 0 {
			template.IsCA, template.BasicConstraintsValid = true, true
		}
		if issuer == nil {
			issuer, issuerKey = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
		if err != nil {
			return nil, err
		}
		chain.Certificate[i], chain.PrivateKey = der, key
		issuer, issuerKey = template, key
	}
	return chain, nil
}

// accept requests a page that anonymous clients may not read: the refusal depends on the header.
func accept(ctx context.Context, v *victim) error {
	var header strings.Builder
	for i := 0; header.Len() < 60000; i++ {
		fmt.Fprintf(&header, "a/b%d;q=0.%d,", i, 1+i%9)
	}
	request := "GET /statusz HTTP/1.1\r\nHost: a\r\nAccept: " + header.String() + "*/*\r\n\r\n"
	for range scaled(v.o.scale, 5, 1) {
		if err := v.pipeline(ctx, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}, request, 600); err != nil {
			return err
		}
	}
	return nil
}

// hold opens connections, sends the beginning of a request, and keeps them open.
func hold(beginning string) func(ctx context.Context, v *victim) error {
	return func(ctx context.Context, v *victim) error {
		for range scaled(v.o.scale, 3000, 1500) {
			connection, err := v.connect(ctx)
			if err != nil {
				return err
			}
			defer connection.Close()
			if _, err := io.WriteString(connection, beginning); err != nil {
				return err
			}
		}
		return controlplane.Pause(ctx, time.Duration(scaled(v.o.scale, 10, 1))*time.Second)
	}
}

// tokens sends invalid tokens of 4 KB, on eight connections.
func tokens(ctx context.Context, v *victim) error {
	client := &http.Client{Timeout: v.o.limit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return v.connect(ctx) }}}
	defer client.CloseIdleConnections()
	return controlplane.Each(ctx, scaled(v.o.scale, 5000, 200), func(i int) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", v.port), nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", fmt.Sprintf("Bearer %d-%s", i, strings.Repeat("a", 4096)))
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		if err == nil && response.StatusCode != http.StatusUnauthorized {
			err = fmt.Errorf("an invalid token: %s", response.Status)
		}
		return err
	})
}
