package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that the pages load, by a name that carries the hash of the content.
type assets struct {
	byName map[string]asset
	paths  map[string]string // where each file is, by its own name
}

type asset struct {
	kind    string
	content []byte
}

func loadAssets() (assets, error) {
	a := assets{byName: map[string]asset{}, paths: map[string]string{}}
	kinds := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		return a, fmt.Errorf("read the assets: %w", err)
	}
	for _, entry := range entries {
		content, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			return a, fmt.Errorf("read the asset %s: %w", entry.Name(), err)
		}
		sum := sha256.Sum256(content)
		extension := path.Ext(entry.Name())
		name := strings.TrimSuffix(entry.Name(), extension) + "." + hex.EncodeToString(sum[:6]) + extension
		a.byName[name] = asset{kind: kinds[extension], content: content}
		a.paths[entry.Name()] = root + "/assets/" + name
	}
	return a, nil
}

// ServeHTTP serves a file. Its name carries its hash, so it may be kept for good.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, known := a.byName[r.PathValue("name")]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(file.content) // a browser that has gone needs no file
}
