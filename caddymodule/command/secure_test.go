package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// resolveSecurity reads flags in an environment.
func resolveSecurity(args string, environ ...string) (*tls.Config, error) {
	var c security
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.addFlags(flags)
	if err := flags.Parse(strings.Fields(args)); err != nil {
		return nil, err
	}
	return c.resolve(flags, &system{environ: environ})
}

func TestTLSIsSpokenWhenAnythingSaysSoAndNothingSaysNo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, environ string
		on            bool
	}{
		{"", "", false},
		{"--tls", "", true},
		{"--server-name a.test", "", true},
		{"", "LOCK_TLS=1", true},
		{"", "LOCK_TLS_SERVER_NAME=a.test", true},
		{"", "LOCK_TLS=false LOCK_TLS_SERVER_NAME=a.test", false},
		{"--tls=false", "LOCK_TLS=1 LOCK_TLS_SERVER_NAME=a.test", false},
		{"--tls", "LOCK_TLS=false", true},
		{"--server-name a.test", "LOCK_TLS=false", true},
	} {
		config, err := resolveSecurity(c.args, strings.Fields(c.environ)...)
		if err != nil || (config != nil) != c.on {
			t.Errorf("%q with %q: %v (%v)", c.args, c.environ, config != nil, err)
		}
	}
}

func TestAFlagWinsOverTheEnvironment(t *testing.T) {
	t.Parallel()
	config, err := resolveSecurity("--server-name flag.test", "LOCK_TLS_SERVER_NAME=environment.test")
	if err != nil || config.ServerName != "flag.test" {
		t.Errorf("%+v (%v)", config, err)
	}
}

func TestWhatIsWrongWithTLSIsASentenceOfUsage(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, says := range map[string]string{
		"--tls=false --ca x":                   "contradict",
		"--cert x":                             "--key is missing",
		"--key x":                              "--cert is missing",
		"--ca there-is-none":                   "there-is-none",
		"--ca " + text:                         "no certificate",
		"--cert " + text + " --key " + text:    "client certificate",
		"--cert there-is-none --key there-too": "there-is-none",
	} {
		_, err := resolveSecurity(args)
		if codeOf(err) != exitUsage || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := resolveSecurity("", "LOCK_TLS=maybe"); codeOf(err) != exitUsage {
		t.Errorf("LOCK_TLS=maybe: %v", err)
	}
}

func TestCertificatesAreLoaded(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	config, err := resolveSecurity("", "LOCK_TLS_CA="+cert, "LOCK_TLS_CERT="+cert, "LOCK_TLS_KEY="+key)
	if err != nil || config.RootCAs == nil || len(config.Certificates) != 1 {
		t.Errorf("%+v (%v)", config, err)
	}
}

// selfSigned writes a certificate and its key.
func selfSigned(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", cert), writePEM(t, "PRIVATE KEY", der)
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
