// Ids without the database, compared with what the database says, and names before ids.

package main

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"
	"sno.example/clients/go"
)

func uuid(bytes [16]byte) string {
	text := hex.EncodeToString(bytes[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

func fields(id sno.ID) string {
	tickTock := 0
	if id.TickTock() {
		tickTock = 1
	}
	return fmt.Sprintf("%x\t%v\t%d\t%d\t%d\t%d\t%d", id[:], id, id.Time().UnixMilli(), tickTock,
		id.Meta(), id.Partition(), id.Sequence())
}

// mistakes looks at the advice for texts that are no ids.
func mistakes() {
	file, err := os.ReadFile(os.Getenv("CLIENTS") + "/../test/vectors/mistakes.tsv")
	must(err)
	for _, line := range strings.Split(strings.TrimSuffix(string(file), "\n"), "\n") {
		kind, text, _ := strings.Cut(line, "\t")
		_, err := sno.Parse(text)
		ok(err != nil && (strings.HasSuffix(err.Error(), ")") && strings.Contains(err.Error(), kind) ||
			kind == "none" && !strings.HasSuffix(err.Error(), ")")), fmt.Sprintf("advice for %q", text), err)
	}
}

// names runs the cases of test/vectors/prefixes.tsv.
func names() {
	file, err := os.ReadFile(os.Getenv("CLIENTS") + "/../test/vectors/prefixes.tsv")
	must(err)
	cases := map[string][][]string{}
	for _, line := range strings.Split(strings.TrimSuffix(string(file), "\n"), "\n") {
		fields := strings.Split(line, "\t")
		cases[fields[0]] = append(cases[fields[0]], fields[1:])
	}

	table := map[byte]string{}
	for _, row := range cases["prefix"] {
		meta, err := strconv.ParseUint(row[0], 10, 8)
		must(err)
		table[byte(meta)] = row[1]
	}
	prefixes, err := sno.NewPrefixes(table)
	must(err)
	for _, row := range cases["badprefix"] {
		// Numbers that are no metabytes have no place in a map of bytes.
		meta, err := strconv.ParseUint(row[0], 10, 8)
		if err != nil {
			continue
		}
		wrong := map[byte]string{byte(meta): row[1]}
		for other, prefix := range table {
			wrong[other] = prefix
		}
		_, err = sno.NewPrefixes(wrong)
		ok(err != nil, fmt.Sprintf("row %s %q", row[0], row[1]))
	}
	for _, row := range cases["id"] {
		id, err := sno.Parse(row[1])
		must(err)
		read, err := prefixes.Read(row[0])
		ok(err == nil && read == id, "read "+row[0], err)
		text, err := prefixes.Write(id)
		ok(err == nil && text == row[0], "and write it", text, err)
	}
	bad := append(cases["badid"], []string{"user_brpk4q725cf2m63l\n"}, []string{"user_\x00rpk4q725cf2m63l"})
	for _, row := range bad {
		id, err := prefixes.Read(row[0])
		ok(err != nil && id == sno.ID{}, fmt.Sprintf("text %q", row[0]), id)
	}
	none, err := sno.Parse(cases["noprefix"][0][0])
	must(err)
	same(prefixes.Prefix(none), "", "a metabyte without a prefix")
	_, err = prefixes.Write(none)
	ok(err != nil, "so it can't be written")
	_, err = sno.NewPrefixes(map[byte]string{2: "user\n"})
	ok(err != nil, "a prefix with a line feed")
	table[4] = "later"
	same(prefixes.Prefix(none), "", "the map may change afterwards")
}

func main() {
	db, err := sql.Open("postgres", "")
	must(err)
	file, err := os.ReadFile(os.Getenv("CLIENTS") + "/../test/vectors/sno.tsv")
	must(err)
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")

	var ids []sno.ID
	var seen []string
	for _, line := range lines {
		text := strings.Split(line, "\t")[1]
		id, err := sno.Parse(text)
		must(err)
		ids = append(ids, id)
		seen = append(seen, fields(id))
		for _, form := range [][16]byte{id.UUID(), id.UUIDv8()} {
			back, err := sno.FromUUID(form)
			must(err)
			if back != id {
				seen = append(seen, "another id of a uuid")
			}
		}
		back, err := sno.FromBytes(id[:])
		must(err)
		if back != id || id.Time().Location() != time.UTC {
			seen = append(seen, "another id of bytes, or not UTC")
		}
	}
	same(seen, lines, fmt.Sprintf("%d ids: text, bytes, uuids and fields", len(lines)))

	rows, err := db.Query(`SELECT id, id::uuid, sno_to_uuidv8(id), sno_min(id::timestamptz), sno_max(id::timestamptz)
		FROM unnest($1::sno[]) AS ids (id) ORDER BY ids.id`, pq.Array(ids))
	must(err)
	sort.Slice(ids, func(i, j int) bool { return ids[i].Compare(ids[j]) < 0 })
	var wanted [][5]string
	for rows.Next() {
		var row [5]string
		must(rows.Scan(&row[0], &row[1], &row[2], &row[3], &row[4]))
		wanted = append(wanted, row)
	}
	var rowsOfIds [][5]string
	for _, id := range ids {
		rowsOfIds = append(rowsOfIds, [5]string{id.String(), uuid(id.UUID()), uuid(id.UUIDv8()),
			sno.Min(id.Time()).String(), sno.Max(id.Time()).String()})
	}
	same(rowsOfIds, wanted, "order, uuids and bounds are those of the database")

	for _, text := range []string{"1969-12-31T23:59:59.999Z", "2009-12-31T23:59:59.999999Z", "2010-01-01T00:00:00Z",
		"2010-01-01T00:00:00.003999Z", "2010-01-01T00:00:00.004Z", "2026-02-03T04:05:06.789123+09:00",
		"2079-09-07T15:47:35.548Z", "2079-09-07T15:47:35.551999Z", "2079-09-07T15:47:35.552Z", "2200-01-01T00:00:00Z"} {
		at, err := time.Parse(time.RFC3339Nano, text)
		must(err)
		var min, max sno.ID
		must(db.QueryRow("SELECT sno_min($1), sno_max($1)", text).Scan(&min, &max))
		same([]sno.ID{sno.Min(at), sno.Max(at)}, []sno.ID{min, max}, "bounds of "+text)
	}
	same([]sno.ID{sno.Min(time.Time{}), sno.Max(time.Unix(1<<60, 0))}, []sno.ID{ids[0], ids[len(ids)-1]}, "bounds of Go's ends")

	const text = "brpk4q72xwf2m63l"
	id, err := sno.Parse(text)
	must(err)
	for _, wrong := range []string{"", strings.ToUpper(text), text + "2", text[1:], text + "\n", text[:8] + "\n" + text[9:],
		"\n" + text, "1" + text[1:], "y" + text[1:], text[:8] + "========", text[:15] + "=", strings.Repeat("\xff", 16)} {
		_, err := sno.Parse(wrong)
		scanned := id
		ok(err != nil && scanned.Scan(wrong) != nil && scanned.UnmarshalText([]byte(wrong)) != nil && scanned == id,
			fmt.Sprintf("text %q", wrong), err)
	}
	for _, size := range []int{0, 9, 11, 16} {
		_, err := sno.FromBytes(make([]byte, size))
		ok(err != nil && (&sno.ID{}).Scan(make([]byte, size)) != nil, fmt.Sprintf("%d bytes", size), err)
	}
	for _, wrong := range []interface{}{nil, 5, 1.5, time.Time{}} {
		scanned := id
		ok(scanned.Scan(wrong) != nil && scanned == id, fmt.Sprintf("scan %v", wrong))
	}
	for place, name := range map[int]string{6: "version", 8: "variant", 10: "zeros", 15: "last zeros"} {
		wrong := id.UUIDv8()
		wrong[place] ^= 0x41
		_, err := sno.FromUUID(wrong)
		ok(err != nil, "uuid with another "+name, err)
	}
	_, err = sno.FromUUID([16]byte{})
	ok(err != nil, "uuid of zeros", err)

	type document struct {
		Id    sno.ID            `json:"id"`
		None  *sno.ID           `json:"none"`
		Names map[sno.ID]string `json:"names"`
	}
	data, err := json.Marshal(document{id, nil, map[sno.ID]string{id: "Ada"}})
	must(err)
	same(string(data), `{"id":"`+text+`","none":null,"names":{"`+text+`":"Ada"}}`, "JSON")
	var read document
	must(json.Unmarshal(data, &read))
	same(read, document{id, nil, map[sno.ID]string{id: "Ada"}}, "JSON back")
	ok(json.Unmarshal([]byte(`{"id": "x"}`), &read) != nil, "a wrong id in JSON")
	names()
	mistakes()
	done()
}
