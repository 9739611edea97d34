"""What the tests of drivers for Python share."""

tests = failures = 0


def ok(passed, name, seen=""):
    global tests, failures
    tests += 1
    if passed:
        print(f"ok {tests} - {name}")
    else:
        failures += 1
        print(f"not ok {tests} - {name}\n# {seen}")


def same(seen, wanted, name):
    """Equal, and of the same type."""
    ok((seen, type(seen)) == (wanted, type(wanted)), name, f"{seen!r}, not {wanted!r}")


def raises(error, action, name):
    """The action raises an exception of that class."""
    try:
        seen = action()
    except error:
        ok(True, name)
    except Exception as other:
        ok(False, name, repr(other))
    else:
        ok(False, name, f"{seen!r}")


def done():
    print(f"1..{tests}")
    raise SystemExit(failures > 0)
