"""The examples of clients/python/README.md."""

import os
import re
import sys


def source(name):
    """The block that has the name after its language's."""
    path = os.path.join(os.environ["CLIENTS"], "python", "README.md")
    with open(path, encoding="utf-8") as file:
        found = re.findall(rf"^```python {name}\n(.*?)^```$", file.read(), re.M | re.S)
    (text,) = found
    return text


def run(name, **variables):
    """What the example leaves in its variables, which may begin with some."""
    exec(compile(source(name), f"README.md, {name}", "exec"), variables)
    return variables


if __name__ == "__main__":
    sys.stdout.write(source(sys.argv[1]))
