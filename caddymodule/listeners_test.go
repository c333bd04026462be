package caddymodule

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const serverName = "lock.example.com"

// runFile runs a configuration of testdata that is to be copied, with other
// addresses and files and without an admin endpoint.
func runFile(t *testing.T, path string, oldnew ...string) {
	t.Helper()
	config := configFile(t, path, oldnew...)
	run(t, strings.Replace(config, "{\n", "{\n\tadmin off\n", 1))
}

// wantLocks acquires and releases.
func wantLocks(s *speaker) {
	s.t.Helper()
	token := s.acquire("orders/42", "30")
	s.wantHeld("orders/42", token)
	s.release("orders/42", token)
}

func TestTheExampleServesLocks(t *testing.T) {
	addr := freeAddr(t)
	runFile(t, "../caddyfile.example", "127.0.0.1:7301", addr)
	wantLocks(speak(t, addr))
}

func TestLocksInTheClear(t *testing.T) {
	addr := freeAddr(t)
	runFile(t, "testdata/plain.caddyfile", "127.0.0.1:7301", addr)
	wantLocks(speak(t, addr))
}

func TestLocksOnAUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "lock") // a name short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "lock.sock")
	runFile(t, "testdata/unix.caddyfile", "/run/caddy/lock.sock", path)
	wantLocks(speak(t, path))

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o200 {
		t.Errorf("the socket has the permissions %o, want 200", got)
	}
}

func TestLocksWithTLSOfTheInternalCA(t *testing.T) {
	addr := freeAddr(t)
	runFile(t, "testdata/tls-internal.caddyfile", ":7301", addr, ":7443", portOf(freeAddr(t)))
	wantLocks(speakTLS(t, addr, &tls.Config{RootCAs: internalCA(t, os.Getenv("XDG_DATA_HOME")), ServerName: serverName}))
}

func TestLocksWithTLSForAClientThatNamesNoServer(t *testing.T) {
	addr := freeAddr(t)
	runFile(t, "testdata/tls-internal.caddyfile", ":7301", addr, ":7443", portOf(freeAddr(t)))
	roots := internalCA(t, os.Getenv("XDG_DATA_HOME"))
	wantLocks(speakTLS(t, addr, &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // verified below, against a name that is not sent
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
				DNSName: serverName, Roots: roots, Intermediates: intermediates(state),
			})
			return err
		},
	}))
}

func TestLocksWithTLSOfOwnFiles(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.files(ca.issue(serverName))
	addr := freeAddr(t)
	runFile(t, "testdata/tls-files.caddyfile", ":7301", addr, ":7443", portOf(freeAddr(t)),
		"/etc/caddy/lock.pem", cert, "/etc/caddy/lock-key.pem", key)
	wantLocks(speakTLS(t, addr, &tls.Config{RootCAs: ca.pool(), ServerName: serverName}))
}

func TestOnlyClientsWithACertificateAreLetIn(t *testing.T) {
	ca, clients, others := newAuthority(t), newAuthority(t), newAuthority(t)
	cert, key := ca.files(ca.issue(serverName))
	addr := freeAddr(t)
	runFile(t, "testdata/mtls.caddyfile", ":7301", addr, ":7443", portOf(freeAddr(t)),
		"/etc/caddy/lock.pem", cert, "/etc/caddy/lock-key.pem", key, "/etc/caddy/clients-ca.pem", clients.certFile())
	with := func(certs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ca.pool(), ServerName: serverName, Certificates: certs}
	}
	wantLocks(speakTLS(t, addr, with(clients.issue("client"))))
	for who, certs := range map[string][]tls.Certificate{
		"no certificate":              nil,
		"a certificate of another":    {others.issue("client")},
		"a certificate of the server": {ca.issue(serverName)},
	} {
		if conn, err := dialTLS(addr, with(certs...)); err == nil {
			_ = conn.Close()
			t.Errorf("a client with %s was served", who)
		}
	}
}

func TestLocksBesideHTTPS(t *testing.T) {
	addr := freeAddr(t)
	runFile(t, "testdata/beside-https.caddyfile", ":443", portOf(addr))
	roots := internalCA(t, os.Getenv("XDG_DATA_HOME"))
	wantLocks(speakTLS(t, addr, &tls.Config{RootCAs: roots, ServerName: serverName}))
	wantLocks(speak(t, addr))
	if raceDetector {
		return // caddy-l4 0.1.2 reads its statistics of a connection while HTTP uses it
	}
	wantPage(t, addr, &tls.Config{RootCAs: roots, ServerName: "www.example.com"}, "HTTP/2.0 Hello")
}

// wantPage waits until the web server at an address answers a browser with want.
func wantPage(t *testing.T, addr string, config *tls.Config, want string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	eventually(t, func() error {
		got, err := get(client, addr, config.ServerName)
		if err == nil && got != want {
			err = fmt.Errorf("the web server answers %q, want %q", got, want)
		}
		return err
	})
}

func get(client *http.Client, addr, host string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, "https://"+addr, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.Proto + " " + string(body), err
}

// internalCA trusts the CA of the Caddy whose data folder is in this one.
func internalCA(t *testing.T, folder string) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	eventually(t, func() error {
		root, err := os.ReadFile(filepath.Join(folder, "caddy/pki/authorities/local/root.crt"))
		pool.AppendCertsFromPEM(root)
		return err
	})
	return pool
}

func intermediates(state tls.ConnectionState) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		pool.AddCert(cert)
	}
	return pool
}

// portOf returns the port of an address, with its colon.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return ":" + port
}
