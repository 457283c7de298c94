package redisserver

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func arguments(dir string, port int, o Options) ([]string, error) {
	args := Basics(dir, port)
	first, err := sourceArguments(o.Source)
	if err != nil {
		return nil, err
	}
	args = append(args, first...)
	if o.Sentinel {
		return slices.Concat([]string{filepath.Join(dir, SentinelConfig)}, args, o.Args, []string{"--sentinel"}), nil
	}
	return slices.Concat(args, Data(), o.Args), nil
}

// Basics returns the options of every server, including Sentinels.
func Basics(dir string, port int) []string {
	return []string{"--port", strconv.Itoa(port), "--protected-mode", "no", "--dir", dir, "--daemonize", "no"}
}

// Data returns the options of every server that keeps data: it saves nothing to disk, and its
// replicas sync without delay. Later options override these.
func Data() []string {
	return []string{"--save", "", "--appendonly", "no", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"}
}

// SentinelConfig is the configuration file of a Sentinel, in Options.Dir.
const SentinelConfig = "sentinel.conf"

// sourceArguments returns the arguments that set the server's listen addresses and the source
// address of its connections. Before Redis 7.0 the source address is the first listen address.
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
