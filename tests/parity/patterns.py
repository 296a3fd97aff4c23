"""Normalizes names and cgroup paths to patterns. A second implementation of the rules in core/compare/grouping/key_families.hpp
and cgroup_renames.hpp.

    thread_keys(names)                 -> {name: key}
    cgroup_keys(paths)                 -> {path: key}
    renamed(baseline, candidate)       -> ({cgroup: the name that reports use for it}, [(baseline, candidate)], [descendants])
                                          of sets of (cgroup, pcomm, comm)
"""

import re
from fractions import Fraction

SEPARATORS = re.compile(r"[.\-_/:@+\[\]\s]")
UUID = re.compile(r"([A-Za-z]*?)([0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}\3[0-9a-fA-F]{4}\3[0-9a-fA-F]{4}\3[0-9a-fA-F]{12})(?![0-9a-fA-F])")
INSTANCE = re.compile(r"@([^/@._\-]+)\.service")


def classify(token):
    """Returns the mark of a token, and whether the token itself is used where it does not vary."""
    if re.fullmatch(r"[0-9]+", token):
        return "{N}", False
    if re.fullmatch(r"[0-9a-f]{2,}", token) and re.search(r"[0-9]", token):
        return "{H}", True
    for shape, mark in ((r"([A-Za-z]+)[0-9]+", r"\1{N}"), (r"[0-9]+([A-Za-z]+)", r"{N}\1")):
        if re.fullmatch(shape, token):
            return re.sub(shape, mark, token), False
    return token, False


def split_name(name):
    """Returns [(text, mark, whether the text is used where it does not vary)]."""
    found = []
    while name:
        if SEPARATORS.match(name):
            found.append((name[0], name[0], False))
            name = name[1:]
            continue
        if uuid := UUID.match(name):
            if uuid[1]:
                found.append((uuid[1], uuid[1], False))
            found.append((uuid[2], "{U}", True))
            name = name[uuid.end():]
            continue
        end = SEPARATORS.search(name)
        token = name[:end.start()] if end else name
        found.append((token, *classify(token)))
        name = name[len(token):]
    return found


def thread_keys(names):
    families = {}
    for name in set(names):
        families.setdefault("".join(mark for _, mark, _ in split_name(name)), []).append(name)
    keys = {}
    for members in families.values():
        columns = list(zip(*(split_name(name) for name in members)))
        common = "".join(column[0][0] if column[0][2] and len({piece[0] for piece in column}) == 1 else column[0][1] for column in columns)
        keys |= {name: members[0] if len(members) == 1 else common for name in members}
    return keys


def cgroup_keys(paths):
    plain = {path: INSTANCE.sub("@{I}.service", path) for path in set(paths)}
    keys = thread_keys(plain.values())
    members = {}
    for path, name in plain.items():
        members.setdefault(keys[name], []).append(path)
    return {path: found[0] if len(found) == 1 else key for key, found in members.items() for path in found}


def kinds_on_one_side(side, other):
    """Returns {cgroup: kinds of threads} for the cgroups that only `side` has."""
    kinds = {}
    for cgroup, *names in side:
        if cgroup and cgroup not in {key[0] for key in other}:
            kinds.setdefault(cgroup, set()).add(tuple(names))
    return kinds


def roots(one, two):
    one, two = one.split("/"), two.split("/")
    while len(one) > 1 and len(two) > 1 and one[-1] == two[-1]:
        one, two = one[:-1], two[:-1]
    return "/".join(one), "/".join(two)


def cgroups_below(cgroups, root):
    """Returns {path below the root: cgroup}."""
    return {cgroup[len(root):]: cgroup for cgroup in cgroups if cgroup == root or cgroup.startswith(root.rstrip("/") + "/")}


def find_renames(baseline, candidate):
    before, after = kinds_on_one_side(baseline, candidate), kinds_on_one_side(candidate, baseline)
    candidates = []
    for a, kinds in before.items():
        for b, others in after.items():
            share = Fraction(len(kinds & others), len(kinds | others))
            if len(kinds & others) >= 10 and share >= Fraction(9, 10):
                candidates.append((-share, -len(kinds & others), min(a, b), max(a, b), a, b))
    names, pairs = {}, []
    for *_, a, b in sorted(candidates):
        if ("before", a) not in names and ("after", b) not in names:
            names["before", a] = names["after", b] = a
            pairs.append((a, b))
    for *_, a, b in sorted(candidates):
        if (("before", a) in names) != (("after", b) in names):
            name = names.get(("before", a)) or names["after", b]
            names["before", a] = names["after", b] = name
            pairs.append((a, b))
    children = []
    for a, b in pairs:
        root, other = roots(a, b)
        old, new = cgroups_below(before, root), cgroups_below(after, other)
        for rest in sorted(old.keys() & new.keys()):
            if ("before", old[rest]) not in names and ("after", new[rest]) not in names:
                names["before", old[rest]] = names["after", new[rest]] = old[rest]
                children.append((old[rest], new[rest]))
    return {cgroup: name for (_, cgroup), name in names.items()}, pairs, children
