"""Checks that the iterator, the files and netlink agree, and that metrics that task-iter cannot provide come from the files, with a reason.

In scope:       checks on the captures around `second`, which use only the files, and on the output of `ctprof plugins`.
Out of scope:   comparing rows (../parity/agreement.py).
"""

import json

import expected
from agreement import FILES, ITER, Agreement
from guest_output import Gap

# From this version on task-iter fills every metric that the kernel has.
COMPLETE_SINCE = (5, 17)


def metrics_of_files(output):
    """Returns the thread metrics that the kernel has, regardless of the plugin that fills them."""
    metrics = (metric for metric in expected.vocabulary() if metric["plugin"] in FILES.split(",") and metric["entity"] == "thread")
    return {metric["name"] for metric in metrics if not expected.why_missing(metric, output.kernel, output.taskstats_version)}


def offers(output):
    """Returns a map metric -> state and reason for the metrics that task-iter offers."""
    plugins = json.loads(output.text("plugins.json"))["plugins"]
    return {offer["metric"]: (offer["state"], offer["reason"]) for plugin in plugins if plugin["name"] == ITER for offer in plugin["offers"]}


def agrees(output):
    """Compares every metric that both provide, with a value of at least one thread that slept."""
    found = Agreement(output.file("files-before"), output.file("second"), output.file("files-after"))
    if not found.names:
        return []  # checked by falls_back
    values = {name for key in found.sleeping for name in found.shared if not isinstance(found.ours.threads[key][name], Gap)}
    return [*(f"{name} is in no file" for name in found.only_in_task_iter()), *found.find_differences(), *(f"{name} was never compared" for name in found.shared - values)]


def falls_back(output):
    """On newer kernels task-iter leaves no metric to the files. On older ones it must give a reason for each."""
    offered, filled = offers(output), output.file("second").columns_of("thread", ITER)
    wrong = [] if offered else ["there is no task-iter"]
    for name in metrics_of_files(output) & set(offered):
        state, reason = offered[name]
        if (state == "fills") != (name in filled):
            wrong.append(f"{name}: {state} in the output of `plugins`, but {'' if name in filled else 'not '}filled by task-iter")
        if state != "fills" and (output.kernel.number >= COMPLETE_SINCE or not reason):
            wrong.append(f"{name} is left to the files: {state}, {reason!r}")
    return wrong


CHECKS = {"task-iter agrees with the files": agrees, "the files fill what task-iter cannot": falls_back}
