"""Kernels that are traced once on a machine: a first translation need not wait until JAX has read all their code.

XLA's compiled programs are found again by what JAX traced and lowered, so every process does that first, and for a
large kernel it takes longer than opening a model. Here the lowered program itself (StableHLO, as `jax.export` writes
it) is kept in the user's cache and found by what it was made from: the kernel, its static arguments, shapes, versions,
settings, and the source of the package. Only on processors: nobody has tried it elsewhere.
"""

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache, update_wrapper
from pathlib import Path
from typing import Any

import jax
import jaxlib
from jax import export

from jaxsmt.common.device import device_kind, is_set_up
from jaxsmt.common.files import atomic_file, cache_folder

PACKAGE = Path(__file__).resolve().parents[2]
NOT_IN_KERNELS = {"pipeline", "demo"}  # rooms that no kernel is made of
CHECKSUM_BYTES = hashlib.sha256().digest_size


def traced_once(
    static_argnames: Sequence[str] = (), results: Sequence[type] = ()
) -> Callable[[Callable[..., Any]], "TracedOnce"]:
    """A decorator like `jax.jit` for large kernels; results: the NamedTuples that what it returns consists of."""

    def decorate(function: Callable[..., Any]) -> TracedOnce:
        return TracedOnce(jax.jit(function, static_argnames=tuple(static_argnames)), static_argnames, results)

    return decorate


class TracedOnce:
    """A jitted function whose lowered programs are kept; what else it can be asked, the jitted function answers.

    jitted: that function; inside of other kernels, or where nothing can be kept, it does all the work.
    """

    def __init__(self, jitted: Any, static_argnames: Sequence[str], results: Sequence[type]):
        self.jitted, self._static, self._results = jitted, tuple(static_argnames), tuple(results)
        self._signature = inspect.signature(jitted)
        self._programs: dict[Hashable, Any] = {}
        update_wrapper(self, jitted, updated=())  # not its attributes: JAX 0.5 keeps its own `lower` among them

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        static, leaves, tree = self._split(arguments, keywords)
        if not can_keep() or not all(map(_is_plain_array, leaves)):
            return self.jitted(*arguments, **keywords)
        return self._program(static, leaves, tree)(*leaves)

    def lower(self, *arguments: Any, **keywords: Any) -> Any:
        """As of a jitted function; where programs are kept, of the one that a call runs."""
        static, leaves, tree = self._split(arguments, keywords)
        if not can_keep() or not all(map(_has_shape, leaves)):
            return self.jitted.lower(*arguments, **keywords)
        return self._program(static, leaves, tree).lower(*leaves)

    @property
    def num_programs(self) -> int:
        """Programs that this process has used so far."""
        return len(self._programs)

    def _cache_size(self) -> int:
        """What is compiled, as of a jitted function."""
        return self.jitted._cache_size() + sum(program._cache_size() for program in self._programs.values())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["jitted"], name)

    def _split(self, arguments: tuple, keywords: dict[str, Any]) -> tuple[dict[str, Any], list[Any], Any]:
        """Static arguments by name, and the others as leaves and their tree."""
        bound = self._signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        static = {name: bound.arguments.pop(name) for name in self._static}
        return static, *jax.tree.flatten(dict(bound.arguments))

    def _program(self, static: dict[str, Any], leaves: list[Any], tree: Any) -> Any:
        shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype)) for leaf in leaves)
        key = (*static.values(), tree, *((shape.shape, shape.dtype) for shape in shapes), *_settings())
        if key not in self._programs:
            self._programs[key] = self._opened(static, shapes, tree)
        return self._programs[key]

    def _opened(self, static: dict[str, Any], shapes: tuple[jax.ShapeDtypeStruct, ...], tree: Any) -> Any:
        """The program of an earlier process, or one that is traced now and kept."""
        for result in self._results:
            _register(result)
        told = [self.__module__, self.__name__, static, tree, [(shape.shape, str(shape.dtype)) for shape in shapes]]
        digest = hashlib.sha256(repr((told, _settings(), source_digest())).encode()).hexdigest()
        path = cache_folder() / "traced" / f"{self.__name__}-{digest}"
        exported = _read(path)
        if exported is None:
            exported = export.export(jax.jit(self._flat(static, tree)))(*shapes)
            _write(path, exported)
        return jax.jit(_named(exported.call, self.__name__))

    def _flat(self, static: dict[str, Any], tree: Any) -> Callable[..., Any]:
        """The kernel as a function of its leaves."""
        return lambda *leaves: self.jitted(**jax.tree.unflatten(tree, leaves), **static)


def can_keep() -> bool:
    """Whether programs are kept: on a processor, with the caches of `setup_device`."""
    is_usual = jax.config.jax_enable_compilation_cache and not jax.config.jax_disable_jit  # type: ignore[attr-defined]
    return is_usual and is_set_up() and _has_export() and jax.default_backend() == "cpu"


@lru_cache(maxsize=1)
def _has_export() -> bool:
    """JAX writes programs with the package flatbuffers, which it does not require itself."""
    return importlib.util.find_spec("flatbuffers") is not None


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Of the code that kernels are made of."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in NOT_IN_KERNELS:
            digest.update(f"{name.as_posix()} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def _settings() -> tuple[Hashable, ...]:
    """All that a trace depends on beside code and arguments."""
    config: Any = jax.config
    precision, width = config.jax_default_matmul_precision, config.jax_enable_x64
    return jax.__version__, jaxlib.__version__, device_kind(), precision, width


def _is_plain_array(leaf: Any) -> bool:
    """Not a tracer of another kernel, nor a number whose type gives way to others."""
    return _has_shape(leaf) and not isinstance(leaf, jax.core.Tracer) and not getattr(leaf, "weak_type", False)


def _has_shape(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


@cache
def _register(result: type) -> None:
    """Tells JAX how to write down that a program returns a NamedTuple."""
    export.register_namedtuple_serialization(result, serialized_name=f"{result.__module__}.{result.__name__}")


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The same function by a name that XLA's cache shows."""

    def call(*leaves: Any) -> Any:
        return function(*leaves)

    call.__name__ = call.__qualname__ = name
    return call


def _read(path: Path) -> Any:
    """A program that was kept; None if there is none, or a damaged one."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    checksum, program = found[:CHECKSUM_BYTES], found[CHECKSUM_BYTES:]
    return export.deserialize(bytearray(program)) if hashlib.sha256(program).digest() == checksum else None


def _write(path: Path, exported: Any) -> None:
    """Keeps a program; where nothing can be written it is traced again next time."""
    program = bytes(exported.serialize())
    try:
        with atomic_file(path) as temporary:
            temporary.write_bytes(hashlib.sha256(program).digest() + program)
    except OSError:
        return
