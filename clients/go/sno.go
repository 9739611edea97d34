// Package sno reads, makes and seals ids of the PostgreSQL extension sno, and passes them
// to and from database/sql.
package sno

import (
	"bytes"
	"database/sql/driver"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"regexp"
	"time"
)

// ID is an id.  It can be compared by ==, and be a key of maps.
type ID [10]byte

const (
	epoch    = 1262304000000 // 2010-01-01 UTC, in ms since 1970
	unit     = 4             // ms
	lastUnit = 1<<39 - 1
)

var alphabet = base32.NewEncoding("23456789abcdefghijklmnopqrstuvwx")

// Parse reads an id from its 16 characters.
func Parse(text string) (id ID, err error) {
	decoded, err := alphabet.DecodeString(text)
	// DecodeString ignores line breaks.
	if err != nil || len(text) != 16 || len(decoded) != len(id) {
		return ID{}, fmt.Errorf("sno: not an id: %q%s", text, advice(text))
	}
	copy(id[:], decoded)
	return id, nil
}

const anyUUID = `[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}`

// Texts that are given as ids by mistake, and what to do with them
var mistakes = []struct{ pattern, advice string }{
	{`^-?[0-9]+$`, "it is a number"},
	{`^(` + anyUUID + `|\{` + anyUUID + `\})$`, "FromUUID converts a uuid"},
	{`(?s)^.+[_-][2-9a-x]{16}$`, "Prefixes.Read converts an id with a prefix"},
	{`^[2-9A-Xa-x]{16}$`, "ids are in lower case"},
	{`^[0-9]{4}-[0-9]{2}-[0-9]{2}`, "Min and Max convert a time"},
}

func advice(text string) string {
	for _, mistake := range mistakes {
		if regexp.MustCompile(mistake.pattern).MatchString(text) {
			return " (" + mistake.advice + ")"
		}
	}
	return ""
}

// FromBytes reads an id from its 10 bytes.
func FromBytes(from []byte) (id ID, err error) {
	if len(from) != len(id) {
		return ID{}, fmt.Errorf("sno: an id has 10 bytes, not %d", len(from))
	}
	copy(id[:], from)
	return id, nil
}

// FromUUID reads an id from a uuid that UUID or UUIDv8 made.
func FromUUID(uuid [16]byte) (id ID, err error) {
	first, second := binary.BigEndian.Uint64(uuid[:]), binary.BigEndian.Uint64(uuid[8:])
	if first>>12&0xf == 8 && second>>62 == 2 && second<<22 == 0 {
		binary.BigEndian.PutUint64(id[:], first>>16<<16|first&0xfff<<4|second>>58&0xf)
		binary.BigEndian.PutUint16(id[8:], uint16(second>>42))
		return id, nil
	}
	if id, err = Parse(string(uuid[:])); err != nil {
		return ID{}, fmt.Errorf("sno: not the uuid of an id: %x", uuid)
	}
	return id, nil
}

// Min is the lowest id of the 4 ms that hold the time.  As in the database, a time out of
// range gives the lowest or the highest of all ids.
func Min(at time.Time) ID { return bound(at, 0x00) }

// Max is the highest id of the 4 ms that hold the time.  A time out of range gives what
// Min does.
func Max(at time.Time) ID { return bound(at, 0xff) }

func bound(at time.Time, rest byte) (id ID) {
	var head uint64
	if at.Before(time.UnixMilli(epoch)) {
		rest = 0
	} else if !at.Before(time.UnixMilli(epoch + (lastUnit+1)*unit)) {
		head, rest = lastUnit, 0xff
	} else {
		head = uint64(at.UnixMilli()-epoch) / unit
	}
	copy(id[:], bytes.Repeat([]byte{rest}, len(id)))
	id[4] = byte(head)<<1 | rest&1
	binary.BigEndian.PutUint32(id[:], uint32(head>>7))
	return id
}

// Compare is negative, zero or positive.  The order is that of the database.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// Time is when the id was made: the start of its 4 ms, in UTC.
func (id ID) Time() time.Time {
	units := int64(binary.BigEndian.Uint32(id[:]))<<7 | int64(id[4]>>1)
	return time.UnixMilli(epoch + units*unit).UTC()
}

// TickTock changes when the clock was set back.
func (id ID) TickTock() bool { return id[4]&1 == 1 }

// Meta is the metabyte.
func (id ID) Meta() byte { return id[5] }

// Partition tells who made the id.
func (id ID) Partition() uint16 { return binary.BigEndian.Uint16(id[6:]) }

// Sequence counts within the partition and the 4 ms.
func (id ID) Sequence() uint16 { return binary.BigEndian.Uint16(id[8:]) }

// UUID has the 16 characters as bytes, as id::uuid.
func (id ID) UUID() (uuid [16]byte) {
	alphabet.Encode(uuid[:], id[:])
	return uuid
}

// UUIDv8 is a uuid of version 8 (RFC 9562) that begins with the id, as sno_to_uuidv8(id).
func (id ID) UUIDv8() (uuid [16]byte) {
	head, tail := binary.BigEndian.Uint64(id[:]), uint64(id.Sequence())
	binary.BigEndian.PutUint64(uuid[:], head>>16<<16|8<<12|head>>4&0xfff)
	binary.BigEndian.PutUint64(uuid[8:], 2<<62|head&0xf<<58|tail<<42)
	return uuid
}

func (id ID) String() string { return alphabet.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler, and so JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, and so JSON.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// Value implements driver.Valuer.
func (id ID) Value() (driver.Value, error) { return id.String(), nil }

// Scan implements sql.Scanner.  It reads the text, or the 10 bytes.  For NULL, scan into
// a **ID or a *NullID.
func (id *ID) Scan(from any) (err error) {
	parsed := ID{}
	switch from := from.(type) {
	case string:
		parsed, err = Parse(from)
	case []byte:
		if len(from) == len(id) {
			copy(parsed[:], from)
		} else {
			parsed, err = Parse(string(from))
		}
	default:
		err = fmt.Errorf("sno: cannot scan %T into an id", from)
	}
	if err == nil {
		*id = parsed
	}
	return err
}

// NullID is an id or NULL, such as an element of an array.
type NullID struct {
	ID    ID
	Valid bool // false is NULL
}

// Value implements driver.Valuer.
func (n NullID) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil
	}
	return n.ID.Value()
}

// Scan implements sql.Scanner.
func (n *NullID) Scan(from any) error {
	if from == nil {
		*n = NullID{}
		return nil
	}
	err := n.ID.Scan(from)
	n.Valid = err == nil
	return err
}
