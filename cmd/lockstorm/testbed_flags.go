package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
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
const passwordVariable = external.PasswordVariable

// register declares the flags.
func (f *testbedFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.container.Image, imageFlag, "", "--testbed container: image of Redis or Valkey to run (default $"+container.ImageVariable+", or "+container.DefaultImage+"); pulled if it is not there")
	_ = flags.SetAnnotation(imageFlag, testbedAnnotation, []string{container.Name})
	f.registerExternal(flags)
}

// registerExternal declares those that say which Redis is meant.
func (f *testbedFlags) registerExternal(flags *pflag.FlagSet) {
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
	flags.BoolVar(&e.Really, consentFlag, false, "--testbed external: "+external.Harms)
	of(consentFlag)
}

// testbedAnnotation marks a flag as one of some testbeds.
const testbedAnnotation = "testbed"

// ofTestbed says whether only some testbeds take the flag.
func ofTestbed(f *pflag.Flag) bool { return len(f.Annotations[testbedAnnotation]) > 0 }

// repeatable says whether it also makes another run the same. What the user agreed to
// was for one run alone.
func repeatable(f *pflag.Flag) bool { return ofTestbed(f) && f.Name != consentFlag }

const (
	imageFlag   = "image"      // of testbed container
	consentFlag = "yes-really" // to what might hurt a server
)

// settle makes chosen what this machine's environment chooses for a testbed: elsewhere
// that may be another.
func settle(flags *pflag.FlagSet, testbed string) {
	if image := flags.Lookup(imageFlag); testbed == container.Name && image.Value.String() == "" {
		_ = flags.Set(imageFlag, cmp.Or(os.Getenv(container.ImageVariable), container.DefaultImage))
	}
}

// recall sets the flags of single testbeds that words, which testbedWords made, have
// and the command line has not.
func recall(flags *pflag.FlagSet, words []string) error {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, word := range words {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if f := flags.Lookup(name); f == nil || !repeatable(f) || given[name] {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return input.Errorf("--%s %q, as the campaign had it: %w", name, value, err)
		}
	}
	return nil
}

// testbedWords are those flags of single testbeds that were given, for a command
// line that runs the same again. None holds a password: that is asked for in a file
// or the environment, and refused in an address.
func testbedWords(flags *pflag.FlagSet) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		if !repeatable(f) {
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
			err = input.Errorf("--%s: only --testbed %s takes it, not %s", f.Name, f.Annotations[testbedAnnotation][0], testbed)
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
	o, err := f.named()
	if err != nil {
		return nil, err
	}
	tb, err := external.New(ctx, o)
	if err != nil {
		return nil, err // not a nil *Testbed
	}
	return tb, nil
}

// errNoRedis says that nobody told which Redis is meant.
var errNoRedis = errors.New("which Redis? expected --addr host:port")

// named is which Redis the flags name, with the password.
func (f *testbedFlags) named() (external.Options, error) {
	o := f.external
	if len(o.Addrs) == 0 {
		return o, errNoRedis
	}
	o.Password = external.Secret(os.Getenv(passwordVariable))
	if f.passwordFile != "" {
		text, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return o, fmt.Errorf("--password-file: %w", err)
		}
		o.Password = external.Secret(strings.TrimRight(string(text), "\r\n"))
	}
	return o, nil
}

// newLab takes the lab. How many trials may run at a time is part of what is
// intended.
func newLab(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	return container.OpenLab(ctx, f.external.Parallel)
}

// nodesOf is how many nodes an independent topology gets: on a testbed that has a
// certain number of them all, unless fewer are asked for.
func nodesOf(tb testbed.Testbed, asked int) (int, error) {
	counted, ok := tb.(interface{ Nodes() int })
	if !ok || counted.Nodes() == 1 {
		return asked, nil
	}
	if asked > counted.Nodes() {
		return 0, input.Errorf("--nodes %d: there are addresses of %d", asked, counted.Nodes())
	}
	return cmp.Or(asked, counted.Nodes()), nil
}
