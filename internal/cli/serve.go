package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
)

// parted is the time limit for unfinished requests after the server is told to stop, and for
// reading the headers of a request.
const parted = 5 * time.Second

func (a *app) serveCommand() *cobra.Command {
	var store, address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show the campaigns of a store in a browser, on this machine only",
		Long: `Serve lists the campaigns of a store on a web page, and shows their reports and
all their files. It only reads. It listens on a loopback address, and answers
requests that name this machine; its pages load nothing from elsewhere. Files
that are stored compressed are shown unpacked. Ctrl-C ends it.`,
		Example: `  lockstorm serve
  lockstorm serve --store /srv/locks --listen localhost:0`,
		Args: expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), store, address)
		},
	}
	cmd.Flags().StringVar(&store, "store", campaign.DefaultConfig().Store, "directory of the store")
	cmd.Flags().StringVar(&address, "listen", "127.0.0.1:7480", "loopback address and port to listen on; port 0 is any that is free")
	return cmd
}

// serve serves a store until ctx ends.
func (a *app) serve(ctx context.Context, store, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return input.Errorf("--listen %q: expected an address and a port, such as 127.0.0.1:7480", address)
	}
	if !loopback(host) {
		return input.Errorf("--listen %q: expected a loopback address, such as 127.0.0.1:7480: stored histories are for this machine only", address)
	}
	root, err := os.OpenRoot(store)
	if err != nil {
		return input.Errorf("--store %s: expected a directory with campaigns: %w", store, errors.Unwrap(err))
	}
	defer root.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return input.Errorf("--listen %s: %w", address, errors.Unwrap(err))
	}
	a.say(a.stdout, "%s is served on http://%s (Ctrl-C ends it)", filepath.Clean(store), listener.Addr())
	server := &http.Server{Handler: storePages(store, root), ReadHeaderTimeout: parted}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err = <-ended:
		return fmt.Errorf("serve %s: %w", store, err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), parted)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		return errors.Join(fmt.Errorf("serve %s: %w", store, err), server.Close())
	}
	<-ended
	return nil
}

// loopback says whether host is localhost or a loopback address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
