"""Seals ids: encrypts them, so that nobody can tell when they were made. It needs cryptography."""

from threading import local
from typing import Callable, Optional
from uuid import UUID

try:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
except ImportError as error:
    raise ImportError("sno.seal needs the package cryptography: pip install 'postgresql-sno[seal]'") from error

from sno import Sno

__all__ = ["Seals"]

_ROUNDS = 10
_SPARE_BITS = 42  # of a sealed uuid: they are zero before it is encrypted


class Seals:
    """Seals ids by a secret of 16 bytes. Threads may share it.

    What older secrets sealed is still unsealed, if it is a uuid.
    """

    def __init__(self, secret: bytes, *older: bytes):
        self._texts = _FF1(secret, b"\x01\x02\x01\0\0\x20\x0a\x08\0\0\0\x10\0\0\0\0", 40)
        self._uuids = [
            _FF1(each, b"\x01\x02\x01\0\0\x02\x0a\x3d\0\0\0\x7a\0\0\0\0", 61)
            for each in (secret, *older)
        ]

    def seal(self, id: Sno) -> str:
        """The sealed text, of 16 characters, as sno_seal()."""
        return str(_sno(self._texts.encrypt(Sno(id)._bits())))

    def unseal(self, text: str) -> Sno:
        """The id. If another secret sealed it, or none did, it is another one."""
        if not isinstance(text, str):
            raise TypeError(f"a sealed text is a str, not {type(text).__name__}")
        return _sno(self._texts.decrypt(Sno(text)._bits()))

    def seal_uuid(self, id: Sno) -> UUID:
        """The sealed uuid, which looks like one of version 4."""
        bits = self._uuids[0].encrypt(Sno(id)._bits() << _SPARE_BITS)
        return UUID(
            int=bits >> 74 << 80 | 4 << 76 | (bits >> 62 & 0xFFF) << 64 | 2 << 62 | bits & (1 << 62) - 1
        )

    def unseal_uuid(self, uuid: UUID) -> Optional[Sno]:
        """The id, or None if none of the secrets sealed it. A uuid that nobody sealed passes
        once in 2^42 times, for each secret."""
        if not isinstance(uuid, UUID):
            raise TypeError(f"a sealed uuid is a UUID, not {type(uuid).__name__}")
        if uuid.int >> 76 & 15 != 4 or uuid.int >> 62 & 3 != 2:
            return None
        bits = uuid.int >> 80 << 74 | (uuid.int >> 64 & 0xFFF) << 62 | uuid.int & (1 << 62) - 1
        for each in self._uuids:
            id = each.decrypt(bits)
            if id & (1 << _SPARE_BITS) - 1 == 0:
                return _sno(id >> _SPARE_BITS)
        return None


def _sno(bits: int) -> Sno:
    return Sno(bits.to_bytes(10, "big"))


class _FF1(local):
    """FF1 (NIST SP 800-38G) of numbers of two halves, with AES-128 and no tweak.

    first is the block that tells radix and length. An encryptor is for one thread, so each
    has one: local calls __init__() again in each thread.
    """

    def __init__(self, secret: bytes, first: bytes, half: int):
        if not isinstance(secret, (bytes, bytearray, memoryview)):
            raise TypeError(f"a secret is of bytes, not {type(secret).__name__}")
        if len(secret) != 16:
            raise ValueError(f"a secret has 16 bytes, not {len(secret)}")
        self._half = half
        self._mask = (1 << half) - 1
        self._aes: Callable[[bytes], bytes] = (
            Cipher(algorithms.AES(bytes(secret)), modes.ECB()).encryptor().update
        )
        self._start = int.from_bytes(self._aes(first), "big")

    def _round(self, number: int, half: int) -> int:
        # The number of the round comes right before the half, which has whole bytes.
        block = number << (self._half + 7) // 8 * 8 | half
        return int.from_bytes(self._aes((block ^ self._start).to_bytes(16, "big"))[:12], "big")

    def encrypt(self, bits: int) -> int:
        a, b = bits >> self._half, bits & self._mask
        for number in range(_ROUNDS):
            a, b = b, a + self._round(number, b) & self._mask
        return a << self._half | b

    def decrypt(self, bits: int) -> int:
        a, b = bits >> self._half, bits & self._mask
        for number in reversed(range(_ROUNDS)):
            a, b = b - self._round(number, a) & self._mask, a
        return a << self._half | b
