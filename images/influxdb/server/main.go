// Command influxd runs InfluxDB with the settings of its environment and makes its one database.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/influxdata/influxdb/cmd/influxd/run"
)

// version is set by the linker.
var version = "unknown"

// stopTimeout is how long InfluxDB may take to close its files; Docker kills after 10 s.
const stopTimeout = 8 * time.Second

func main() {
	if err := serve(os.Getenv("INFLUXDB_DB")); err != nil {
		fmt.Fprintln(os.Stderr, "influxd:", err)
		os.Exit(1)
	}
}

// serve is what InfluxDB's own main does for `influxd run`, with the database in between.
func serve(database string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	command := run.NewCommand()
	command.Version, command.Branch, command.Commit = version, "unknown", "unknown"
	if err := command.Run(); err != nil {
		return err
	}
	if database != "" {
		if _, err := command.Server.MetaClient.CreateDatabase(database); err != nil {
			return fmt.Errorf("create database %q: %w", database, err)
		}
	}

	<-signals
	failed := make(chan error, 1)
	go func() { failed <- command.Close() }()
	select {
	case err := <-failed:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("not closed after %s", stopTimeout)
	}
}
