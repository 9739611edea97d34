// Sealed ids: the cases of test/vectors/sealed.tsv, a general FF1 that passes NIST's
// samples, and the database.

package main

import (
	"crypto/aes"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"strings"
	"sync"

	_ "github.com/lib/pq"
	"sno.example/clients/go"
)

func unhex(text string) []byte {
	bytes, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	must(err)
	return bytes
}

func mustParse(text string) sno.ID {
	id, err := sno.Parse(text)
	must(err)
	return id
}

func newSeals(secret []byte, older ...[]byte) *sno.Seals {
	s, err := sno.NewSeals(secret, older...)
	must(err)
	return s
}

// ff1 encrypts numerals by FF1, as NIST SP 800-38G describes it.
func ff1(key []byte, radix int, tweak []byte, x []int) []int {
	block, err := aes.NewCipher(key)
	must(err)
	number := func(numerals []int) *big.Int {
		n := new(big.Int)
		for _, numeral := range numerals {
			n.Add(n.Mul(n, big.NewInt(int64(radix))), big.NewInt(int64(numeral)))
		}
		return n
	}
	power := func(m int) *big.Int { return new(big.Int).Exp(big.NewInt(int64(radix)), big.NewInt(int64(m)), nil) }
	n, u := len(x), len(x)/2
	a, b := x[:u], x[u:]
	size := (new(big.Int).Sub(power(n-u), big.NewInt(1)).BitLen() + 7) / 8
	d := 4*((size+3)/4) + 4
	p := []byte{1, 2, 1, 0, 0, byte(radix), 10, byte(u), 0, 0, 0, byte(n), 0, 0, 0, byte(len(tweak))}
	for i := 0; i < 10; i++ {
		q := append(append([]byte{}, p...), tweak...)
		q = append(q, make([]byte, (16-(len(tweak)+size+1)%16)%16)...)
		q = append(append(q, byte(i)), number(b).FillBytes(make([]byte, size))...)
		r := make([]byte, 16)
		for ; len(q) > 0; q = q[16:] {
			for j := range r {
				r[j] ^= q[j]
			}
			block.Encrypt(r, r)
		}
		m := u
		if i%2 == 1 {
			m = n - u
		}
		// d is 16 at most here, so one block is enough.
		c := new(big.Int).Add(number(a), new(big.Int).SetBytes(r[:d]))
		c.Mod(c, power(m))
		numerals := make([]int, m)
		for j := m - 1; j >= 0; j-- {
			numeral := new(big.Int)
			c.DivMod(c, big.NewInt(int64(radix)), numeral)
			numerals[j] = int(numeral.Int64())
		}
		a, b = b, numerals
	}
	return append(append([]int{}, a...), b...)
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyz"

// numerals are those of a text in an alphabet.
func numerals(text, alphabet string) (x []int) {
	for _, c := range text {
		x = append(x, strings.IndexRune(alphabet, c))
	}
	return x
}

func text(x []int, alphabet string) string {
	var text strings.Builder
	for _, numeral := range x {
		text.WriteByte(alphabet[numeral])
	}
	return text.String()
}

func nist() {
	key := unhex("2b7e151628aed2a6abf7158809cf4f3c")
	same(text(ff1(key, 10, nil, numerals("0123456789", digits)), digits), "2433477484", "NIST's sample 1")
	same(text(ff1(key, 10, unhex("39383736353433323130"), numerals("0123456789", digits)), digits), "6124200773",
		"NIST's sample 2")
	same(text(ff1(key, 36, unhex("3737373770717273373737"), numerals("0123456789abcdefghi", digits)), digits),
		"a9tv40mll9kdu509eum", "NIST's sample 3")

	const alphabet = "23456789abcdefghijklmnopqrstuvwx"
	random := rand.New(rand.NewSource(1))
	var wrong []string
	for i := 0; i < 300; i++ {
		var id sno.ID
		random.Read(key)
		random.Read(id[:])
		s := newSeals(key)
		if s.Seal(id) != text(ff1(key, 32, nil, numerals(id.String(), alphabet)), alphabet) {
			wrong = append(wrong, s.Seal(id))
		}
		bits := text(ff1(key, 2, nil, numerals(binary(id[:])+strings.Repeat("0", 42), digits)), digits)
		uuid := s.SealUUID(id)
		if wanted := bits[:48] + "0100" + bits[48:60] + "10" + bits[60:]; binary(uuid[:]) != wanted {
			wrong = append(wrong, fmt.Sprintf("%x", uuid))
		}
	}
	same(wrong, []string(nil), "300 ids as by the general FF1")
}

func binary(bytes []byte) (text string) {
	for _, b := range bytes {
		text += fmt.Sprintf("%08b", b)
	}
	return text
}

// seen seals an id, and unseals that, in the form of the vectors.
func seen(secret string, id sno.ID) string {
	s := newSeals(unhex(secret))
	sealed, uuid := s.Seal(id), s.SealUUID(id)
	back, err := s.Unseal(sealed)
	must(err)
	if again, known := s.UnsealUUID(uuid); back != id || !known || again != id {
		return "another id"
	}
	return fmt.Sprintf("%s\t%v\t%s\t%x-%x-%x-%x-%x", secret, id, sealed, uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
}

func vectors() (lines []string) {
	file, err := os.ReadFile(os.Getenv("CLIENTS") + "/../test/vectors/sealed.tsv")
	must(err)
	var found []string
	for _, line := range strings.Split(string(file), "\n") {
		if line != "" && line[0] != '#' {
			lines = append(lines, line)
			fields := strings.Split(line, "\t")
			found = append(found, seen(fields[0], mustParse(fields[1])))
		}
	}
	ok(len(lines) > 0, "vectors")
	same(found, lines, fmt.Sprintf("%d sealed ids", len(lines)))
	return lines
}

func keys() {
	first, second := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	id := mustParse("brpk4q72xwf2m63l")
	older, newer, both := newSeals(first), newSeals(second), newSeals(second, first)
	uuid := older.SealUUID(id)
	back, known := both.UnsealUUID(uuid)
	ok(known && back == id, "a uuid of an older secret", back)
	back, known = both.UnsealUUID(newer.SealUUID(id))
	ok(known && back == id && both.SealUUID(id) == newer.SealUUID(id), "a uuid of the first secret", back)
	same(both.Seal(id), newer.Seal(id), "a text of the first secret")
	back, err := both.Unseal(older.Seal(id))
	ok(err == nil && back != id, "a text of an older secret: another id", err)
	_, known = newer.UnsealUUID(uuid)
	ok(!known, "a uuid of another secret")
	var forged int
	for bit := 0; bit < 128; bit++ {
		changed := uuid
		changed[bit/8] ^= 0x80 >> (bit % 8)
		if _, known := both.UnsealUUID(changed); known {
			forged++
		}
	}
	same(forged, 0, "a uuid with another bit")
	for _, wrong := range [][16]byte{{}, id.UUID(), id.UUIDv8()} {
		_, known := both.UnsealUUID(wrong)
		ok(!known, fmt.Sprintf("not sealed: %x", wrong))
	}
	for _, wrong := range []string{"", strings.ToUpper(older.Seal(id)), "x", older.Seal(id) + "2"} {
		_, err := both.Unseal(wrong)
		ok(err != nil, fmt.Sprintf("no text of an id: %q", wrong))
	}
	for _, size := range []int{0, 15, 17, 24, 32} {
		_, err := sno.NewSeals(make([]byte, size))
		_, olderErr := sno.NewSeals(first, make([]byte, size))
		ok(err != nil && olderErr != nil, fmt.Sprintf("a secret of %d bytes", size), err)
	}

	var group sync.WaitGroup
	var wrong [8]int
	for i := range wrong {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for j := 0; j < 1000; j++ {
				id := sno.ID{0: byte(i), 8: byte(j >> 8), 9: byte(j)}
				text, err := both.Unseal(both.Seal(id))
				uuid, known := both.UnsealUUID(both.SealUUID(id))
				if err != nil || !known || text != id || uuid != id {
					wrong[i]++
				}
			}
		}(i)
	}
	group.Wait()
	same(wrong, [8]int{}, "8 goroutines share it")
}

func server(lines []string) {
	db, err := sql.Open("postgres", "")
	must(err)
	var available bool
	must(db.QueryRow("SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'sno_seal'").Scan(&available))
	if !available {
		ok(true, "as the database # SKIP no sno_seal")
		return
	}
	_, err = db.Exec("CREATE EXTENSION sno_seal")
	must(err)
	var wrong []string
	for i, line := range lines {
		fields := strings.Split(line, "\t")
		_, err := db.Exec("SELECT sno_seal_create_key($1, $2)", fmt.Sprint(i), unhex(fields[0]))
		must(err)
		var sealed string
		must(db.QueryRow("SELECT sno_seal($1::sno, $2)", fields[1], fmt.Sprint(i)).Scan(&sealed))
		if sealed != newSeals(unhex(fields[0])).Seal(mustParse(fields[1])) {
			wrong = append(wrong, line)
		}
	}
	same(wrong, []string(nil), "as the database")
}

func main() {
	nist()
	lines := vectors()
	keys()
	server(lines)
	done()
}
