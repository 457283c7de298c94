package redisserver

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// arguments that the server is started with.
func arguments(dir string, port int, o Options) ([]string, error) {
	args := []string{"--port", strconv.Itoa(port), "--protected-mode", "no", "--dir", dir, "--daemonize", "no"}
	first, err := sourceArguments(o.Source)
	if err != nil {
		return nil, err
	}
	args = append(args, first...)
	if o.Sentinel {
		return slices.Concat([]string{filepath.Join(dir, SentinelConfig)}, args, o.Args, []string{"--sentinel"}), nil
	}
	return slices.Concat(args, []string{
		"--save", "", "--appendonly", "no", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
	}, o.Args), nil
}

// SentinelConfig is the configuration file of a Sentinel, in its directory.
const SentinelConfig = "sentinel.conf"

// sourceArguments say where the server listens and where it connects from. Before
// Redis 7.0 the latter is the first address on which it listens.
func sourceArguments(source string) ([]string, error) {
	listen := []string{"--bind", "127.0.0.1"}
	if source == "" {
		return listen, nil
	}
	_, version, err := Find()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(version, "6.") {
		return []string{"--bind", source, "127.0.0.1"}, nil
	}
	return append(listen, "--bind-source-addr", source), nil
}
