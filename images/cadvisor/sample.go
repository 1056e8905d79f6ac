package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/google/cadvisor/cache/memory"
	"github.com/google/cadvisor/container"
	"github.com/google/cadvisor/container/docker"
	_ "github.com/google/cadvisor/container/docker/install" // makes Docker known to cAdvisor
	v2 "github.com/google/cadvisor/info/v2"
	"github.com/google/cadvisor/manager"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/moby/moby/client"
)

// cAdvisor's own schedule waits between one and two intervals, by chance (jitter in its
// manager/container.go). Samples on demand are taken at once, so a schedule of ours demands them
// and cAdvisor's own hardly ever comes.
const ownInterval = time.Hour

// Containers are seen by inotify when they start; this looks for those that were missed.
const searchInterval = 2 * time.Second

var cadvisorFlags = map[string]string{
	"docker_only":                  "true",
	"housekeeping_interval":        ownInterval.String(),
	"global_housekeeping_interval": searchInterval.String(),
	"update_machine_info_interval": "24h", // looks at every disk; nothing here uses it
}

func newManager() (manager.Manager, error) {
	for name, value := range cadvisorFlags {
		if err := flag.Set(name, value); err != nil {
			return nil, fmt.Errorf("cAdvisor's flag %s: %w", name, err)
		}
	}
	if err := findContainerd(); err != nil {
		return nil, fmt.Errorf("ask the engine: %w", err)
	}
	interval, dynamic := ownInterval, false
	return manager.New(
		memory.New(time.Minute, nil),
		sysfs.NewRealSysFs(),
		manager.HousekeepingConfig{Interval: &interval, AllowDynamic: &dynamic},
		container.MetricSet{
			container.CpuUsageMetrics:     {},
			container.MemoryUsageMetrics:  {},
			container.NetworkUsageMetrics: {},
		},
		http.DefaultClient,
		[]string{""}, // cgroups beside Docker's: none
		[]string{""}, // environment of containers: none
		"",           // perf events: none
		0,            // resctrl: never
	)
}

// findContainerd asks the engine where its containerd listens: where that keeps the images, cAdvisor
// asks it for each container, and takes it to be where a containerd of the system's own is. Without
// an engine cAdvisor would go on and see nothing: that is an error here.
func findContainerd() error {
	engine, err := docker.Client()
	if err != nil {
		return err
	}
	told, err := engine.Info(context.Background(), client.InfoOptions{})
	if err != nil || told.Info.Containerd == nil {
		return err
	}
	return flag.Set("containerd", told.Info.Containerd.Address)
}

// sampleForever hands every container's sample to the writer once a period.
func sampleForever(writer *writer, settings settings) error {
	containers, err := newManager()
	if err != nil {
		return err
	}
	if err := containers.Start(); err != nil {
		return err
	}
	log.Printf("sampling every %s, project %q", settings.period, settings.project)
	start := time.Now()
	for index := int64(1); ; {
		time.Sleep(time.Until(start.Add(time.Duration(index) * settings.period)))
		writer.add(sample(containers, settings.project))
		// a sample that took longer than a period costs the ones it overlapped, no more
		index = max(index, int64(time.Since(start)/settings.period)) + 1
	}
}

// sample takes a fresh sample of each container of the project, all at once.
func sample(containers manager.Manager, project string) []string {
	fresh := time.Duration(0)
	// an error says which containers ended meanwhile; they have no sample, the others have
	infos, _ := containers.GetContainerInfoV2("/", v2.RequestOptions{
		IdType: v2.TypeDocker, Recursive: true, Count: 1, MaxAge: &fresh,
	})
	var lines []string
	for _, info := range infos {
		labels := info.Spec.Labels
		if project != "" && labels["com.docker.compose.project"] != project {
			continue
		}
		if line, ok := toLine(info); ok {
			lines = append(lines, line)
		}
	}
	return lines
}
