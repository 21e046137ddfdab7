"""Small changes to a source file, each of which a test should notice.

They are found in the syntax tree: a comparison is turned round, plus becomes minus, a number is one too large, `not` is
dropped, `and` becomes `or`, the first two arguments change places, a statement or an entry of a table is left out, a
function returns early. Texts, types and what is printed in an f-string stay.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SYMMETRIC = {"min", "max", "maximum", "minimum", "equal", "array_equal", "transpose", "isclose", "allclose"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TYPES = {"annotation", "returns", "type_params", "decorator_list", "bases"}  # fields of the tree that hold no values


@dataclass(frozen=True)
class Mutation:
    """A change to one place of a file; `was` becomes `becomes`."""

    file: str  # inside the package
    line: int
    operator: str
    number: int  # among those of the same operator that begin on the line, from 1
    function: str
    was: str
    becomes: str
    start: int  # bytes
    end: int

    @property
    def id(self) -> str:
        """`decoding/beam.py:61:compare`, the second of its kind on a line with `:2` behind it."""
        return f"{self.file}:{self.line}:{self.operator}" + (f":{self.number}" if self.number > 1 else "")

    @property
    def change(self) -> str:
        """What it does, whatever line it stands in: explanations are found by it, though lines move."""
        return f"{self.file} {self.function}: {short(self.was)} → {short(self.becomes)}"

    def rank(self, seed: int) -> str:
        """Where it stands in an order that is random, but the same for as long as the line itself stays."""
        named = f"{seed} {self.operator} {self.number} {self.file} {self.function} {self.was} {self.becomes}"
        return hashlib.sha256(named.encode()).hexdigest()

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        if source[self.start : self.end] != self.was.encode():
            raise ValueError(f"{self.file} has changed since {self.id} was found in it; begin again")
        return source[: self.start] + self.becomes.encode() + source[self.end :]


def short(text: str) -> str:
    """Code on one line, whatever its length there."""
    return " ".join(text.split())


def mutations(path: Path, name: str) -> list[Mutation]:
    """Every change to the file, which is called `name` inside the package, that leaves it valid Python."""
    source = path.read_bytes()
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found, seen = [], Counter[tuple[int, str]]()
    for operator, node, becomes, function in _changes(ast.parse(source)):
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        was = source[start:end].decode()
        seen[node.lineno, operator] += 1
        number = seen[node.lineno, operator]
        each = Mutation(name, node.lineno, operator, number, function, was, becomes, start, end)
        if _is_valid(each.applied(source)):
            found.append(each)
    return found


Located: TypeAlias = "ast.expr | ast.stmt"
Change: TypeAlias = "tuple[str, Located, str]"  # the operator, the place, what stands there then


def _is_valid(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _changes(tree: ast.Module) -> Iterator[tuple[str, Located, str, str]]:
    for node, function in _values(tree, ""):
        for make in OPERATORS:
            for operator, place, becomes in make(node):
                yield operator, place, becomes, function or "module"


def _values(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node that computes something, with the name of what it stands in."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        function = f"{function}.{node.name}".removeprefix(".")
    yield node, function
    for field, value in ast.iter_fields(node):
        if field in TYPES:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.Raise) and not _is_type(child):
                yield from _values(child, function)
            elif isinstance(child, ast.Raise):
                yield child, function  # the raise itself, not its sentence


def _is_type(node: ast.AST) -> bool:
    """Whether this is the definition of a type, such as `Located = ast.expr | ast.stmt`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.BinOp):
        return False
    return isinstance(node.value.op, ast.BitOr) and node.col_offset == 0


def _compare(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            operators = [*node.ops[:k], COMPARED[type(operator)](), *node.ops[k + 1 :]]
            yield "compare", node, f"({ast.unparse(ast.Compare(node.left, operators, node.comparators))})"


def _arithmetic(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not isinstance(node.left, ast.JoinedStr):
        changed = ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
        yield "arithmetic", node, f"({ast.unparse(changed)})"
    elif isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED:
        yield "arithmetic", node, ast.unparse(ast.AugAssign(node.target, COMPUTED[type(node.op)](), node.value))


def _constant(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", node, repr(value)


def _not(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield "not", node, f"({ast.unparse(node.operand)})"


def _and_or(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and-or", node, f"({ast.unparse(ast.BoolOp(other, node.values))})"


def _arguments(node: ast.AST) -> Iterator[Change]:
    """The first two, where they are not the same and their order means something."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and not isinstance(node.args[0], ast.Starred):
        first, second, *rest = node.args
        if ast.unparse(node.func).split(".")[-1] in SYMMETRIC:
            return
        if not isinstance(second, ast.Starred) and ast.unparse(first) != ast.unparse(second):
            yield "arguments", node, ast.unparse(ast.Call(node.func, [second, first, *rest], node.keywords))


def _condition(node: ast.AST) -> Iterator[Change]:
    """One that has no operator of its own to change."""
    if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield "condition", node.test, f"(not {ast.unparse(node.test)})"


def _entry(node: ast.AST) -> Iterator[Change]:
    """An entry of a table that is left out: of a dictionary, or of rows that are listed with `*`."""
    if isinstance(node, ast.Dict) and len(node.keys) > 2:
        for k in range(len(node.keys)):
            kept = ast.Dict(node.keys[:k] + node.keys[k + 1 :], node.values[:k] + node.values[k + 1 :])
            yield "entry", node, ast.unparse(kept)
    elif isinstance(node, ast.Tuple) and len(node.elts) > 2 and any(isinstance(one, ast.Starred) for one in node.elts):
        for k in range(len(node.elts)):
            yield "entry", node, f"({ast.unparse(ast.Tuple(node.elts[:k] + node.elts[k + 1 :], ast.Load()))})"


def _statement(node: ast.AST) -> Iterator[Change]:
    """One that does something, and whose names nobody else needs."""
    for child in _body(node):
        called = isinstance(child, ast.Expr) and isinstance(child.value, ast.Call)
        stored = isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Attribute | ast.Subscript)
        if called or stored or isinstance(child, ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
            yield "statement", child, "pass"


def _body(node: ast.AST) -> list[ast.stmt]:
    bodies = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [child for body in bodies if isinstance(body, list) for child in body if isinstance(child, ast.stmt)]


def _early(node: ast.AST) -> Iterator[Change]:
    """A function that gives nothing back ends before one of its later statements."""
    if isinstance(node, FUNCTIONS) and not any(isinstance(one, ast.Return) and one.value for one in ast.walk(node)):
        documented = ast.get_docstring(node) is not None
        for child in node.body[1 + documented :]:
            yield "early", child, "return"


OPERATORS: tuple[Callable[[ast.AST], Iterator[Change]], ...] = (
    _compare,
    _arithmetic,
    _constant,
    _not,
    _and_or,
    _arguments,
    _condition,
    _entry,
    _statement,
    _early,
)
