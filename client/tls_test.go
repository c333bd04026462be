package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
)

// certify makes a certificate for a name, and the pool that trusts it.
func certify(t *testing.T, name string) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

func TestTLSVerifiesTheHostOfTheAddress(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		server, pool := certify(t, "a.test")
		w.nodes[nodeA].tls = server
		c := w.client([]string{nodeA}, client.WithTLS(&tls.Config{RootCAs: pool}))
		conversation(t, w, c)
		w.reset(nodeA)
		w.release(w.acquire(c, "k"))
	})
}

func TestTLSRefusesAnotherName(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		server, pool := certify(t, "b.test")
		w.nodes[nodeA].tls = server
		c := w.client([]string{nodeA}, client.WithTLS(&tls.Config{RootCAs: pool}))
		_, err := c.Acquire(t.Context(), "k")
		matches(t, err, client.ErrUnavailable)
		var hostname x509.HostnameError
		if !errors.As(err, &hostname) || !strings.Contains(err.Error(), "a.test") {
			t.Errorf("%v does not say what is wrong", err)
		}
		named := w.client([]string{nodeA}, client.WithTLS(&tls.Config{RootCAs: pool, ServerName: "b.test"}))
		w.release(w.acquire(named, "k"))
	})
}

// TestATLSHandshakeThatHangsIsBounded: the other end says nothing.
func TestATLSHandshakeThatHangsIsBounded(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		server, pool := certify(t, "b.test")
		w.nodes[nodeA].tls, w.nodes[nodeB].tls = server, server
		w.set(nodeA, mute)
		w.moveSilently(nodeB)
		c := w.client([]string{nodeA, nodeB}, client.WithTLS(&tls.Config{RootCAs: pool}), client.WithDialTimeout(time.Second))
		time.Sleep(10 * time.Second)
		if n := len(w.dialsTo(nodeA)); n < 2 {
			t.Errorf("%d dials in 10 s, want the hanging one given up after 1 s", n)
		}
		w.release(w.acquire(c, "k"))
	})
}
