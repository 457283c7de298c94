package cli

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

// testbedFlags are the flags that only some testbeds take. The zero value sets none.
type testbedFlags struct {
	container    container.Options
	external     external.Options
	passwordFile string
}

// passwordVariable is the environment variable with the Redis password. The password is not a
// flag: other users of the machine can see command lines.
const passwordVariable = external.PasswordVariable

func (f *testbedFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.container.Image, imageFlag, "", "image of Redis or Valkey to run (default $"+container.ImageVariable+", or "+container.DefaultImage+"); pulled if it is not there")
	_ = flags.SetAnnotation(imageFlag, testbedAnnotation, []string{container.Name})
	group(flags, "Only with --testbed "+container.Name, imageFlag)
	f.registerExternal(flags)
}

func (f *testbedFlags) registerExternal(flags *pflag.FlagSet) {
	e := &f.external
	flags.StringSliceVar(&e.Addrs, "addr", nil, "where Redis is: host:port, redis://user@host:port/db or rediss://…; several are independent nodes")
	flags.StringVar(&e.User, "user", "", "user of Redis's access control; the password comes from $"+passwordVariable+" or --password-file")
	flags.StringVar(&f.passwordFile, "password-file", "", "file that holds the password")
	flags.IntVar(&e.DB, "db", 0, "number of the database")
	flags.BoolVar(&e.TLS, "tls", false, "speak TLS")
	flags.StringVar(&e.CA, "tls-ca", "", "file with certificates of authorities to believe (default the system's)")
	flags.StringVar(&e.Cert, "tls-cert", "", "file with our own certificate")
	flags.StringVar(&e.Key, "tls-key", "", "file with its key")
	flags.BoolVar(&e.Really, consentFlag, false, external.Harms)
	flags.BoolVar(&e.Own, ownFlag, false, "nobody else uses the Redis, so its access control need not confine the user to names of lockstorm")
	for _, name := range []string{"addr", "user", "password-file", "db", "tls", "tls-ca", "tls-cert", "tls-key", consentFlag, ownFlag} {
		_ = flags.SetAnnotation(name, testbedAnnotation, []string{external.Name})
		group(flags, "Only with --testbed "+external.Name, name)
	}
}

// testbedAnnotation is the key of a flag's annotation that names the testbed that takes the flag. A
// flag that all testbeds take has no such annotation.
const testbedAnnotation = "testbed"

// ofTestbed says whether only some testbeds take the flag.
func ofTestbed(f *pflag.Flag) bool { return len(f.Annotations[testbedAnnotation]) > 0 }

// repeatable says whether a command line that repeats the run needs the flag. The user's consent
// is valid for one run only.
func repeatable(f *pflag.Flag) bool {
	return ofTestbed(f) && f.Name != consentFlag && f.Name != ownFlag
}

const (
	imageFlag   = "image"            // of testbed container
	consentFlag = "yes-really"       // the user's consent to actions that might harm a server
	ownFlag     = "i-own-this-redis" // likewise
)

// settle sets a missing --image of testbed container to this machine's default. The image is then
// stored with the run, because the default may differ on the machine of a replay.
func settle(flags *pflag.FlagSet, testbed string) {
	if image := flags.Lookup(imageFlag); testbed == container.Name && image.Value.String() == "" {
		_ = flags.Set(imageFlag, cmp.Or(os.Getenv(container.ImageVariable), container.DefaultImage))
	}
}

// recall sets testbed flags from the words that testbedWords returned, except flags that the
// command line sets.
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

// testbedWords returns the given testbed flags, for a command line that repeats the run. They
// contain no password: a password comes from a file or the environment, and an address with a
// password is refused.
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

// checkTestbedFlags returns an input.Error if a flag belongs to another testbed.
func checkTestbedFlags(flags *pflag.FlagSet, testbed string) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && ofTestbed(f) && f.Annotations[testbedAnnotation][0] != testbed {
			err = input.Errorf("--%s: only --testbed %s takes it, not %s", f.Name, f.Annotations[testbedAnnotation][0], testbed)
		}
	})
	return err
}

// intend announces to the testbeds that trials will run, with the numbers of clients and of
// parallel trials.
func (f *testbedFlags) intend(c campaign.Config, d campaign.Defaults) {
	f.container.Prepare = true
	f.external.Clients, f.external.Parallel = c.Clients, cmp.Or(c.Parallel, d.Parallel)
}

// newContainer opens the container testbed. This program also serves as the reaper.
func newContainer(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that removes containers: %w", err)
	}
	f.container.Reaper = []string{self, reaperName}
	tb, err := container.New(ctx, f.container)
	if err != nil {
		return nil, err // a nil *Testbed, returned as an interface, would not equal nil
	}
	return tb, nil
}

func newExternal(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	o, err := f.named()
	if err != nil {
		return nil, err
	}
	tb, err := external.New(ctx, o)
	if err != nil {
		return nil, err // a nil *Testbed, returned as an interface, would not equal nil
	}
	return tb, nil
}

var errNoRedis = errors.New("which Redis? expected --addr host:port")

// named returns the options for testbed external: what the flags say, and the password of Redis.
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

// newLab opens the lab. intend must have set f.external.Parallel before.
func newLab(ctx context.Context, f testbedFlags) (testbed.Testbed, error) {
	return container.OpenLab(ctx, f.external.Parallel)
}

// nodesOf returns the number of nodes of an independent topology. If the testbed has a fixed number
// of several nodes, all are used unless the user asks for fewer. It is an input.Error to ask for
// more.
func nodesOf(tb testbed.Testbed, asked int) (int, error) {
	counted, ok := tb.(interface{ Nodes() int })
	if !ok || counted.Nodes() == 1 {
		return asked, nil
	}
	if asked > counted.Nodes() {
		return 0, input.Errorf("--nodes %d: addresses name %d", asked, counted.Nodes())
	}
	return cmp.Or(asked, counted.Nodes()), nil
}
