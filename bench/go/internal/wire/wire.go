// Package wire holds what the clients share: connections that are counted, answers that are read.
package wire

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

// Trusting returns the TLS settings of a client that trusts the authority in the PEM file.
func Trusting(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// Connection returns a client that holds one connection and keeps it. HTTP/1.1 is what an API
// server speaks to its webhooks, whatever they offer.
func Connection(settings *tls.Config, http2, keep bool, patience time.Duration) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	return &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			TLSClientConfig:    settings.Clone(),
			Protocols:          &protocols,
			MaxConnsPerHost:    1,
			DisableCompression: true,
			DisableKeepAlives:  !keep,
		},
	}
}

// Answer is what came back to one review.
type Answer struct {
	Status  int
	Allowed bool
	Denied  bool
}

// Ask posts a review and reads the whole answer.
func Ask(client *http.Client, url string, body []byte) (Answer, error) {
	reply, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(reply.Body)
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Status:  reply.StatusCode,
		Allowed: bytes.Contains(content, []byte(`"allowed":true`)),
		Denied:  bytes.Contains(content, []byte(`"allowed":false`)),
	}, nil
}

// Print writes the result as the program's whole output.
func Print(result any) {
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
