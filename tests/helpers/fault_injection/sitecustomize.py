"""Faults of the processes of a job; Python imports this module where PYTHONPATH names its folder.

SGTB_TEST_DELAY       seconds that every batch takes longer
SGTB_TEST_SIDECAR     number of the sidecar before which the process is killed

Texts with KILLER kill their process, texts with BREAKER raise an error that is not sgtb's own.
"""

import os
import signal
import time


def _inject() -> None:
    from sgtb.linking.pipeline import LinkPipeline

    link = LinkPipeline.link

    def faulty(self, documents, options):
        texts = [getattr(document, "text", document) for document in documents]
        if any("KILLER" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        if any("BREAKER" in text for text in texts):
            raise RuntimeError("broken")
        time.sleep(float(os.environ.get("SGTB_TEST_DELAY", "0")))
        return link(self, documents, options)

    LinkPipeline.link = faulty
    if "SGTB_TEST_SIDECAR" in os.environ:
        _kill_before_sidecar(int(os.environ["SGTB_TEST_SIDECAR"]))


def _kill_before_sidecar(number: int) -> None:
    from sgtb.jobs import job_folder

    write_whole, sidecars = job_folder.write_whole, []

    def faulty(path, data):
        if path.name.startswith("part-") and path.suffix == ".json":
            sidecars.append(path)
            if len(sidecars) == number:
                os.kill(os.getpid(), signal.SIGKILL)
        write_whole(path, data)

    job_folder.write_whole = faulty


_inject()
