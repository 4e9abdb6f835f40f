// Command knock asks a webhook that is only just starting, on a new connection each time, and
// prints as JSON how often it was let in, turned away, or found nobody there.
package main

import (
	"flag"
	"log"
	"os"
	"time"

	"glasswarden.io/bench/internal/wire"
)

type result struct {
	Asked       int         `json:"asked"`
	Refused     int         `json:"refused"` // no connection, or one that ended without an answer
	Allowed     int         `json:"allowed"`
	Denied      int         `json:"denied"`
	Others      map[int]int `json:"others"` // answers that are no verdict, by HTTP status
	FirstAnswer float64     `json:"first_answer_s"`
}

func main() {
	url := flag.String("url", "", "where to ask")
	authority := flag.String("ca", "", "PEM `file` of the authority to trust")
	file := flag.String("body", "", "`file` with the review")
	after := flag.Duration("after", time.Second, "go on for this long after the first answer")
	limit := flag.Duration("limit", 20*time.Second, "give up where no answer came by then")
	flag.Parse()

	settings, err := wire.Trusting(*authority)
	if err != nil {
		log.Fatal(err)
	}
	body, err := os.ReadFile(*file)
	if err != nil {
		log.Fatal(err)
	}
	client := wire.Connection(settings, false, false, *limit)
	start := time.Now()
	deadline := start.Add(*limit)
	seen := result{Others: map[int]int{}}
	for time.Now().Before(deadline) {
		seen.Asked++
		answer, err := wire.Ask(client, *url, body)
		if err != nil {
			seen.Refused++
			time.Sleep(time.Millisecond)
			continue
		}
		if seen.FirstAnswer == 0 {
			seen.FirstAnswer = time.Since(start).Seconds()
			deadline = time.Now().Add(*after)
		}
		seen.count(answer)
	}
	wire.Print(seen)
}

func (seen *result) count(answer wire.Answer) {
	switch {
	case answer.Allowed:
		seen.Allowed++
	case answer.Denied:
		seen.Denied++
	default:
		seen.Others[answer.Status]++
	}
}
