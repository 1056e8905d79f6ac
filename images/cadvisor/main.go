// Command cadvisor samples containers on a fixed schedule and keeps the samples in InfluxDB.
//
// `cadvisor health` asks a running cadvisor whether its samples arrive: exit code 0 or 1.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// flushTimeout leaves time to exit within a second of SIGTERM.
const flushTimeout = 500 * time.Millisecond

func main() {
	run := serve
	if len(os.Args) == 2 && os.Args[1] == "health" {
		run = askHealth
	} else if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "cadvisor: the only argument known is `health`")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cadvisor:", err)
		os.Exit(1)
	}
}

func serve() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	settings, err := readSettings(os.Getenv)
	if err != nil {
		return err
	}
	writer := newWriter(settings)
	failed := make(chan error, 2)
	go func() { failed <- serveHealth(writer, settings) }()
	// the engine may be slow to answer; SIGTERM ends that wait too
	go func() { failed <- sampleForever(writer, settings) }()
	go writer.writeForever()

	select {
	case err := <-failed:
		return err
	case <-signals:
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		writer.flush(ctx)
		return nil
	}
}
