// A reader in Go: keeps a map of all earthquakes up to date over HTTP, from `quakes serve`. It needs no packages.
//
//	go run Examples/follow.go http://127.0.0.1:8080
//
// If the server restarts or the network fails, it connects again and catches up. It ends on Ctrl-C and on SIGTERM.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A line of /changes: a position, a change, the start of a snapshot, or a row of a snapshot.
type line struct {
	Store     string          `json:"store"`
	Token     int64           `json:"token"`
	Time      string          `json:"committed_at"`
	Nonce     string          `json:"nonce"`
	Operation string          `json:"operation"`
	Key       string          `json:"key"`
	Row       json.RawMessage `json:"row"`
	Snapshot  string          `json:"snapshot"`
}

var (
	quakes   = map[string]json.RawMessage{}
	position string // the position at the end of the last complete pass
)

// The stream counts as dead after this time without data. The server sends something at least every 20 s.
const patience = time.Minute

// Follows the changes until the connection is lost.
func follow(ctx context.Context, base string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(patience, cancel)
	defer silence.Stop()
	url := base + "/changes"
	if position != "" {
		url += "?after=" + position
	}
	request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	var pass []line // the lines since the last position; the server sends an incomplete pass again
	reader := bufio.NewReader(answer.Body)
	for {
		text, err := reader.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the stream has ended: %w", err)
		}
		silence.Reset(patience)
		if len(text) == 1 {
			continue
		}
		var next line
		if err := json.Unmarshal(text, &next); err != nil {
			return err
		}
		if next.Store == "" {
			pass = append(pass, next)
			continue
		}
		take(pass, next)
		pass = nil
	}
}

// Applies a pass, and stores the position at its end.
func take(pass []line, end line) {
	for _, each := range pass {
		isThere := len(each.Row) > 0 && string(each.Row) != "null"
		switch {
		case each.Snapshot != "": // all rows follow: this is the first start, or the position is no longer valid
			quakes = map[string]json.RawMessage{}
		case each.Operation != "":
			// In a pass, only an event's last change has its row. If the last change has none, the event was deleted.
			delete(quakes, each.Key)
			if isThere {
				quakes[each.Key] = each.Row
			}
		case isThere:
			var event struct{ Code string }
			if json.Unmarshal(each.Row, &event) == nil {
				quakes[event.Code] = each.Row
			}
		}
	}
	position = fmt.Sprintf("%d_%s_%s_%s", end.Token, end.Time, end.Nonce, end.Store)
	fmt.Printf("%d earthquakes at token %d\n", len(quakes), end.Token)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for wait := time.Second; ; wait *= 2 {
		before := position
		err := follow(ctx, os.Args[1])
		if ctx.Err() != nil {
			return
		}
		if position == "" { // the first connection has to succeed; only later failures are retried
			fmt.Fprintf(os.Stderr, "follow.go: %v\n", err)
			os.Exit(1)
		}
		if position != before {
			wait = time.Second
		}
		if wait > 30*time.Second {
			wait = 30 * time.Second
		}
		fmt.Fprintf(os.Stderr, "follow.go: %v; connecting again\n", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(float64(wait) * (0.5 + rand.Float64()/2))):
		}
	}
}
