"""A small validator of JSON Schema (draft 2020-12). It supports the keywords of ctprof's schemas; any other keyword is an error."""

import re

ANNOTATIONS = {"$schema", "$defs", "title", "description"}

TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


class Validator:
    def __init__(self, schema):
        self.schema = schema

    def problems(self, value):
        """Returns one sentence per violation of the schema."""
        return list(self.judge(self.schema, value, ""))

    def judge(self, schema, value, where):
        for keyword, wanted in schema.items():
            if keyword not in ANNOTATIONS:
                yield from getattr(self, "judge_" + re.sub("[$]", "", keyword))(wanted, schema, value, where)

    def judge_ref(self, reference, _, value, where):
        yield from self.judge(self.schema["$defs"][reference.removeprefix("#/$defs/")], value, where)

    def judge_type(self, types, _, value, where):
        types = [types] if isinstance(types, str) else types
        if not any(TYPES[name](value) for name in types):
            yield f"{where}: {value!r} is no {' nor '.join(types)}"

    def judge_const(self, wanted, _, value, where):
        if type(value) is not type(wanted) or value != wanted:
            yield f"{where}: {value!r} is not {wanted!r}"

    def judge_enum(self, wanted, _, value, where):
        if value not in wanted:
            yield f"{where}: {value!r} is none of {wanted}"

    def judge_minimum(self, least, _, value, where):
        if TYPES["number"](value) and value < least:
            yield f"{where}: {value} is less than {least}"

    def judge_minLength(self, least, _, value, where):
        if isinstance(value, str) and len(value) < least:
            yield f"{where}: {value!r} is too short"

    def judge_minItems(self, least, _, value, where):
        if isinstance(value, list) and len(value) < least:
            yield f"{where}: fewer than {least} items"

    def judge_maxItems(self, most, _, value, where):
        if isinstance(value, list) and len(value) > most:
            yield f"{where}: more than {most} items"

    def judge_items(self, schema, _, value, where):
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.judge(schema, item, f"{where}[{index}]")

    def judge_required(self, names, _, value, where):
        if isinstance(value, dict):
            yield from (f"{where}: no {name}" for name in names if name not in value)

    def judge_properties(self, schemas, _, value, where):
        if isinstance(value, dict):
            for name in schemas.keys() & value.keys():
                yield from self.judge(schemas[name], value[name], f"{where}.{name}")

    def judge_patternProperties(self, schemas, _, value, where):
        for pattern, schema in schemas.items():
            for name in value if isinstance(value, dict) else ():
                if re.search(pattern, name):
                    yield from self.judge(schema, value[name], f"{where}.{name}")

    def judge_additionalProperties(self, schema, beside, value, where):
        if not isinstance(value, dict):
            return
        patterns = beside.get("patternProperties", {})
        known = {name for name in value if any(re.search(pattern, name) for pattern in patterns)}
        for name in value.keys() - beside.get("properties", {}).keys() - known:
            if schema is False:
                yield f"{where}: {name} is not in the schema"
            else:
                yield from self.judge(schema, value[name], f"{where}.{name}")

    def judge_anyOf(self, schemas, _, value, where):
        if all(any(True for _ in self.judge(schema, value, where)) for schema in schemas):
            yield f"{where}: {value!r} matches none of the permitted types"
