package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// loopback only: nobody but the health check asks
const healthAddress = "127.0.0.1:8090"

// a sample is old after this, or after three periods if those are longer
const sampleAgeMax = 10 * time.Second

func serveHealth(writer *writer, settings settings) error {
	limit := max(sampleAgeMax, 3*settings.period)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(answer http.ResponseWriter, _ *http.Request) {
		if err := writer.health(limit); err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(answer, "ok")
	})
	return http.ListenAndServe(healthAddress, mux)
}

func askHealth() error {
	client := &http.Client{Timeout: 2 * time.Second}
	response, err := client.Get("http://" + healthAddress + "/healthz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", strings.TrimSpace(string(answer)))
	}
	return nil
}
