// Command noop is the floor to measure against: a net/http admission webhook that decodes the
// review and allows it. It is written the way a Go webhook usually is, not tuned for the race.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"time"
)

// largestBody is what an API server sends at most: two objects of 1.5 MiB, and some words around.
const largestBody = 8 << 20

type userInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type groupVersionResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// request is an AdmissionRequest with its objects as T: undecoded bytes, or maps.
type request[T any] struct {
	UID                string               `json:"uid"`
	Kind               groupVersionKind     `json:"kind"`
	Resource           groupVersionResource `json:"resource"`
	SubResource        string               `json:"subResource"`
	RequestKind        groupVersionKind     `json:"requestKind"`
	RequestResource    groupVersionResource `json:"requestResource"`
	RequestSubResource string               `json:"requestSubResource"`
	Name               string               `json:"name"`
	Namespace          string               `json:"namespace"`
	Operation          string               `json:"operation"`
	UserInfo           userInfo             `json:"userInfo"`
	Object             T                    `json:"object"`
	OldObject          T                    `json:"oldObject"`
	DryRun             bool                 `json:"dryRun"`
	Options            json.RawMessage      `json:"options"`
}

type response struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
}

type review[T any] struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Request    *request[T] `json:"request,omitempty"`
	Response   *response   `json:"response,omitempty"`
}

func nothingFirst[T any](*request[T]) error { return nil }

// allow answers reviews, each after what is to be done first.
func allow[T any](first func(*request[T]) error) http.HandlerFunc {
	return func(answer http.ResponseWriter, call *http.Request) {
		var asked review[T]
		body := http.MaxBytesReader(answer, call.Body, largestBody)
		if err := json.NewDecoder(body).Decode(&asked); err != nil || asked.Request == nil {
			http.Error(answer, "not an AdmissionReview", http.StatusBadRequest)
			return
		}
		if err := first(asked.Request); err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		reply := review[T]{
			APIVersion: asked.APIVersion,
			Kind:       asked.Kind,
			Response:   &response{UID: asked.Request.UID, Allowed: true},
		}
		if err := json.NewEncoder(answer).Encode(reply); err != nil {
			log.Print(err)
		}
	}
}

func main() {
	bind := flag.String("bind", "127.0.0.1:8443", "`HOST:PORT` to listen on")
	certificate := flag.String("cert", "", "PEM `file` of the serving certificate")
	key := flag.String("key", "", "PEM `file` of its private key")
	raw := flag.Bool("raw", false, "leave the objects undecoded")
	path := flag.String("journal", "", "`file` that gets a line, synced, before each answer; with -raw")
	flag.Parse()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	// Whatever the path: the same configuration may lead here as to the product.
	switch {
	case *path != "":
		journal, err := openJournal(*path)
		if err != nil {
			log.Fatal(err)
		}
		mux.HandleFunc("POST /", allow(func(asked *request[json.RawMessage]) error {
			return journal.append(asked.Object)
		}))
	case *raw:
		mux.HandleFunc("POST /", allow(nothingFirst[json.RawMessage]))
	default:
		mux.HandleFunc("POST /", allow(nothingFirst[map[string]any]))
	}
	server := &http.Server{Addr: *bind, Handler: mux, ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}
