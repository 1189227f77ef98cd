package edgenet

import (
	"net/http"
	"path"
	"strings"
	"unicode/utf8"
)

// mediaTypes is the disk service's own table: what a file is called must not
// depend on the host's mime files. Text types are UTF-8 unless their bytes are
// not.
var mediaTypes = map[string]string{
	"html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml",
	"css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "cjs": "text/javascript",
	"json": "application/json", "map": "application/json", "jsonld": "application/ld+json", "geojson": "application/geo+json",
	"webmanifest": "application/manifest+json", "wasm": "application/wasm",
	"txt": "text/plain", "text": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv", "tsv": "text/tab-separated-values",
	"ics": "text/calendar", "vcf": "text/vcard", "vtt": "text/vtt", "xml": "text/xml", "xsl": "text/xml",
	"yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml",
	"rss": "application/rss+xml", "atom": "application/atom+xml",
	"svg": "image/svg+xml", "png": "image/png", "apng": "image/apng", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
	"webp": "image/webp", "avif": "image/avif", "heic": "image/heic", "jxl": "image/jxl", "bmp": "image/bmp", "ico": "image/x-icon",
	"tif": "image/tiff", "tiff": "image/tiff",
	"woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf", "ttc": "font/collection", "eot": "application/vnd.ms-fontobject",
	"mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg",
	"wav": "audio/wav", "flac": "audio/flac", "weba": "audio/webm", "mid": "audio/midi",
	"mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "ogv": "video/ogg", "mov": "video/quicktime", "mpeg": "video/mpeg",
	"m3u8": "application/vnd.apple.mpegurl", "ts": "video/mp2t", "mpd": "application/dash+xml", "m4s": "video/iso.segment",
	"pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip", "tgz": "application/gzip", "tar": "application/x-tar",
	"bz2": "application/x-bzip2", "xz": "application/x-xz", "zst": "application/zstd", "7z": "application/x-7z-compressed", "br": "application/octet-stream",
	"jar": "application/java-archive", "epub": "application/epub+zip", "rtf": "application/rtf",
	"doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
	"docx":   "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx":   "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx":   "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"sqlite": "application/vnd.sqlite3", "glb": "model/gltf-binary", "gltf": "model/gltf+json", "stl": "model/stl",
	"exe": "application/octet-stream", "bin": "application/octet-stream", "dmg": "application/octet-stream", "iso": "application/octet-stream",
}

// mediaType returns the Content-Type of a file by its name, or by its first
// bytes when the name says nothing.
func mediaType(name string, content []byte) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	t, ok := mediaTypes[ext]
	if !ok {
		return http.DetectContentType(content)
	}
	if strings.HasPrefix(t, "text/") && utf8.Valid(content) {
		t += "; charset=utf-8"
	}
	return t
}
