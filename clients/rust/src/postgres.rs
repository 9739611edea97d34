use bytes::{BufMut, BytesMut};
use postgres_types::{to_sql_checked, FromSql, IsNull, Kind, ToSql, Type};

use crate::Sno;

type AnyError = Box<dyn std::error::Error + Sync + Send>;

/// Returns the type under a domain.
fn base(ty: &Type) -> &Type {
    match ty.kind() {
        Kind::Domain(under) => base(under),
        _ => ty,
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(*base(ty), Type::TEXT | Type::VARCHAR | Type::BPCHAR)
}

/// The types that take ids: sno and bytea have the 10 bytes, and the others the text.
fn accepts(ty: &Type) -> bool {
    let base = base(ty);
    base.schema() == "pg_catalog" && base.name() == "sno" || *base == Type::BYTEA || is_text(base)
}

impl ToSql for Sno {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, AnyError> {
        if is_text(ty) {
            out.put_slice(&self.to_uuid());
        } else {
            out.put_slice(&self.0);
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        accepts(ty)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Sno {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Sno, AnyError> {
        if is_text(ty) {
            Ok(std::str::from_utf8(raw)?.parse()?)
        } else {
            Ok(Sno(raw.try_into().map_err(|_| format!("an id has 10 bytes, not {}", raw.len()))?))
        }
    }

    fn accepts(ty: &Type) -> bool {
        accepts(ty)
    }
}
