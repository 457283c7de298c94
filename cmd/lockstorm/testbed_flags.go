package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/container"
	"github.com/lockstorm/lockstorm/testbed/external"
)

// testbedFlags are those of single testbeds. The zero value tells them nothing.
type testbedFlags struct {
	container    container.Options
	external     external.Options
	passwordFile string
}

// passwordVariable holds the password of the Redis that is named, where other
// users of this machine cannot see it.
const passwordVariable = "LOCKSTORM_REDIS_PASSWORD"

// register declares the flags.
func (f *testbedFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.container.Image, "image", "", "--testbed container: image of Redis or Valkey to run (default $"+container.ImageVariable+", or "+container.DefaultImage+"); pulled if it is not there")
	_ = flags.SetAnnotation("image", testbedAnnotation, []string{container.Name})
	e := &f.external
	of := func(name string) { _ = flags.SetAnnotation(name, testbedAnnotation, []string{external.Name}) }
	flags.StringSliceVar(&e.Addrs, "addr", nil, "--testbed external: where Redis is: host:port, redis://user@host:port/db or rediss://…; several are independent nodes")
	of("addr")
	flags.StringVar(&e.User, "user", "", "--testbed external: user of Redis's access control; the password comes from $"+passwordVariable+" or --password-file")
	of("user")
	flags.StringVar(&f.passwordFile, "password-file", "", "--testbed external: file that holds the password")
	of("password-file")
	flags.IntVar(&e.DB, "db", 0, "--testbed external: number of the database")
	of("db")
	flags.BoolVar(&e.TLS, "tls", false, "--testbed external: speak TLS")
	of("tls")
	flags.StringVar(&e.CA, "tls-ca", "", "--testbed external: file with certificates of authorities to believe (default the system's)")
	of("tls-ca")
	flags.StringVar(&e.Cert, "tls-cert", "", "--testbed external: file with our own certificate")
	of("tls-cert")
	flags.StringVar(&e.Key, "tls-key", "", "--testbed external: file with its key")
	of("tls-key")
	flags.BoolVar(&e.Really, "yes-really", false, "--testbed external: go on where a server might be hurt that others use")
	of("yes-really")
}

// testbedAnnotation marks a flag as one of some testbeds.
const testbedAnnotation = "testbed"

// ofTestbed says whether only some testbeds take the flag.
func ofTestbed(f *pflag.Flag) bool { return len(f.Annotations[testbedAnnotation]) > 0 }

// testbedWords are those flags of single testbeds that were given, for a command
// line that runs the same again. None holds a password: that is asked for in a file
// or the environment, and refused in an address.
func testbedWords(flags *pflag.FlagSet) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		if !ofTestbed(f) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name+"="+v)
			}
			return
		}
		words = append(words, "--"+f.Name+"="+f.Value.String())
	})
	return words
}

// checkTestbedFlags refuses flags of other testbeds.
func checkTestbedFlags(flags *pflag.FlagSet, testbed string) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && ofTestbed(f) && f.Annotations[testbedAnnotation][0] != testbed {
			err = campaign.Inputf("--%s: only --testbed %s takes it, not %s", f.Name, f.Annotations[testbedAnnotation][0], testbed)
		}
	})
	return err
}

// intend tells that trials will be run, and how much they will ask of the servers.
func (f *testbedFlags) intend(c campaign.Config, d campaign.Defaults) {
	f.container.Prepare = true
	f.external.Clients, f.external.Parallel = c.Clients, cmp.Or(c.Parallel, d.Parallel)
}

// newContainer finds the engine and the image, with this program itself for a reaper.
func newContainer(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that removes containers: %w", err)
	}
	f.container.Reaper = []string{self, reaperName}
	tb, err := container.New(ctx, f.container)
	if err != nil {
		return nil, err // not a nil *Testbed
	}
	return tb, nil
}

// newExternal opens the servers that the flags name.
func newExternal(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	o := f.external
	if len(o.Addrs) == 0 {
		return nil, fmt.Errorf("which Redis? expected --addr host:port")
	}
	o.Password = external.Secret(os.Getenv(passwordVariable))
	if f.passwordFile != "" {
		text, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return nil, fmt.Errorf("--password-file: %w", err)
		}
		o.Password = external.Secret(strings.TrimRight(string(text), "\r\n"))
	}
	return external.New(ctx, o)
}

// newLab takes the lab. How many trials may run at a time is part of what is
// intended.
func newLab(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	return external.OpenLab(ctx, f.external.Parallel)
}

// nodesOf is how many nodes an independent topology gets: on a testbed that has a
// certain number of them all, unless fewer are asked for.
func nodesOf(tb testbed.Testbed, asked int) (int, error) {
	counted, ok := tb.(interface{ Nodes() int })
	if !ok || counted.Nodes() == 1 {
		return asked, nil
	}
	if asked > counted.Nodes() {
		return 0, campaign.Inputf("--nodes %d: there are addresses of %d", asked, counted.Nodes())
	}
	return cmp.Or(asked, counted.Nodes()), nil
}
