package command

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strconv"

	"github.com/spf13/pflag"
)

// security is what the command line and the environment say of TLS.
type security struct {
	tls                       bool
	ca, cert, key, serverName string
}

// addFlags declares the flags of security.
func (c *security) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.tls, "tls", false, "speak TLS (or LOCK_TLS); the four below imply it")
	flags.StringVar(&c.ca, "ca", "", "`file` with the CA certificates to trust instead of the system's (or LOCK_TLS_CA)")
	flags.StringVar(&c.cert, "cert", "", "`file` with the client certificate (or LOCK_TLS_CERT)")
	flags.StringVar(&c.key, "key", "", "`file` with its private key (or LOCK_TLS_KEY)")
	flags.StringVar(&c.serverName, "server-name", "", "`name` in the server's certificate, if not the host dialled (or LOCK_TLS_SERVER_NAME)")
}

// resolve takes from the environment what no flag says, and returns the
// configuration; nil for none.
func (c *security) resolve(flags *pflag.FlagSet, sys *system) (*tls.Config, error) {
	on, err := c.switchedByFlags(flags)
	if err != nil || on == off {
		return nil, err
	}
	inherited := c.inherit(flags, sys)
	if on == unsaid {
		if on, err = switchedByEnvironment(sys, inherited); err != nil || on != enabled {
			return nil, err
		}
	}
	return c.config()
}

// choice is what a source says of whether to speak TLS.
type choice int

const (
	unsaid choice = iota
	off
	enabled
)

func (c *security) switchedByFlags(flags *pflag.FlagSet) (choice, error) {
	implied := ""
	for _, name := range []string{"ca", "cert", "key", "server-name"} {
		if flags.Changed(name) {
			implied = name
		}
	}
	switch {
	case flags.Changed("tls") && !c.tls && implied != "":
		return unsaid, usage("--tls=false and --%s contradict each other", implied)
	case flags.Changed("tls") && !c.tls:
		return off, nil
	case flags.Changed("tls") || implied != "":
		return enabled, nil
	}
	return unsaid, nil
}

// inherit fills in what no flag says, and returns whether there was anything.
func (c *security) inherit(flags *pflag.FlagSet, sys *system) (any bool) {
	for _, from := range []struct {
		flag, variable string
		to             *string
	}{
		{"ca", "LOCK_TLS_CA", &c.ca},
		{"cert", "LOCK_TLS_CERT", &c.cert},
		{"key", "LOCK_TLS_KEY", &c.key},
		{"server-name", "LOCK_TLS_SERVER_NAME", &c.serverName},
	} {
		if value := sys.getenv(from.variable); value != "" && !flags.Changed(from.flag) {
			*from.to, any = value, true
		}
	}
	return any
}

func switchedByEnvironment(sys *system, inherited bool) (choice, error) {
	word := sys.getenv("LOCK_TLS")
	if word == "" {
		if inherited {
			return enabled, nil
		}
		return unsaid, nil
	}
	on, err := strconv.ParseBool(word)
	switch {
	case err != nil:
		return unsaid, usage("LOCK_TLS is %q: expected true or false", word)
	case on:
		return enabled, nil
	}
	return off, nil
}

func (c *security) config() (*tls.Config, error) {
	config := &tls.Config{ServerName: c.serverName, MinVersion: tls.VersionTLS12}
	if (c.cert == "") != (c.key == "") {
		return nil, usage("--cert and --key belong together: %s is missing", c.missing())
	}
	if c.cert != "" {
		cert, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, usage("loading the client certificate %s with the key %s: %w", c.cert, c.key, err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	var err error
	if c.ca != "" {
		config.RootCAs, err = loadCA(c.ca)
	}
	return config, err
}

func (c *security) missing() string {
	if c.cert == "" {
		return "--cert"
	}
	return "--key"
}

func loadCA(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("reading the CA certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usage("%s has no certificate in PEM form", file)
	}
	return pool, nil
}
