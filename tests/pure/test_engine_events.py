"""The numbers that `fleet up` shows are the engine's own."""

from __future__ import annotations

import io
from typing import Any

from accelerator_fleet_engine.events import Watch, sentence
from accelerator_fleet_engine.progress import Estimate, Steps, minutes


def pre(op: str, name: str, **more: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::p::aws:eks/nodeGroup:NodeGroup::{name}"
    return {"resourcePreEvent": {"metadata": {"op": op, "urn": urn, "type": "aws:eks/nodeGroup:NodeGroup", **more}}}


def post(op: str, name: str, kind: str = "resOutputsEvent") -> dict[str, Any]:
    return {kind: {"metadata": {"op": op, "urn": f"urn:pulumi:dev::p::aws:eks/nodeGroup:NodeGroup::{name}"}}}


def test_a_replacement_counts_once_and_same_does_not_count() -> None:
    watch = Watch()
    for event in (
        pre("same", "a"),
        post("same", "a"),
        pre("create-replacement", "b"),
        post("create-replacement", "b"),
        pre("replace", "b", detailedDiff={"version": {}, "amiType": {}}),
        post("replace", "b"),
        pre("delete-replaced", "b"),
        post("delete-replaced", "b"),
        pre("create", "c", detailedDiff={"ignored": {}}),
    ):
        watch.take(event)
    assert [(c.op, c.name, c.paths) for c in watch.changes] == [
        ("replace", "b", ("amiType", "version")),
        ("create", "c", ()),
    ]
    assert (watch.seen, watch.same, watch.done, watch.failed, watch.current) == (3, 1, 1, 0, "c")
    watch.take(post("create", "c", "resOpFailedEvent"))
    assert (watch.done, watch.failed, watch.current) == (1, 1, "")


def test_a_replacement_by_a_trigger_names_the_inputs_that_differ() -> None:
    watch = Watch()
    old = {"inputs": {"subnetIds": ["a"], "version": "1.36", "__defaults": []}}
    new = {"inputs": {"subnetIds": ["b"], "version": "1.36", "__defaults": ["x"]}}
    watch.take(pre("replace", "b", old=old, new=new))
    watch.take(pre("replace", "c"))
    assert [c.paths for c in watch.changes] == [("subnetIds",), ()]


def test_errors_are_the_engines_words_without_its_colours() -> None:
    watch = Watch()
    stack = "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"
    node = "urn:pulumi:dev::p::accelerator-fleet:index:EksPool$aws:eks/nodeGroup:NodeGroup::pretrain"
    say = {"message": "<{%fg 1%}>quota exceeded<{%reset%}>\n", "severity": "error", "urn": node}
    watch.take({"diagnosticEvent": say})
    watch.take({"diagnosticEvent": {"message": "update failed\n", "severity": "error", "urn": stack}})
    watch.take({"diagnosticEvent": {"message": "chatter", "severity": "info#err"}})
    watch.take({"diagnosticEvent": {"message": "gone soon", "severity": "error", "ephemeral": True}})
    assert watch.errors == ["aws:eks/nodeGroup:NodeGroup (pretrain): quota exceeded", "update failed"]


def test_the_sentence_says_before_and_after() -> None:
    summary = {"same": 5, "create": 31, "update": 1}
    assert sentence(summary) == "1 to update · 31 to create · 5 the same"
    assert sentence(summary, past=True) == "1 updated · 31 created · 5 the same"
    assert sentence({}) == "nothing"


def test_remaining_time_starts_from_the_weights_and_then_follows_the_measured_pace() -> None:
    estimate = Estimate(1000.0)
    start = estimate.started
    assert estimate.remaining(0.0, start) == 1000.0
    # A tenth done in a tenth of the time that the weights say: from then on only the measured pace counts.
    assert round(estimate.remaining(100.0, start + 10)) == 90
    assert round(estimate.remaining(500.0, start + 1000)) == 1000
    assert estimate.remaining(1000.0, start + 50) == 0.0
    assert (minutes(0.2), minutes(89), minutes(430)) == ("1 s", "89 s", "about 7 min")


def test_without_a_terminal_progress_is_plain_lines() -> None:
    stream = io.StringIO()
    with Steps(100, stream) as steps:
        steps.begin("etcd 3.6.16", 40)
        steps.update(0.5, "package 5 of 10")  # within the quiet time: no line
        steps.end("etcd 3.6.16: ready (2 s)")
    assert stream.getvalue().splitlines() == ["etcd 3.6.16 (about 2 min left)", "etcd 3.6.16: ready (2 s)"]
