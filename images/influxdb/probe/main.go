// Command probe asks InfluxDB whether it answers and holds its database: exit code 0 or 1.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"
)

const address = "http://127.0.0.1:8086"

func main() {
	client := &http.Client{Timeout: 2 * time.Second}
	if err := ask(client, os.Getenv("INFLUXDB_DB")); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func ask(client *http.Client, database string) error {
	ping, err := client.Get(address + "/ping")
	if err != nil {
		return err
	}
	ping.Body.Close()
	if ping.StatusCode != http.StatusNoContent {
		return fmt.Errorf("ping answered %s", ping.Status)
	}
	names, err := databases(client)
	if err != nil {
		return err
	}
	if database != "" && !slices.Contains(names, database) {
		return fmt.Errorf("no database %q among %q", database, names)
	}
	return nil
}

func databases(client *http.Client) ([]string, error) {
	response, err := client.Get(address + "/query?q=" + url.QueryEscape("SHOW DATABASES"))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Results []struct {
			Series []struct{ Values [][]string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("SHOW DATABASES answered %s: %w", response.Status, err)
	}
	var names []string
	for _, result := range answer.Results {
		for _, series := range result.Series {
			for _, row := range series.Values {
				names = append(names, row...)
			}
		}
	}
	return names, nil
}
