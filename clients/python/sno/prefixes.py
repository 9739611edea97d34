"""Names before ids, such as user_9d5ve82226224222, as sno_prefixed() writes them."""

import re
from typing import Mapping, Optional

from sno import Sno, check_meta

__all__ = ["Prefixes"]

_is_prefix = re.compile("(?=.{1,63}$)[a-z]([a-z0-9_]*[a-z0-9])?").fullmatch


class Prefixes:
    """The prefixes of metabytes: {1: "user", 2: "order"}."""

    def __init__(self, prefixes: Mapping[int, str]):
        self._prefixes = dict(prefixes)
        for meta, prefix in self._prefixes.items():
            check_meta(meta)
            if not isinstance(prefix, str):
                raise TypeError(f"a prefix is a str, not {type(prefix).__name__}")
            if not _is_prefix(prefix):
                raise ValueError(f"not a prefix: {prefix!r}")
        if len(set(self._prefixes.values())) < len(self._prefixes):
            raise ValueError("a prefix belongs to one metabyte")

    def prefix(self, id: Sno) -> Optional[str]:
        """The prefix of the id's metabyte, as sno_prefix()."""
        return self._prefixes.get(Sno(id).meta)

    def write(self, id: Sno) -> str:
        """The prefix, an underscore, and the id, as sno_prefixed(). LookupError if there is no prefix."""
        prefix = self.prefix(id)
        if prefix is None:
            raise LookupError(f"metabyte {Sno(id).meta} has no prefix")
        return f"{prefix}_{Sno(id)}"

    def read(self, text: str) -> Sno:
        """The id of such a text, as sno_from_prefixed(). ValueError for any other text."""
        if not isinstance(text, str):
            raise TypeError(f"an id with a prefix is a str, not {type(text).__name__}")
        prefix, _, id = text.rpartition("_")
        if not prefix:
            raise ValueError(f"not an id with a prefix: {text!r}")
        if prefix != self.prefix(Sno(id)):
            raise ValueError(f"wrong prefix of an id: {text!r}")
        return Sno(id)
