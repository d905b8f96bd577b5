package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// natsPort is where NATS listens if its address does not say.
const natsPort = "4222"

// greeting is what a NATS server says first, to everybody.
type greeting struct {
	Version   string `json:"version"`
	JetStream bool   `json:"jetstream"`
	TLS       bool   `json:"tls_required"`
}

// examineNATS hears what each server says of itself. It does not log in.
func (f *doctorFlags) examineNATS(s *session) (found findings) {
	if f.natsURL == "" {
		found.add("NATS", skipped, "not asked for; an embedded one is judged by its dispatcher, above", "give --nats-url")
		return found
	}
	for address := range strings.SplitSeq(f.natsURL, ",") {
		host, encrypted, err := natsHost(strings.TrimSpace(address))
		check := "NATS " + host
		if err != nil {
			found.add("NATS", unclear, err.Error(), "write it as nats://HOST:4222 or tls://HOST:4222")
			continue
		}
		g, err := greet(s, host)
		if err != nil {
			found.add(check, wrong, err.Error(), "is the server running, and does the network let this machine through?")
			continue
		}
		found.checkGreeting(check, g, encrypted)
	}
	return found
}

func (f *findings) checkGreeting(check string, g greeting, encrypted bool) {
	switch {
	case !g.JetStream:
		f.add(check, wrong, "JetStream is off on version "+g.Version, "start nats-server with jetstream {} in its configuration")
	case g.TLS && !encrypted:
		f.add(check, careful, "it wants TLS, and the address does not say so", "write the address as tls://…")
	default:
		f.add(check, fine, "version "+g.Version+" with JetStream answers", "")
	}
}

// natsHost returns host and port of an address, without who logs in.
func natsHost(address string) (host string, encrypted bool, err error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return "", false, errors.New("an address of --nats-url is neither nats:// nor tls://") // it may have a password in it
	}
	return net.JoinHostPort(u.Hostname(), firstOf(u.Port(), natsPort)), u.Scheme == "tls", nil
}

// greet connects to a server and reads the first line that it says.
func greet(ctx context.Context, host string) (g greeting, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return g, err
	}
	defer connection.Close() //nolint:errcheck // nothing was sent
	if err := connection.SetReadDeadline(time.Now().Add(connectTime)); err != nil {
		return g, err
	}
	line, err := bufio.NewReaderSize(connection, 64<<10).ReadSlice('\n')
	if err != nil {
		return g, fmt.Errorf("it takes connections and says nothing: %w", err)
	}
	return parseGreeting(line)
}

// parseGreeting reads the first line of a server.
func parseGreeting(line []byte) (g greeting, err error) {
	text, isNATS := bytes.CutPrefix(line, []byte("INFO "))
	if !isNATS || json.Unmarshal(text, &g) != nil {
		return greeting{}, errors.New("what answers there is no NATS")
	}
	return g, nil
}
