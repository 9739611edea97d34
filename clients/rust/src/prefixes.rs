use std::collections::BTreeMap;

use crate::{Error, Sno};

/// Names of metabytes, which stand before ids: `user_9d5ve82226224222`, as `sno_prefixed()` writes it.
#[derive(Clone, Debug)]
pub struct Prefixes(BTreeMap<u8, String>);

impl Prefixes {
    /// Takes the prefixes of metabytes.  No two metabytes have the same prefix.
    pub fn new<P: Into<String>>(prefixes: impl IntoIterator<Item = (u8, P)>) -> Result<Prefixes, Error> {
        let mut found = BTreeMap::new();
        for (meta, prefix) in prefixes {
            let prefix = prefix.into();
            if !is_prefix(&prefix) {
                return Err(Error(format!("not a prefix: {:?}", prefix)));
            }
            if found.values().any(|other| *other == prefix) || found.contains_key(&meta) {
                return Err(Error(format!("metabyte {} or prefix {:?} comes twice", meta, prefix)));
            }
            found.insert(meta, prefix);
        }
        Ok(Prefixes(found))
    }

    /// Returns the prefix of the id's metabyte, as `sno_prefix()` does.
    pub fn prefix(&self, id: Sno) -> Option<&str> {
        self.0.get(&id.meta()).map(String::as_str)
    }

    /// Returns the prefix, an underscore, and the id, as `sno_prefixed()` does.
    pub fn write(&self, id: Sno) -> Result<String, Error> {
        match self.prefix(id) {
            Some(prefix) => Ok(format!("{}_{}", prefix, id)),
            None => Err(Error(format!("metabyte {} has no prefix", id.meta()))),
        }
    }

    /// Returns the id of such a text, as `sno_from_prefixed()` does.
    pub fn read(&self, text: &str) -> Result<Sno, Error> {
        let (prefix, id) = text.rsplit_once('_').unwrap_or(("", text));
        let id = id.parse()?;
        if self.prefix(id) != Some(prefix) {
            return Err(Error(format!("wrong prefix of an id: {:?}", text)));
        }
        Ok(id)
    }
}

fn is_prefix(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && !text.ends_with('_')
}
