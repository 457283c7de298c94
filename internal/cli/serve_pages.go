package cli

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/reports"
)

// filesPath is the prefix of the URLs of a store's files.
const filesPath = "/files/"

// policy lets a page load only its own inline scripts and styles, and pictures of the store:
// reports are single files.
const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kindsOfFiles maps the suffixes of a store's files to media types. Any other file is served as
// bytes (application/octet-stream), never as a page.
var kindsOfFiles = map[string]string{
	".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".xml": "application/xml", ".json": "application/json",
	".md": "text/plain; charset=utf-8", ".jsonl": "text/plain; charset=utf-8", ".csv": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

// storePages serves a store: the list of its campaigns, and its files below filesPath. root is the
// store's directory; no path leads out of it.
func storePages(store string, root *os.Root) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { campaignList(w, r, store) })
	mux.HandleFunc("GET "+filesPath, func(w http.ResponseWriter, r *http.Request) {
		serveFile(w, r, root, strings.TrimPrefix(r.URL.Path, filesPath))
	})
	return guarded(mux)
}

// guarded refuses requests whose Host is another machine's name: a foreign page could make a
// browser send such a request. It also sets the headers of every response.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !loopback(strings.Trim(host, "[]")) {
			http.Error(w, "this server answers its own machine only", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // a running campaign changes its files
		next.ServeHTTP(w, r)
	})
}

// listed is a campaign's row on the page that lists campaigns.
type listed struct {
	campaign.Holding
	When, Size, Files, Report string
}

var listPage = template.Must(template.New("list").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Lockstorm: campaigns</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8884}td.n{text-align:right}</style>
</head><body><h1>{{.Title}}</h1>
{{if .Campaigns}}<table><thead><tr><th>campaign</th><th>started</th><th>size</th><th>trials</th><th>outcome</th><th></th></tr></thead><tbody>
{{range .Campaigns}}<tr><td>{{if .Report}}<a href="{{.Report}}">{{.Name}}</a>{{else}}{{.Name}}{{end}}</td><td>{{.When}}</td><td class="n">{{.Size}}</td><td class="n">{{.Trials}}</td><td>{{.Outcome}}</td><td><a href="{{.Files}}">files</a></td></tr>
{{end}}</tbody></table>{{end}}{{if .Entries}}<ul>
{{range .Entries}}<li><a href="{{.}}">{{.}}</a></li>
{{end}}</ul>{{end}}{{if .Empty}}<p>{{.Empty}}</p>{{end}}</body></html>
`))

// listContent is the content of the page that lists campaigns or a directory.
type listContent struct {
	Title     string
	Campaigns []listed
	Entries   []string
	Empty     string
}

func writeList(w http.ResponseWriter, content listContent) {
	var b bytes.Buffer
	if err := listPage.Execute(&b, content); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = b.WriteTo(w) // the reader may have closed the connection
}

// campaignList writes the list of campaigns, newest first.
func campaignList(w http.ResponseWriter, _ *http.Request, store string) {
	all, err := campaign.Inventory(store)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	content := listContent{Title: "Campaigns"}
	if len(all) == 0 {
		content.Empty = "There are no campaigns in this store."
	}
	for _, h := range all {
		inside, err := filepath.Rel(store, h.Dir)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		x := listed{Holding: h, When: h.Started.UTC().Format(time.DateTime), Size: size(h.Bytes), Files: (&url.URL{Path: filesPath + filepath.ToSlash(inside) + "/"}).String()}
		if _, err := os.Stat(filepath.Join(h.Dir, reports.HTMLFile)); err == nil {
			x.Report = x.Files + reports.HTMLFile
		}
		content.Campaigns = append(content.Campaigns, x)
	}
	writeList(w, content)
}

// serveFile serves a file of the store. For a directory whose URL ends in a slash, it serves a
// list of the entries. A file that exists only compressed is unpacked.
func serveFile(w http.ResponseWriter, r *http.Request, root *os.Root, name string) {
	clean := path.Clean("/" + name)[1:]
	if clean == "" {
		clean = "."
	}
	info, err := root.Stat(clean)
	unpack := false
	if errors.Is(err, fs.ErrNotExist) {
		info, err = root.Stat(clean + packed.Suffix)
		unpack = err == nil
	}
	switch {
	case err != nil, !info.IsDir() && !info.Mode().IsRegular(): // a path that leads out of the store is an error, too
		http.NotFound(w, r)
		return
	case info.IsDir() && !strings.HasSuffix(r.URL.Path, "/"):
		http.Redirect(w, r, "./"+url.PathEscape(path.Base(r.URL.Path))+"/", http.StatusFound)
		return
	}
	stored := clean
	if unpack {
		stored += packed.Suffix
	}
	f, err := root.Open(stored)
	if err != nil { // the file was removed in the meantime
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	switch {
	case info.IsDir():
		serveDirectory(w, f, clean)
	case unpack:
		setKind(w, clean)
		serveUnpacked(w, f)
	default:
		setKind(w, clean)
		http.ServeContent(w, r, "", info.ModTime(), f)
	}
}

func setKind(w http.ResponseWriter, name string) {
	kind, ok := kindsOfFiles[path.Ext(name)]
	if !ok {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
}

// serveUnpacked writes the content of a compressed file. The file of a running or killed campaign
// may be incomplete: its readable part is written.
func serveUnpacked(w http.ResponseWriter, f io.Reader) {
	d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer d.Close()
	_, _ = io.Copy(w, d)
}

func serveDirectory(w http.ResponseWriter, f *os.File, name string) {
	entries, err := f.ReadDir(-1)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	content := listContent{Title: fmt.Sprintf("Files of %s", name), Entries: []string{"../"}}
	for _, e := range sortedEntries(entries) {
		content.Entries = append(content.Entries, "./"+e)
	}
	writeList(w, content)
}

// sortedEntries returns sorted file names, without the suffix of compressed files.
func sortedEntries(entries []os.DirEntry) (names []string) {
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), packed.Suffix)
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
