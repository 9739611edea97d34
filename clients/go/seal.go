package sno

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

// Seals encrypts ids, so that they tell nothing to those who don't have the secret: no
// time, no order, no number.  It is FF1 (NIST SP 800-38G) with AES-128 and an empty tweak.
// Goroutines may share it: nothing in it changes.
type Seals struct {
	texts ff1
	uuids []ff1
}

// NewSeals returns the seals of a secret of 16 bytes.  Uuids that were sealed by older
// secrets are unsealed, too.
func NewSeals(secret []byte, older ...[]byte) (*Seals, error) {
	s := &Seals{}
	for i, secret := range append([][]byte{secret}, older...) {
		if len(secret) != 16 {
			return nil, fmt.Errorf("sno: a secret has 16 bytes, not %d", len(secret))
		}
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.texts = newFF1(block, 32, 16, 40)
		}
		s.uuids = append(s.uuids, newFF1(block, 2, 122, 61))
	}
	return s, nil
}

// Seal encrypts an id to 16 characters, as sno_seal() does.
func (s *Seals) Seal(id ID) string {
	// The halves are 5 bytes each.
	a, b := s.texts.encrypt(id.halves())
	return fromHalves(a, b).String()
}

// Unseal decrypts what Seal made.  With another secret it gives another id, and no error.
func (s *Seals) Unseal(sealed string) (ID, error) {
	id, err := Parse(sealed)
	if err != nil {
		return ID{}, err
	}
	return fromHalves(s.texts.decrypt(id.halves())), nil
}

func (id ID) halves() (a, b uint64) {
	head := binary.BigEndian.Uint64(id[:])
	return head >> 24, head<<16&(1<<40-1) | uint64(id.Sequence())
}

func fromHalves(a, b uint64) (id ID) {
	binary.BigEndian.PutUint64(id[:], a<<24|b>>16)
	binary.BigEndian.PutUint16(id[8:], uint16(b))
	return id
}

// A uuid of version 4 leaves 122 bits free.  Sealed are the 80 bits of the id and 42 bits
// that are zero, in halves of 61.

// SealUUID encrypts an id to a uuid that looks like one of version 4, as sno_seal_uuid()
// does.
func (s *Seals) SealUUID(id ID) (uuid [16]byte) {
	head, tail := binary.BigEndian.Uint64(id[:]), uint64(id.Sequence())
	a, b := s.uuids[0].encrypt(head>>3, head&7<<58|tail<<42)
	binary.BigEndian.PutUint64(uuid[:], a>>13<<16|4<<12|a>>1&0xfff)
	binary.BigEndian.PutUint64(uuid[8:], 2<<62|a&1<<61|b)
	return uuid
}

// UnsealUUID decrypts what SealUUID made by one of the secrets.  It reports whether one of
// them did.  Another uuid passes with odds of 2^-42 for each secret.
func (s *Seals) UnsealUUID(uuid [16]byte) (ID, bool) {
	first, second := binary.BigEndian.Uint64(uuid[:]), binary.BigEndian.Uint64(uuid[8:])
	if first>>12&0xf != 4 || second>>62 != 2 {
		return ID{}, false
	}
	for _, by := range s.uuids {
		a, b := by.decrypt(first>>16<<13|first&0xfff<<1|second>>61&1, second&(1<<61-1))
		if b&(1<<42-1) == 0 {
			var id ID
			binary.BigEndian.PutUint64(id[:], a<<3|b>>58)
			binary.BigEndian.PutUint16(id[8:], uint16(b>>42))
			return id, true
		}
	}
	return ID{}, false
}

// ff1 encrypts two halves of bits as numerals of a radix.
type ff1 struct {
	block cipher.Block
	start [aes.BlockSize]byte
	bits  int // of a half
}

func newFF1(block cipher.Block, radix, numerals byte, bits int) ff1 {
	f := ff1{block: block, bits: bits}
	p := [aes.BlockSize]byte{1, 2, 1, 0, 0, radix, 10, numerals / 2, 11: numerals}
	block.Encrypt(f.start[:], p[:])
	return f
}

// round is what round i adds to the other half.
func (f *ff1) round(i int, half uint64) uint64 {
	q := f.start
	// The number of the round stands before the bytes of the half.
	q[aes.BlockSize-1-(f.bits+7)/8] ^= byte(i)
	binary.BigEndian.PutUint64(q[8:], binary.BigEndian.Uint64(q[8:])^half)
	f.block.Encrypt(q[:], q[:])
	// Of the first 12 bytes as a number, those that are left modulo 2^bits.
	return binary.BigEndian.Uint64(q[4:])
}

func (f *ff1) encrypt(a, b uint64) (uint64, uint64) {
	for i := 0; i < 10; i++ {
		a, b = b, (a+f.round(i, b))&(1<<f.bits-1)
	}
	return a, b
}

func (f *ff1) decrypt(a, b uint64) (uint64, uint64) {
	for i := 9; i >= 0; i-- {
		a, b = (b-f.round(i, a))&(1<<f.bits-1), a
	}
	return a, b
}
