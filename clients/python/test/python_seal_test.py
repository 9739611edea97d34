# Sealed ids, against the vectors that the extension is tested with, and against FF1 as NIST
# has it in SP 800-38G.

import os
import random
import threading
from uuid import RFC_4122, UUID, uuid4

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from readme import run
from sno import Sno
from sno.seal import Seals
from tap import done, ok, raises, same


def ff1(secret, radix, tweak, numerals):
    """FF1 with AES, step by step."""
    aes = Cipher(algorithms.AES(secret), modes.ECB()).encryptor().update
    n, u = len(numerals), len(numerals) // 2
    a, b = numerals[:u], numerals[u:]
    bytes_of_half = ((radix ** (n - u) - 1).bit_length() + 7) // 8
    d = (bytes_of_half + 3) // 4 * 4 + 4

    def number(digits):
        total = 0
        for digit in digits:
            total = total * radix + digit
        return total

    def prf(blocks):
        y = bytes(16)
        for i in range(0, len(blocks), 16):
            y = aes(bytes(map(int.__xor__, y, blocks[i : i + 16])))
        return y

    p = bytes([1, 2, 1, *radix.to_bytes(3, "big"), 10, u % 256])
    p += n.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
    for i in range(10):
        q = tweak + bytes((-len(tweak) - bytes_of_half - 1) % 16) + bytes([i])
        r = prf(p + q + number(b).to_bytes(bytes_of_half, "big"))
        assert d <= len(r)
        m = u if i % 2 == 0 else n - u
        c = (number(a) + int.from_bytes(r[:d], "big")) % radix**m
        a, b = b, [c // radix**place % radix for place in reversed(range(m))]
    return a + b


# The samples 1 to 3 of AES-128.
KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
for radix, tweak, plain, sealed in (
    (10, "", "0123456789", "2433477484"),
    (10, "39383736353433323130", "0123456789", "6124200773"),
    (36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
):
    seen = ff1(KEY, radix, bytes.fromhex(tweak), [int(digit, 36) for digit in plain])
    same(seen, [int(digit, 36) for digit in sealed], f"NIST's sample: {sealed}")


def numerals(bits, each, number):
    return [bits >> each * place & (1 << each) - 1 for place in reversed(range(number))]


def number(digits, each):
    return sum(digit << each * place for place, digit in enumerate(reversed(digits)))


random.seed(38)
for _ in range(20):
    secret, id = random.randbytes(16), Sno(random.randbytes(10))
    bits = int.from_bytes(bytes(id), "big")
    seals = Seals(secret)
    text = number(ff1(secret, 32, b"", numerals(bits, 5, 16)), 5)
    ok(seals.seal(id) == Sno(text.to_bytes(10, "big")), "a text is FF1's", (secret, id))
    sealed = number(ff1(secret, 2, b"", numerals(bits << 42, 1, 122)), 1)
    uuid = seals.seal_uuid(id).int
    ok(
        sealed == uuid >> 80 << 74 | (uuid >> 64 & 0xFFF) << 62 | uuid & (1 << 62) - 1,
        "a uuid is FF1's",
        (secret, id),
    )
    ok((seals.unseal(seals.seal(id)), seals.unseal_uuid(seals.seal_uuid(id))) == (id, id), "and back")

# The shared vectors.
with open(os.environ["CLIENTS"] + "/../test/vectors/sealed.tsv") as file:
    vectors = [line.split() for line in file if line.strip() and line[0] != "#"]
ok(len(vectors) > 20, "vectors")
for secret, id, text, uuid in vectors:
    seals = Seals(bytes.fromhex(secret))
    same(seals.seal(Sno(id)), text, f"seal {id}")
    same(seals.unseal(text), Sno(id), f"unseal {text}")
    same(seals.seal_uuid(Sno(id)), UUID(uuid), f"seal_uuid {id}")
    same(seals.unseal_uuid(UUID(uuid)), Sno(id), f"unseal_uuid {uuid}")
    same((UUID(uuid).version, UUID(uuid).variant), (4, RFC_4122), "of version 4")

# Secrets.
id = Sno("9qdhlmna222i2222")
one, two, three = (bytes([n]) * 16 for n in (1, 2, 3))
old, new = Seals(one), Seals(two, one)
same(new.unseal_uuid(old.seal_uuid(id)), id, "an older secret")
same(new.seal_uuid(id), Seals(two).seal_uuid(id), "the first secret seals")
same(new.seal(id), Seals(two).seal(id), "texts, too")
same(old.unseal_uuid(new.seal_uuid(id)), None, "an unknown secret")
ok(new.unseal(old.seal(id)) != id, "a text of another secret is another id")
same(Seals(bytearray(one)).seal(id), old.seal(id), "a secret in a bytearray")
for wrong in b"", one[1:], one + b"0":
    raises(ValueError, lambda: Seals(wrong), f"no secret: {len(wrong)} bytes")
    raises(ValueError, lambda: Seals(one, wrong), f"no older secret: {len(wrong)} bytes")
for wrong in "0" * 16, None, 16:
    raises(TypeError, lambda: Seals(wrong), f"no secret: {wrong!r}")

# What is not sealed.
sealed = new.seal_uuid(id)
for wrong in (
    uuid4(),
    UUID(int=0),
    UUID(int=2**128 - 1),
    id.uuid,
    id.uuid8,
    UUID(int=sealed.int ^ 1),
    UUID(int=sealed.int ^ 1 << 127),
    UUID(int=sealed.int ^ 1 << 62),
    UUID(int=sealed.int ^ 1 << 63),
    UUID(int=sealed.int ^ 1 << 76),
):
    same(new.unseal_uuid(wrong), None, f"nobody sealed {wrong}")
for wrong in str(sealed), sealed.bytes, None, 1:
    raises(TypeError, lambda: new.unseal_uuid(wrong), f"no uuid: {wrong!r}")
for wrong in "", new.seal(id)[1:], new.seal(id).upper(), str(sealed):
    raises(ValueError, lambda: new.unseal(wrong), f"no text: {wrong!r}")
for wrong in sealed, new.seal(id).encode(), None, 1:
    raises(TypeError, lambda: new.unseal(wrong), f"no text: {wrong!r}")
for seal in new.seal, new.seal_uuid:
    raises(ValueError, lambda: seal("no id"), "no id")
    raises(TypeError, lambda: seal(5), "a number is no id")

# Threads.
wrong = []


def work():
    for n in range(300):
        id = Sno((n << 40 | threading.get_ident() & 0xFFFFFFFF).to_bytes(10, "big"))
        if new.unseal(new.seal(id)) != id or new.unseal_uuid(new.seal_uuid(id)) != id:
            wrong.append(id)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
same(wrong, [], "4 threads")

# The example of README.
os.environ["SEAL_SECRET"] = one.hex()
example = run("seal", id=id)
same((example["text"], example["again"]), (old.seal(id), id), "README's example")
same((example["uuid"], example["known"]), (old.seal_uuid(id), id), "README's example of a uuid")

done()
