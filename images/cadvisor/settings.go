package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// settings are what the environment says; a value that is there is valid.
type settings struct {
	writeURL string
	project  string
	period   time.Duration
}

func readSettings(getenv func(string) string) (settings, error) {
	or := func(name, fallback string) string {
		if value := getenv(name); value != "" {
			return value
		}
		return fallback
	}
	base, err := url.Parse(or("INFLUX_URL", "http://influxdb:8086"))
	if err != nil || base.Host == "" {
		return settings{}, fmt.Errorf("INFLUX_URL %q is no URL", getenv("INFLUX_URL"))
	}
	periodS, err := strconv.ParseFloat(or("PERIOD_S", "1"), 64)
	if err != nil || !(periodS >= 0.1 && periodS <= 60) {
		return settings{}, fmt.Errorf("PERIOD_S %q is not within 0.1 and 60", getenv("PERIOD_S"))
	}
	write := base.JoinPath("write")
	write.RawQuery = url.Values{
		"db":        {or("INFLUX_DB", "cadvisor")},
		"precision": {"ns"},
	}.Encode()
	return settings{
		writeURL: write.String(),
		project:  getenv("PROJECT"),
		period:   time.Duration(periodS * float64(time.Second)),
	}, nil
}
