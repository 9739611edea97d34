use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};

use crate::Sno;

impl Serialize for Sno {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sno {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sno, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
