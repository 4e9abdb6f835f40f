// Command load asks a webhook the same review again and again over kept connections, and prints
// what came back and how fast, as JSON.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"glasswarden.io/bench/internal/wire"
)

type settings struct {
	url         string
	body        []byte
	tls         *tls.Config
	http2       bool
	connections int
	requests    int
	warmup      int
	limit       time.Duration
}

// tally is what one connection saw.
type tally struct {
	latencies []time.Duration
	statuses  map[int]int
	allowed   int
	denied    int
	errors    int
	first     string
}

type result struct {
	Requests   int            `json:"requests"`
	Seconds    float64        `json:"seconds"`
	Rate       float64        `json:"rate"`
	P50        float64        `json:"p50_ms"`
	P95        float64        `json:"p95_ms"`
	P99        float64        `json:"p99_ms"`
	Max        float64        `json:"max_ms"`
	Statuses   map[string]int `json:"statuses"`
	Allowed    int            `json:"allowed"`
	Denied     int            `json:"denied"`
	Errors     int            `json:"errors"`
	FirstError string         `json:"first_error"`
}

func main() {
	debug.SetGCPercent(800) // the generator's own collections are no part of an answer
	set, silent, mute := parse()
	held := append(hold(set, silent, true), hold(set, mute, false)...)
	wire.Print(run(set))
	for _, connection := range held {
		connection.Close()
	}
}

func parse() (set settings, silent, mute int) {
	flag.StringVar(&set.url, "url", "", "where to ask")
	authority := flag.String("ca", "", "PEM `file` of the authority to trust")
	body := flag.String("body", "", "`file` with the review")
	flag.BoolVar(&set.http2, "h2", false, "speak HTTP/2")
	flag.IntVar(&set.connections, "connections", 1, "connections, each with one request at a time")
	flag.IntVar(&set.requests, "requests", 1000, "requests that are counted, over all connections")
	flag.IntVar(&set.warmup, "warmup", 100, "requests before those, over all connections")
	flag.DurationVar(&set.limit, "limit", time.Minute, "stop counting after this long")
	flag.IntVar(&silent, "silent", 0, "TLS connections that are held open without a word")
	flag.IntVar(&mute, "mute", 0, "TCP connections that are held open without a handshake")
	flag.Parse()

	var err error
	if set.tls, err = wire.Trusting(*authority); err != nil {
		log.Fatal(err)
	}
	if set.body, err = os.ReadFile(*body); err != nil {
		log.Fatal(err)
	}
	return set, silent, mute
}

// hold opens connections that never send a request, with or without a TLS handshake.
func hold(set settings, count int, shake bool) []net.Conn {
	target, err := url.Parse(set.url)
	if err != nil {
		log.Fatal(err)
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	held := make([]net.Conn, 0, count)
	for range count {
		var connection net.Conn
		if shake {
			connection, err = tls.DialWithDialer(dialer, "tcp", target.Host, set.tls)
		} else {
			connection, err = dialer.Dial("tcp", target.Host)
		}
		if err != nil {
			log.Fatal("a silent connection: ", err)
		}
		held = append(held, connection)
	}
	return held
}

func run(set settings) result {
	clients := make([]*http.Client, set.connections)
	for i := range clients {
		clients[i] = wire.Connection(set.tls, set.http2, true, 30*time.Second)
	}
	together(clients, set, share(set.warmup, set.connections))
	start := time.Now()
	tallies := together(clients, set, share(set.requests, set.connections))
	return sum(tallies, time.Since(start))
}

func share(total, among int) int { return (total + among - 1) / among }

// together lets every client ask the same number of times, all at once.
func together(clients []*http.Client, set settings, each int) []tally {
	tallies := make([]tally, len(clients))
	deadline := time.Now().Add(set.limit)
	var group sync.WaitGroup
	for i, client := range clients {
		group.Add(1)
		go func() {
			defer group.Done()
			tallies[i] = ask(client, set, each, deadline)
		}()
	}
	group.Wait()
	return tallies
}

func ask(client *http.Client, set settings, times int, deadline time.Time) tally {
	seen := tally{latencies: make([]time.Duration, 0, times), statuses: map[int]int{}}
	for range times {
		start := time.Now()
		if start.After(deadline) {
			break
		}
		answer, err := wire.Ask(client, set.url, set.body)
		if err != nil {
			seen.fail(err)
			continue
		}
		seen.latencies = append(seen.latencies, time.Since(start))
		seen.count(answer)
	}
	return seen
}

func (seen *tally) fail(err error) {
	seen.errors++
	if seen.first == "" {
		seen.first = err.Error()
	}
}

func (seen *tally) count(answer wire.Answer) {
	seen.statuses[answer.Status]++
	if answer.Allowed {
		seen.allowed++
	}
	if answer.Denied {
		seen.denied++
	}
}

func sum(tallies []tally, took time.Duration) result {
	all := result{Statuses: map[string]int{}, Seconds: took.Seconds()}
	var latencies []time.Duration
	for _, seen := range tallies {
		latencies = append(latencies, seen.latencies...)
		for status, count := range seen.statuses {
			all.Statuses[fmt.Sprint(status)] += count
		}
		all.Allowed += seen.allowed
		all.Denied += seen.denied
		all.Errors += seen.errors
		if all.FirstError == "" {
			all.FirstError = seen.first
		}
	}
	slices.Sort(latencies)
	all.Requests = len(latencies)
	all.Rate = float64(all.Requests) / all.Seconds
	all.P50, all.P95 = at(latencies, 0.50), at(latencies, 0.95)
	all.P99, all.Max = at(latencies, 0.99), at(latencies, 1)
	return all
}

// at returns the quantile in milliseconds.
func at(sorted []time.Duration, quantile float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	index := min(int(quantile*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[index].Nanoseconds()) / 1e6
}
