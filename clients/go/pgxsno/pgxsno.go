// Package pgxsno teaches pgx 5 the type sno: ids and arrays of ids go in binary.
package pgxsno

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	sno "sno.example/clients/go"
)

// Register teaches a connection the type.  It is the AfterConnect of a pool.
func Register(ctx context.Context, conn *pgx.Conn) error {
	var element, array uint32
	err := conn.QueryRow(ctx, `SELECT oid, typarray FROM pg_catalog.pg_type
		WHERE oid = pg_catalog.to_regtype('pg_catalog.sno')`).Scan(&element, &array)
	if err != nil {
		return fmt.Errorf("sno: looking for the type: %w", err)
	}
	types := conn.TypeMap()
	id := &pgtype.Type{Name: "sno", OID: element, Codec: Codec{}}
	types.RegisterType(id)
	types.RegisterType(&pgtype.Type{Name: "_sno", OID: array, Codec: &pgtype.ArrayCodec{ElementType: id}})
	// The simple protocol knows the types of Go only.
	for _, value := range []any{sno.ID{}, sno.NullID{}} {
		types.RegisterDefaultPgType(value, "sno")
	}
	for _, value := range []any{[]sno.ID{}, []*sno.ID{}, []sno.NullID{}} {
		types.RegisterDefaultPgType(value, "_sno")
	}
	return nil
}

// Codec is the pgtype.Codec of ids.
type Codec struct{}

// FormatSupported implements pgtype.Codec.
func (Codec) FormatSupported(format int16) bool {
	return format == pgtype.TextFormatCode || format == pgtype.BinaryFormatCode
}

// PreferredFormat implements pgtype.Codec.
func (Codec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode implements pgtype.Codec.
func (Codec) PlanEncode(_ *pgtype.Map, _ uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case sno.ID, pgtype.TextValuer:
		return encodePlan(format)
	}
	return nil
}

type encodePlan int16

func (format encodePlan) Encode(value any, to []byte) ([]byte, error) {
	id, isID := value.(sno.ID)
	if !isID {
		text, err := value.(pgtype.TextValuer).TextValue()
		if err != nil || !text.Valid {
			return nil, err
		}
		if id, err = sno.Parse(text.String); err != nil {
			return nil, err
		}
	}
	if format == pgtype.TextFormatCode {
		return append(to, id.String()...), nil
	}
	return append(to, id[:]...), nil
}

// PlanScan implements pgtype.Codec.
func (Codec) PlanScan(_ *pgtype.Map, _ uint32, format int16, target any) pgtype.ScanPlan {
	switch target.(type) {
	case *sno.ID, pgtype.TextScanner:
		return scanPlan(format)
	}
	return nil
}

type scanPlan int16

func (format scanPlan) Scan(from []byte, target any) error {
	id, isID := target.(*sno.ID)
	if from == nil {
		if isID {
			return fmt.Errorf("cannot scan NULL into %T", target)
		}
		return target.(pgtype.TextScanner).ScanText(pgtype.Text{})
	}
	decoded, err := decode(int16(format), from)
	if err != nil {
		return err
	}
	if isID {
		*id = decoded
		return nil
	}
	return target.(pgtype.TextScanner).ScanText(pgtype.Text{String: decoded.String(), Valid: true})
}

func decode(format int16, from []byte) (sno.ID, error) {
	if format == pgtype.TextFormatCode {
		return sno.Parse(string(from))
	}
	return sno.FromBytes(from)
}

// DecodeDatabaseSQLValue implements pgtype.Codec.
func (Codec) DecodeDatabaseSQLValue(_ *pgtype.Map, _ uint32, format int16, from []byte) (driver.Value, error) {
	if from == nil {
		return nil, nil
	}
	id, err := decode(format, from)
	return id.String(), err
}

// DecodeValue implements pgtype.Codec.  It gives a sno.ID.
func (Codec) DecodeValue(_ *pgtype.Map, _ uint32, format int16, from []byte) (any, error) {
	if from == nil {
		return nil, nil
	}
	return decode(format, from)
}
