"""One pass by BPF says what the files and netlink say; and what it cannot say here falls to them, by name.

What is here:   checks on the captures around `second`, made by the files alone, and on what `ctprof plugins` says.
What is not:    comparing rows (../parity/agreement.py).
"""

import json

import expected
from agreement import FILES, ITER, Agreement
from captured import Gap

# From here on nothing that a kernel has is left to the files.
WHOLE_SINCE = (5, 17)


def of_files(left):
    """Metrics of threads that the kernel has, whoever fills them."""
    metrics = (metric for metric in expected.vocabulary() if metric["plugin"] in FILES.split(",") and metric["entity"] == "thread")
    return {metric["name"] for metric in metrics if not expected.why_not(metric, left.kernel, left.taskstats_version)}


def offers(left):
    """Metric -> state and reason, of task-iter."""
    plugins = json.loads(left.text("plugins.json"))["plugins"]
    return {offer["metric"]: (offer["state"], offer["reason"]) for plugin in plugins if plugin["name"] == ITER for offer in plugin["offers"]}


def agrees(left):
    """Every metric of both is compared, with a value of some thread that slept."""
    found = Agreement(left.file("files-before"), left.file("second"), left.file("files-after"))
    if not found.names:
        return []  # judged by falls_back
    values = {name for key in found.asleep for name in found.shared if not isinstance(found.ours.threads[key][name], Gap)}
    return [*(f"{name} is in no file" for name in found.only_in_task_iter()), *found.wrong(), *(f"{name} was never compared" for name in found.shared - values)]


def falls_back(left):
    """A newer kernel leaves nothing to the files; of an older one, the reason is told."""
    told, filled = offers(left), left.file("second").columns_of("thread", ITER)
    wrong = [] if told else ["there is no task-iter"]
    for name in of_files(left) & set(told):
        state, reason = told[name]
        if (state == "fills") != (name in filled):
            wrong.append(f"{name}: {state} by what `plugins` says, but {'' if name in filled else 'not '}filled by task-iter")
        if state != "fills" and (left.kernel.number >= WHOLE_SINCE or not reason):
            wrong.append(f"{name} is left to the files: {state}, {reason!r}")
    return wrong


CHECKS = {"task-iter agrees with the files": agrees, "what task-iter cannot have falls to the files": falls_back}
