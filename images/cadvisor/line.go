package main

import (
	"fmt"
	"strings"

	v2 "github.com/google/cadvisor/info/v2"
)

const measurement = "container"

var escapeTag = strings.NewReplacer(",", `\,`, " ", `\ `, "=", `\=`, "\n", `\ `, `\`, "/")

// toLine says a container's newest sample in InfluxDB's line protocol; false if there is none yet.
func toLine(info v2.ContainerInfo) (string, bool) {
	if len(info.Stats) == 0 || len(info.Spec.Aliases) == 0 {
		return "", false
	}
	stats := info.Stats[len(info.Stats)-1]
	if stats.Cpu == nil || stats.Memory == nil {
		return "", false
	}
	var line strings.Builder
	line.WriteString(measurement)
	// tags in the order of their names, as InfluxDB wants them
	writeTag(&line, "container", info.Spec.Aliases[0])
	writeTag(&line, "service", service(info.Spec.Labels))
	fmt.Fprintf(&line, " cpu_usage_ns=%di,memory_bytes=%di",
		stats.Cpu.Usage.Total, stats.Memory.WorkingSet)
	if stats.Network != nil {
		var in, out uint64
		for _, device := range stats.Network.Interfaces {
			in += device.RxBytes
			out += device.TxBytes
		}
		fmt.Fprintf(&line, ",net_in_bytes=%di,net_out_bytes=%di", in, out)
	}
	fmt.Fprintf(&line, " %d\n", stats.Timestamp.UnixNano())
	return line.String(), true
}

func service(labels map[string]string) string {
	if name := labels["tollgate.service"]; name != "" {
		return name
	}
	return labels["com.docker.compose.service"]
}

func writeTag(line *strings.Builder, name, value string) {
	if value != "" { // InfluxDB refuses empty tags
		line.WriteString("," + name + "=" + escapeTag.Replace(value))
	}
}
