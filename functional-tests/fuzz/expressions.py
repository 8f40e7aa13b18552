"""The language of `where`, read a second time: plainly, to say which texts are expressions."""

import re
import unicodedata

# What Rust calls white space.
SPACE = "[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
COMPARISON = re.compile(rf"""([A-Za-z_][A-Za-z0-9_.-]*){SPACE}(==|!=|>=|<=|<|>){SPACE}
                        ("(?:[^"\\]|\\["\\])*"|-?[A-Za-z0-9_][A-Za-z0-9_./:-]*)""".replace("\n" + " " * 24, ""))


def is_expression(text):
    """Whether placet must accept it."""
    reader = Reader(text)
    if len(text) > 4096:
        return False
    if reader.end():
        return True
    return reader.either() and reader.end()


def is_text(literal):
    """Whether a property may have this text, with its backslashes."""
    text = re.sub(r"\\(.)", r"\1", literal)
    is_blank = re.compile(f"[{SPACE[1:-2]}\u200b\u2060\ufeff]").match
    return not (text and (is_blank(text[0]) or is_blank(text[-1])) or any(unicodedata.category(c) == "Cc" for c in text)
                or not unicodedata.is_normalized("NFC", text))


class Reader:
    """Each function reads one rule of the grammar, and returns whether it is there."""

    def __init__(self, text):
        self.text, self.at, self.depth, self.comparisons = text, 0, 0, 0

    def end(self):
        self.skip()
        return self.at == len(self.text)

    def skip(self):
        self.at = re.compile(SPACE).match(self.text, self.at).end()

    def take(self, token):
        self.skip()
        found = self.text.startswith(token, self.at)
        self.at += len(token) if found else 0
        return found

    def either(self):
        return self.joined("||", lambda: self.joined("&&", self.term))

    def joined(self, separator, item):
        if not item():
            return False
        while self.take(separator):
            if not item():
                return False
        return True

    def term(self):
        if self.take("!"):
            return self.level(lambda: self.followed("!(") and self.term())
        if self.take("("):
            return self.level(lambda: self.either() and self.take(")"))
        return self.comparison()

    def followed(self, first):
        self.skip()
        return self.text[self.at:self.at + 1] in tuple(first)

    def level(self, rest):
        self.depth += 1
        is_there = self.depth <= 64 and rest()
        self.depth -= 1
        return is_there

    def comparison(self):
        self.skip()
        found = COMPARISON.match(self.text, self.at)
        self.comparisons += 1
        if not found or len(found[1]) > 255 or self.comparisons > 256:
            return False
        self.at = found.end()
        literal, is_ordered = found[3], found[2] not in ("==", "!=")
        if literal.startswith('"') and found[1] not in ("ProviderName", "NodeName") and not is_text(literal[1:-1]):
            return False
        if re.fullmatch("-?[0-9]+", literal):
            return -2**63 <= int(literal) < 2**63
        return not literal.startswith("-") and not is_ordered
