package sno

import (
	"fmt"
	"regexp"
	"strings"
)

// Prefixes are names of metabytes, which stand before ids: user_9d5ve82226224222, as
// sno_prefixed() writes it.  Goroutines may share them: nothing in them changes.
type Prefixes struct {
	prefixes map[byte]string
}

var isPrefix = regexp.MustCompile(`\A[a-z]([a-z0-9_]*[a-z0-9])?\z`).MatchString

// NewPrefixes returns the prefixes of metabytes.  No two metabytes have the same one.
func NewPrefixes(prefixes map[byte]string) (*Prefixes, error) {
	p := &Prefixes{make(map[byte]string, len(prefixes))}
	metas := make(map[string]byte, len(prefixes))
	for meta, prefix := range prefixes {
		if len(prefix) > 63 || !isPrefix(prefix) {
			return nil, fmt.Errorf("sno: not a prefix: %q", prefix)
		}
		p.prefixes[meta], metas[prefix] = prefix, meta
	}
	if len(metas) < len(prefixes) {
		return nil, fmt.Errorf("sno: a prefix belongs to one metabyte")
	}
	return p, nil
}

// Prefix returns the prefix of the id's metabyte, as sno_prefix() does, or "".
func (p *Prefixes) Prefix(id ID) string {
	return p.prefixes[id.Meta()]
}

// Write returns the prefix, an underscore, and the id, as sno_prefixed() does.
func (p *Prefixes) Write(id ID) (string, error) {
	prefix := p.Prefix(id)
	if prefix == "" {
		return "", fmt.Errorf("sno: metabyte %d has no prefix", id.Meta())
	}
	return prefix + "_" + id.String(), nil
}

// Read returns the id of such a text, as sno_from_prefixed() does.
func (p *Prefixes) Read(text string) (ID, error) {
	end := strings.LastIndexByte(text, '_')
	id, err := Parse(text[end+1:])
	if err != nil {
		return ID{}, err
	}
	if end < 1 || text[:end] != p.Prefix(id) {
		return ID{}, fmt.Errorf("sno: wrong prefix of an id: %q", text)
	}
	return id, nil
}
