"""The calls that the Pulumi engine makes to a language host, answered for Python."""

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from accelerator_fleet_engine.langhost import interpreter
from accelerator_fleet_engine.langhost.child import Children
from accelerator_fleet_engine.langhost.protocol import language_pb2, language_pb2_grpc, plugin_pb2

VERSION = "3.274.1"  # of the protocol answered here: that of the CLI that this host lies beside
# The official executor exits so when it has already shown the error to the user.
SHOWN_ALREADY = 32


def _options(info: Any) -> dict[str, object]:
    return dict(info.options.items()) if info.HasField("options") else {}


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Serves one engine. Calls not overridden here (code generation, packing, linking) answer UNIMPLEMENTED."""

    def __init__(self, executor: Path, engine: str) -> None:
        self._executor = executor
        self._engine = engine
        self.children = Children()

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._engine = request.engine_address or self._engine
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version=VERSION)

    def _python(self, info: Any, context: grpc.ServicerContext) -> interpreter.Interpreter:
        try:
            return interpreter.choose(_options(info), Path(info.root_directory or "."))
        except interpreter.OptionError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            raise  # abort() raises; this line is for readers and type checkers

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Only plugins that are installed: for others the engine would go to the network before the program runs."""
        python = self._python(request.info, context)
        return language_pb2.GetRequiredPackagesResponse(
            packages=[
                plugin_pb2.PackageDependency(name=p.name, kind="resource", version=f"v{p.version}", server=p.server)
                for p in interpreter.required_plugins(python)
                if interpreter.is_installed(p)
            ]
        )

    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.attach_debugger:
            return language_pb2.RunResponse(error="this host starts no debugger; run without --attach-debugger")
        python = self._python(request.info, context)
        env = python.environment()
        env["PULUMI_CONFIG"] = json.dumps(dict(request.config))
        env["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
        command = [str(python.executable), "-u", str(self._executor), *self._arguments(request)]
        try:
            program = self.children.start(command, env, request.pwd or None)
        except (OSError, RuntimeError) as error:
            return language_pb2.RunResponse(error=f"cannot run {python.executable}: {error}")
        # The engine gives up a call (a failed deployment, a second Ctrl-C) by cancelling it: the program ends with it.
        context.add_callback(lambda: self.children.stop(program))
        code = program.wait()
        self.children.finished(program)
        if code == SHOWN_ALREADY:
            return language_pb2.RunResponse(bail=True)
        if code < 0:
            return language_pb2.RunResponse(error=f"program was ended by signal {-code}")
        return language_pb2.RunResponse(error=f"program exited with non-zero exit code: {code}" if code else "")

    def _arguments(self, request: Any) -> list[str]:
        named = {
            "monitor": request.monitor_address,
            "engine": self._engine,
            "project": request.project,
            "root_directory": request.info.root_directory,
            "stack": request.stack,
            "pwd": request.pwd,
            "dry_run": "true" if request.dryRun else "false",
            "parallel": str(request.parallel),
            "organization": request.organization,
        }
        arguments = [part for name, value in named.items() if value for part in (f"--{name}", value)]
        return [*arguments, request.info.entry_point or ".", *request.args]

    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """A component package or policy pack written in Python: its output is streamed, then its exit code."""
        python = self._python(request.info, context)
        env = dict(entry.split("=", 1) for entry in request.env if "=" in entry) or python.environment()
        program = str(Path(request.info.program_directory) / (request.info.entry_point or "."))
        command = [str(python.executable), "-u", program, *request.args]
        plugin = self.children.start(command, env, request.pwd or None, piped=True)
        context.add_callback(lambda: self.children.stop(plugin))
        yield from (_answer(language_pb2.RunPluginResponse, kind, data) for kind, data in _streams(plugin))
        yield language_pb2.RunPluginResponse(exitcode=plugin.wait())
        self.children.finished(plugin)

    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """`pulumi install`, and the first use of a package written in Python."""
        folder = Path(request.info.program_directory if request.is_plugin else request.info.root_directory)
        command = interpreter.install_command(folder)
        if command is None:
            return
        process = self.children.start(command, os.environ, str(folder), piped=True)
        for kind, data in _streams(process):
            yield _answer(language_pb2.InstallDependenciesResponse, kind, data)
        self.children.finished(process)
        if process.wait():
            context.abort(grpc.StatusCode.INTERNAL, f"{' '.join(command)} failed in {folder}")

    def About(self, request: Any, context: grpc.ServicerContext) -> Any:
        python = self._python(request.info, context) if request.HasField("info") else interpreter.choose({}, Path.cwd())
        asked = subprocess.run([python.executable, "--version"], capture_output=True, text=True, check=False)
        return language_pb2.AboutResponse(
            executable=str(python.executable),
            version=asked.stdout.strip().removeprefix("Python "),
            metadata={"host": "accelerator-fleet"},
        )

    def GetProgramDependencies(self, request: Any, context: grpc.ServicerContext) -> Any:
        python = self._python(request.info, context)
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=version)
                for name, version in interpreter.distributions(python)
            ]
        )

    def RuntimeOptionsPrompts(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    def Template(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.TemplateResponse()

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        from google.protobuf import empty_pb2

        threading.Thread(target=self.children.stop_all, daemon=True).start()
        return empty_pb2.Empty()


def _answer(message: Callable[..., Any], kind: str, data: bytes) -> Any:
    return message(stdout=data) if kind == "stdout" else message(stderr=data)


def _streams(process: subprocess.Popen[bytes]) -> Iterator[tuple[str, bytes]]:
    """What a process writes, as (`stdout` | `stderr`, bytes), in the order it comes, until both are closed."""
    chunks: queue.Queue[tuple[str, bytes]] = queue.Queue()

    def pump(kind: str, stream: Any) -> None:
        while data := stream.read1(65536):
            chunks.put((kind, data))
        chunks.put((kind, b""))

    for kind in ("stdout", "stderr"):
        threading.Thread(target=pump, args=(kind, getattr(process, kind)), daemon=True).start()
    still_open = 2
    while still_open:
        kind, data = chunks.get()
        if data:
            yield kind, data
        else:
            still_open -= 1
