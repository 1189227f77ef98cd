package cli

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"strings"

	edgenet "github.com/edge-runtime/edge/net"
)

//go:embed page.html
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// errorPage shows a browser what went wrong in a worker, with its source.
func (s *server) errorPage(info *edgenet.RequestInfo, err error) (contentType string, body []byte) {
	if !strings.Contains(info.Accept, "text/html") {
		return "", nil
	}
	x := s.app.Explain(info.Service, err)
	var out bytes.Buffer
	if page.Execute(&out, map[string]any{
		"Info": info, "Message": x.Message, "File": x.File, "Line": x.Line, "Col": x.Col,
		"Frame": strings.TrimRight(x.Frame(false), "\n"), "Stack": x.Stack,
	}) != nil {
		return "", nil // the JSON body says it as well
	}
	return "text/html; charset=utf-8", out.Bytes()
}
