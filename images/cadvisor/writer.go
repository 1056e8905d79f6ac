package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	linesMax     = 50_000 // kept while InfluxDB is away: 40 minutes of 20 containers, 10 MB
	batchMax     = 5_000
	writeTimeout = 5 * time.Second
	retryDelay   = time.Second
)

// errRefused is for good: what InfluxDB does not understand now it never will. Of such a batch it
// keeps the lines that it does understand.
var errRefused = errors.New("InfluxDB refused lines")

// writer keeps lines until InfluxDB has them.
type writer struct {
	url    string
	client *http.Client
	more   chan struct{}

	lock     sync.Mutex // guards what follows
	lines    []string
	dropped  int
	lastGood time.Time
	trouble  string // why the newest write failed; empty if it did not
}

func newWriter(settings settings) *writer {
	return &writer{
		url:    settings.writeURL,
		client: &http.Client{Timeout: writeTimeout},
		more:   make(chan struct{}, 1),
	}
}

// add never waits: beyond linesMax the oldest lines are dropped.
func (w *writer) add(lines []string) {
	w.lock.Lock()
	w.lines = append(w.lines, lines...)
	if over := len(w.lines) - linesMax; over > 0 {
		w.lines = w.lines[over:]
		w.dropped += over
	}
	w.lock.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *writer) writeForever() {
	for range w.more {
		for w.flush(context.Background()) != nil {
			time.Sleep(retryDelay)
		}
	}
}

// flush writes all lines, or says why it could not; a change of fortune is logged once.
func (w *writer) flush(ctx context.Context) error {
	for {
		batch := w.take()
		if len(batch) == 0 {
			return nil
		}
		err := w.write(ctx, batch)
		w.note(batch, err)
		if err != nil && !errors.Is(err, errRefused) {
			return err
		}
	}
}

func (w *writer) take() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	batch := w.lines[:min(len(w.lines), batchMax)]
	w.lines = w.lines[len(batch):]
	return batch
}

func (w *writer) note(batch []string, err error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if errors.Is(err, errRefused) {
		log.Print(err)
		return
	}
	if err != nil {
		w.lines = append(append([]string{}, batch...), w.lines...)
		if w.trouble == "" {
			log.Printf("samples are kept, not written: %v", err)
		}
		w.trouble = err.Error()
		return
	}
	if w.trouble != "" {
		log.Printf("samples are written again; %d were dropped", w.dropped)
	}
	w.trouble, w.dropped, w.lastGood = "", 0, time.Now()
}

func (w *writer) write(ctx context.Context, batch []string) error {
	body := strings.NewReader(strings.Join(batch, ""))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, body)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	if response.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%w: %s", errRefused, strings.TrimSpace(string(answer)))
	}
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("InfluxDB answered %s: %s", response.Status, answer)
	}
	return nil
}

// health is nil if a sample was written within the limit.
func (w *writer) health(limit time.Duration) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	switch {
	case w.trouble != "":
		return fmt.Errorf("%d samples not written: %s", len(w.lines), w.trouble)
	case w.lastGood.IsZero():
		return fmt.Errorf("no sample written yet: no container of the project seen")
	case time.Since(w.lastGood) > limit:
		return fmt.Errorf("no sample written for %s", time.Since(w.lastGood).Round(time.Second))
	}
	return nil
}
