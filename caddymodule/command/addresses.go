package command

import (
	"net"
	"strconv"
	"strings"
)

const (
	defaultPort = "7301"
	defaultAddr = "127.0.0.1:" + defaultPort
)

// addresses reads lists of addresses that are separated by commas.
func addresses(lists []string) ([]string, error) {
	var addrs []string
	for _, list := range lists {
		for addr := range strings.SplitSeq(list, ",") {
			addr, err := address(strings.TrimSpace(addr))
			if err != nil {
				return nil, err
			}
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// address adds the port if there is none.
func address(text string) (string, error) {
	if path, is := strings.CutPrefix(text, "unix/"); is {
		if path == "" {
			return "", usage("address %q has no path; write unix//run/lock.sock", text)
		}
		return text, nil
	}
	if host, bracketed := bracketedHost(text); bracketed || !strings.Contains(text, ":") {
		text = net.JoinHostPort(host, defaultPort)
	}
	host, port, err := net.SplitHostPort(text)
	switch {
	case err != nil && strings.Count(text, ":") > 1:
		return "", usage("address %q: write an IPv6 address in brackets, as [::1] or [::1]:%s", text, defaultPort)
	case err != nil || host == "" || port == "":
		return "", usage("address %q: expected host, host:port, or unix/ and a path", text)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return "", usage("address %q: the port is a number from 1 to 65535", text)
	}
	return text, nil
}

// bracketedHost returns the host of an address without a port, and whether it is
// an IPv6 address.
func bracketedHost(text string) (host string, bracketed bool) {
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return text[1 : len(text)-1], true
	}
	return text, false
}
