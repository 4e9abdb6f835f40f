// Command patch writes to several objects of a real API server by turns, so that what is compared
// ran in the same moment, and prints every latency as JSON.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"glasswarden.io/bench/internal/wire"
)

// kubeconfig is the little of one that is needed, written as JSON with everything inside.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server    string `json:"server"`
			Authority []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Certificate []byte `json:"client-certificate-data"`
			Key         []byte `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

// target is one object, and the merge patches that it gets one after the other.
type target struct {
	Name    string            `json:"name"`
	Path    string            `json:"path"`
	Patches []json.RawMessage `json:"patches"`
}

// Latencies in milliseconds; the nth of every target belong to the same turn.
type result struct {
	Latencies  map[string][]float64 `json:"latencies"`
	Errors     map[string]int       `json:"errors"`
	FirstError string               `json:"first_error"`
}

func main() {
	config := flag.String("kubeconfig", "", "kubeconfig `file`, as JSON")
	file := flag.String("targets", "", "JSON `file` with the objects and their patches")
	turns := flag.Int("turns", 300, "writes to each object")
	warmup := flag.Int("warmup", 30, "writes to each object before those")
	limit := flag.Duration("limit", 2*time.Minute, "stop after this long")
	flag.Parse()

	var access kubeconfig
	read(*config, &access)
	var targets []target
	read(*file, &targets)
	client, server, err := open(access)
	if err != nil {
		log.Fatal(err)
	}
	take(client, server, targets, *warmup, *limit)
	wire.Print(take(client, server, targets, *turns, *limit))
}

func read(file string, into any) {
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		log.Fatalf("%s: %v", file, err)
	}
}

func open(access kubeconfig) (*http.Client, string, error) {
	if len(access.Clusters) != 1 || len(access.Users) != 1 {
		return nil, "", fmt.Errorf("the kubeconfig must name one cluster and one user")
	}
	cluster, user := access.Clusters[0].Cluster, access.Users[0].User
	pair, err := tls.X509KeyPair(user.Certificate, user.Key)
	if err != nil {
		return nil, "", err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(cluster.Authority) {
		return nil, "", fmt.Errorf("the kubeconfig holds no authority")
	}
	settings := &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	}
	// HTTP/2 is what kubectl and every controller speak with the API server.
	return wire.Connection(settings, true, true, 30*time.Second), cluster.Server, nil
}

// take writes to every target once a turn, each turn in another order: a write leaves work behind
// (watches, controllers, the audit log) that the next one pays for, whoever it is.
func take(client *http.Client, server string, targets []target, turns int, limit time.Duration) result {
	seen := result{Latencies: map[string][]float64{}, Errors: map[string]int{}}
	deadline := time.Now().Add(limit)
	order := rand.New(rand.NewPCG(1, 2)) // the same orders in every run
	for turn := 0; turn < turns && time.Now().Before(deadline); turn++ {
		for _, i := range order.Perm(len(targets)) {
			seen.write(client, server, targets[i], turn)
		}
	}
	return seen
}

func (seen *result) write(client *http.Client, server string, each target, turn int) {
	start := time.Now()
	err := patch(client, server+each.Path, each.Patches[turn%len(each.Patches)])
	took := float64(time.Since(start).Nanoseconds()) / 1e6
	seen.Latencies[each.Name] = append(seen.Latencies[each.Name], took)
	if err != nil {
		seen.Errors[each.Name]++
		seen.FirstError = err.Error()
	}
}

func patch(client *http.Client, url string, body []byte) error {
	call, err := http.NewRequest(http.MethodPatch, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	call.Header.Set("Content-Type", "application/merge-patch+json")
	call.Header.Set("User-Agent", "glasswarden-bench")
	reply, err := client.Do(call)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", reply.Status, content)
	}
	return nil
}
