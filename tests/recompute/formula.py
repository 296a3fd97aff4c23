"""Formulas of derived metrics: + - * / max(), names with an optional mark `?`, keys of maps in brackets.

    tree = parse("run_time_ns / (run_time_ns + wait_time_ns)")
    evaluate(tree, lambda name: 3)               # a Fraction; None where an input is missing or a divisor is 0
    behaviour(tree, {"run_time_ns": "counter", "wait_time_ns": "counter"})   # "ratio"
"""

import re
from fractions import Fraction

TOKEN = re.compile(r'\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z_][\w.]*(?:\[(?:"(?:\\.|[^"])*"|[^\]"]*)\])?\??|[-+*/(),])')


class Parser:
    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.strip()
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise ValueError(f"cannot read the formula '{text}' at '{text[at:]}'")
            self.tokens.append(found[1])
            at = found.end()

    def peek(self):
        return self.tokens[0] if self.tokens else None

    def take(self):
        return self.tokens.pop(0)

    def binary_chain(self, operators, part):
        tree = part()
        while self.peek() in operators:
            tree = (self.take(), tree, part())
        return tree

    def sum(self):
        return self.binary_chain(("+", "-"), self.product)

    def product(self):
        return self.binary_chain(("*", "/"), self.operand)

    def operand(self):
        token = self.take()
        if token == "(":
            tree = self.sum()
            assert self.take() == ")"
            return tree
        if token == "-":
            return ("-", ("number", Fraction(0)), self.operand())
        if token == "max" and self.peek() == "(":
            self.take()
            arguments = [self.sum()]
            while self.take() == ",":
                arguments.append(self.sum())
            return ("max", *arguments)
        if token[0].isdigit():
            return ("number", Fraction(token))
        return ("name", token.rstrip("?"), token.endswith("?"))


def parse(text):
    parser = Parser(text)
    tree = parser.sum()
    if parser.tokens:
        raise ValueError(f"cannot read the formula '{text}' from '{parser.tokens[0]}'")
    return tree


def inputs(tree):
    """Returns [(name, whether it is optional)] in the order of the text."""
    if tree[0] == "name":
        return [tree[1:]]
    return [one for part in tree[1:] if isinstance(part, tuple) for one in inputs(part)]


class Missing(Exception):
    """Raised for an input without a value and for a division by zero."""


def compute(tree, look_up):
    kind = tree[0]
    if kind == "number":
        return tree[1]
    if kind == "name":
        value = look_up(tree[1])
        if value is None and not tree[2]:
            raise Missing
        return Fraction(value or 0)
    values = [compute(part, look_up) for part in tree[1:]]
    if kind == "max":
        return max(values)
    left, right = values
    if kind == "/" and right == 0:
        raise Missing
    return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right, "/": lambda: left / right}[kind]()


def evaluate(tree, look_up):
    found = inputs(tree)
    optional = [name for name, is_optional in found if is_optional]
    if optional and len(optional) == len(found) and all(look_up(name) is None for name in optional):
        return None
    try:
        return compute(tree, look_up)
    except Missing:
        return None


def behaviour(tree, kinds):
    """Returns how the formula behaves over time: "counter", "level", "ratio" (of counters of one window), "number", or "refused".

    A sum of counters is a counter. A ratio is a level. A counter times a gauge, and a counter plus a gauge, have no meaning.
    """
    kind = tree[0]
    if kind == "number":
        return "number"
    if kind == "name":
        return kinds[tree[1]]
    parts = [behaviour(part, kinds) for part in tree[1:]]
    if "refused" in parts:
        return "refused"
    if "counter" not in parts:
        known = {part for part in parts if part != "number"}
        return "number" if not known else "ratio" if known == {"ratio"} else "level"
    others = [part for part in parts if part != "counter"]
    if kind == "/":
        return "counter" if parts[1] != "counter" else "ratio" if parts[0] == "counter" else "refused"
    if kind == "*":
        return "counter" if others and set(others) <= {"number", "ratio"} else "refused"
    return "counter" if set(others) <= {"number"} else "refused"


def subtracts(tree):
    return tree[0] == "-" or any(subtracts(part) for part in tree[1:] if isinstance(part, tuple))
